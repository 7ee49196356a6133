// Builds small .tflite files in memory, for tests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tflite_generated.h"

namespace qtx::convert {

class TfliteMaker {
 public:
  TfliteMaker() {
    model_.version = 3;
    model_.subgraphs.push_back(std::make_unique<schema::SubGraphT>());
    model_.buffers.push_back(std::make_unique<schema::BufferT>());
  }

  /// A tensor with one scale, or none when `scale` is 0; a constant when it has data.
  int Tensor(const std::string& name, std::vector<std::int32_t> shape, schema::TensorType type,
             float scale = 0, std::int64_t zero_point = 0, std::vector<std::uint8_t> data = {}) {
    auto tensor = std::make_unique<schema::TensorT>();
    tensor->name = name;
    tensor->shape = std::move(shape);
    tensor->type = type;
    tensor->buffer = static_cast<std::uint32_t>(model_.buffers.size());
    auto buffer = std::make_unique<schema::BufferT>();
    buffer->data = std::move(data);
    model_.buffers.push_back(std::move(buffer));
    tensor->quantization = std::make_unique<schema::QuantizationParametersT>();
    if (scale != 0) {
      tensor->quantization->scale = {scale};
      tensor->quantization->zero_point = {zero_point};
    }
    graph().tensors.push_back(std::move(tensor));
    return static_cast<int>(graph().tensors.size()) - 1;
  }
  int Int8(const std::string& name, std::vector<std::int32_t> shape, float scale = 0.5F,
           std::int64_t zero_point = 0) {
    return Tensor(name, std::move(shape), schema::TensorType::INT8, scale, zero_point);
  }
  int Int32s(const std::string& name, std::vector<std::int32_t> shape,
             const std::vector<std::int32_t>& values, float scale = 0) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(values.data());
    return Tensor(name, std::move(shape), schema::TensorType::INT32, scale, 0,
                  {bytes, bytes + values.size() * sizeof(std::int32_t)});
  }

  /// Options may be any of the union's tables.
  template <typename Options>
  void Operator(schema::BuiltinOperator code, std::vector<int> inputs, std::vector<int> outputs,
                Options options) {
    Operator(code, std::move(inputs), std::move(outputs));
    graph().operators.back()->builtin_options.Set(std::move(options));
  }
  void Operator(schema::BuiltinOperator code, std::vector<int> inputs, std::vector<int> outputs) {
    auto operator_code = std::make_unique<schema::OperatorCodeT>();
    operator_code->builtin_code = code;
    auto op = std::make_unique<schema::OperatorT>();
    op->opcode_index = static_cast<std::uint32_t>(model_.operator_codes.size());
    op->inputs = std::move(inputs);
    op->outputs = std::move(outputs);
    model_.operator_codes.push_back(std::move(operator_code));
    graph().operators.push_back(std::move(op));
  }

  schema::TensorT& tensor(int index) { return *graph().tensors[static_cast<std::size_t>(index)]; }
  schema::SubGraphT& graph() { return *model_.subgraphs[0]; }
  schema::ModelT& model() { return model_; }

  std::string Bytes(std::vector<int> inputs, std::vector<int> outputs) {
    graph().inputs = std::move(inputs);
    graph().outputs = std::move(outputs);
    flatbuffers::FlatBufferBuilder builder;
    schema::FinishModelBuffer(builder, schema::Model::Pack(builder, &model_));
    return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
  }

 private:
  schema::ModelT model_;
};

}  // namespace qtx::convert
