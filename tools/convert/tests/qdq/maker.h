// Builds small ONNX models in memory, for tests.
#pragma once

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "qtx/format/model.h"

namespace qtx::convert {

class OnnxMaker {
 public:
  explicit OnnxMaker(std::int64_t opset = 13) {
    model.ir_version = 8;
    model.opset_imports = {{"", opset}};
    model.graph.name.assign(1, 'g');
  }

  template <typename T>
  void Initializer(const std::string& name, format::ElementType type, format::Dims dims,
                   std::vector<T> values) {
    format::Tensor tensor{type, std::move(dims), std::nullopt,
                          std::vector<std::byte>(values.size() * sizeof(T))};
    if (!values.empty()) std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
    model.graph.initializers.push_back(format::ToTensorData(name, tensor));
  }
  /// `name`/scale and `name`/zp of one value each, INT8.
  void Parameters(const std::string& name, float scale, std::int8_t zero_point) {
    Initializer<float>(name + "/scale", format::ElementType::kFloat, {}, {scale});
    Initializer<std::int8_t>(name + "/zp", format::ElementType::kInt8, {}, {zero_point});
  }
  format::Node& Node(const std::string& op_type, std::vector<std::string> inputs,
                     std::vector<std::string> outputs) {
    format::Node node;
    node.name = outputs[0] + "_node";
    node.op_type = op_type;
    node.inputs = std::move(inputs);
    node.outputs = std::move(outputs);
    model.graph.nodes.push_back(std::move(node));
    return model.graph.nodes.back();
  }
  void Quantize(const std::string& x, const std::string& parameters, const std::string& y) {
    Node("QuantizeLinear", {x, parameters + "/scale", parameters + "/zp"}, {y});
  }
  void Dequantize(const std::string& x, const std::string& parameters, const std::string& y) {
    Node("DequantizeLinear", {x, parameters + "/scale", parameters + "/zp"}, {y});
  }
  static format::ValueInfo Value(const std::string& name, format::ElementType type,
                                 format::Dims dims) {
    format::ValueInfo info;
    info.name = name;
    info.type.emplace();
    info.type->elem_type = type;
    info.type->shape = format::ToShape(dims);
    return info;
  }
  static format::ValueInfo Quantized(const std::string& name, format::ElementType type,
                                     format::Dims dims, std::vector<float> scale = {0.5F},
                                     std::vector<std::int64_t> axis = {}) {
    format::ValueInfo info = Value(name, type, std::move(dims));
    info.type->quantization.emplace();
    info.type->quantization->scale = std::move(scale);
    info.type->quantization->axis = std::move(axis);
    return info;
  }

  format::Model model;
};

inline std::vector<std::string> OpTypes(const format::Model& model) {
  std::vector<std::string> op_types;
  for (const format::Node& node : model.graph.nodes) op_types.push_back(node.op_type);
  return op_types;
}

}  // namespace qtx::convert
