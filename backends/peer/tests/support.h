// Small models, built node by node.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "qtx/format/model.h"

namespace qtx::backend::peer {

inline format::Model NewModel() {
  format::Model model;
  model.ir_version = 8;
  model.opset_imports = {{"", 17, ""}, {std::string(format::kDomain), format::kVersion, ""}};
  model.graph.name = "test";
  return model;
}

inline format::ValueInfo Info(std::string name, format::ElementType type, const format::Dims& dims,
                              const format::Quantization& q = {}) {
  format::ValueInfo info;
  info.name = std::move(name);
  info.type = format::TensorType{.elem_type = type, .shape = format::ToShape(dims)};
  if (format::IsQuantized(type)) info.type->quantization = q;
  return info;
}

inline void AddInput(format::Model& model, std::string name, format::ElementType type,
                     const format::Dims& dims, const format::Quantization& q = {}) {
  model.graph.inputs.push_back(Info(std::move(name), type, dims, q));
}
inline void AddOutput(format::Model& model, std::string name, format::ElementType type,
                      const format::Dims& dims, const format::Quantization& q = {}) {
  model.graph.outputs.push_back(Info(std::move(name), type, dims, q));
}
inline void AddValue(format::Model& model, std::string name, format::ElementType type,
                     const format::Dims& dims, const format::Quantization& q = {}) {
  model.graph.values.push_back(Info(std::move(name), type, dims, q));
}

inline format::Tensor Floats(format::Dims dims, const std::vector<float>& values) {
  format::Tensor tensor = *format::MakeTensor(format::ElementType::kFloat, std::move(dims));
  std::copy(values.begin(), values.end(), tensor.As<float>().begin());
  return tensor;
}
inline format::Tensor Stored(format::ElementType type, format::Dims dims,
                             const std::vector<std::int32_t>& values,
                             const format::Quantization& q) {
  format::Tensor tensor = *format::MakeTensor(type, std::move(dims), q);
  format::PackInt32(values, tensor);
  return tensor;
}
inline void AddConstant(format::Model& model, const std::string& name,
                        const format::Tensor& tensor) {
  model.graph.initializers.push_back(format::ToTensorData(name, tensor));
  if (tensor.quantization) {
    AddValue(model, name, tensor.elem_type, tensor.dims, *tensor.quantization);
  }
}

inline void AddNode(format::Model& model, std::string op_type, std::vector<std::string> inputs,
                    std::string output, std::vector<format::Attribute> attributes = {}) {
  format::Node node;
  node.name = output;
  node.op_type = std::move(op_type);
  node.inputs = std::move(inputs);
  node.outputs = {std::move(output)};
  node.attributes = std::move(attributes);
  model.graph.nodes.push_back(std::move(node));
}

}  // namespace qtx::backend::peer
