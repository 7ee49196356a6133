// Builds small QONNX models in memory, for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "qtx/reference/interpreter.h"
#include "tests/qdq/maker.h"

namespace qtx::convert {

class QonnxMaker : public OnnxMaker {
 public:
  QonnxMaker() { model.opset_imports.push_back({"qonnx.custom_op.general", 1}); }

  void Scalar(const std::string& name, float value) {
    Initializer<float>(name, format::ElementType::kFloat, {}, {value});
  }
  /// x -> Quant -> y, its parameters y/s, y/z and y/b.
  void Quant(const std::string& x, const std::string& y, float scale, float zero_point,
             float bits) {
    Scalar(y + "/s", scale);
    Scalar(y + "/z", zero_point);
    Scalar(y + "/b", bits);
    format::Node& node = Node("Quant", {x, y + "/s", y + "/z", y + "/b"}, {y});
    node.domain = "qonnx.custom_op.general";
    node.attributes = {format::Attribute::Int("narrow", 0),
                       format::Attribute::String("rounding_mode", "ROUND"),
                       format::Attribute::Int("signed", 1)};
  }
  /// A Quant of constants, w, which a MatMul reads.
  void Weights(std::vector<float> values, float scale, float bits, const char* mode) {
    const auto count = static_cast<std::int64_t>(values.size());
    model.graph.inputs = {Value("x", format::ElementType::kFloat, {1, count})};
    model.graph.outputs = {Value("y", format::ElementType::kFloat, {1, 1})};
    Initializer<float>("w_real", format::ElementType::kFloat, {count, 1}, std::move(values));
    Quant("w_real", "w", scale, 0, bits);
    SetRounding(mode);
    Node("MatMul", {"x", "w"}, {"y"});
  }

  /// x -> Trunc -> y of six elements, with these inputs.
  void Trunc(const std::vector<float>& parameters, const std::string& mode) {
    model.graph.inputs = {Value("x", format::ElementType::kFloat, {6})};
    model.graph.outputs = {Value("y", format::ElementType::kFloat, {6})};
    format::Node& node = Node("Trunc", {"x"}, {"y"});
    node.domain = "qonnx.custom_op.general";
    node.attributes = {format::Attribute::String("rounding_mode", mode)};
    for (const float value : parameters) {
      node.inputs.push_back("t" + std::to_string(node.inputs.size()));
      Scalar(node.inputs.back(), value);
    }
  }

  // Of the one quantizer there is.
  format::Node& Quantizer() {
    for (format::Node& node : model.graph.nodes) {
      if (!node.domain.empty()) return node;
    }
    return model.graph.nodes.at(0);
  }
  void SetRange(bool is_signed, bool narrow) {
    Quantizer().attributes[0].i = narrow ? 1 : 0;
    Quantizer().attributes[2].i = is_signed ? 1 : 0;
  }
  void SetRounding(const std::string& mode) { Quantizer().attributes[1].s = mode; }
  void SetScale(format::Dims dims, std::vector<float> scale) {
    Initializer<float>("scales", format::ElementType::kFloat, std::move(dims), std::move(scale));
    Quantizer().inputs[1] = "scales";
  }
  void MakeFloatQuant(float exponent, float mantissa, float bias, float max) {
    const std::vector<float> values = {exponent, mantissa, bias, max};
    format::Node& node = Quantizer();
    node.op_type = "FloatQuant";
    node.attributes.clear();
    node.inputs.resize(2);
    for (const float value : values) {
      node.inputs.push_back("f" + std::to_string(node.inputs.size()));
      Scalar(node.inputs.back(), value);
    }
  }

  /// The model's one FLOAT output, of its one FLOAT input, under `exact`.
  static std::vector<float> Run(const format::Model& extended, const std::vector<float>& input) {
    auto interpreter = reference::Interpreter::Prepare(extended);
    if (!interpreter.has_value()) {
      ADD_FAILURE() << interpreter.error().where << ": " << interpreter.error().message;
      return {};
    }
    format::Tensor x = *format::MakeTensor(
        format::ElementType::kFloat, *format::FixedDims(*extended.graph.inputs[0].type->shape));
    std::copy(input.begin(), input.end(), x.As<float>().begin());
    const auto outputs = interpreter->Run(std::vector{x});
    if (!outputs.has_value()) {
      ADD_FAILURE() << outputs.error().where << ": " << outputs.error().message;
      return {};
    }
    const auto values = outputs->at(0).As<float>();
    return {values.begin(), values.end()};
  }
};

}  // namespace qtx::convert
