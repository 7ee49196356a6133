// Stock models on integers, brought to the extended form and run.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "qtx/convert/convert.h"
#include "qtx/format/check.h"
#include "qtx/reference/interpreter.h"
#include "tests/qdq/maker.h"

namespace qtx::convert {

inline std::string Text(const Error& error) { return error.where + ": " + error.message; }

inline Conversion LiftedWithLedger(const format::Model& model) {
  auto conversion = FromOnnx(model);
  EXPECT_TRUE(conversion.has_value())
      << Text(conversion.has_value() ? Error{} : conversion.error());
  Conversion lifted = std::move(conversion).value_or(Conversion{});
  for (const format::Finding& finding : format::Check(lifted.model))
    ADD_FAILURE() << finding.rule << " " << finding.where << ": " << finding.message;
  return lifted;
}
inline format::Model Lifted(const format::Model& model) { return LiftedWithLedger(model).model; }

/// "" when it is read.
inline std::string Refusal(const format::Model& model) {
  const auto conversion = FromOnnx(model);
  return conversion.has_value() ? "" : Text(conversion.error());
}

inline format::Quantization QuantizationOf(const format::Model& model, const std::string& name) {
  const format::ValueInfo* info = model.graph.FindValue(name);
  if (info == nullptr || !info->type || !info->type->quantization) {
    ADD_FAILURE() << name << " is not quantized";
    return {};
  }
  return *info->type->quantization;
}

inline format::ElementType ElementTypeOf(const format::Model& model, const std::string& name) {
  const format::ValueInfo* info = model.graph.FindValue(name);
  return info == nullptr || !info->type ? format::ElementType::kUndefined : info->type->elem_type;
}

template <typename T>
format::Tensor TensorOf(format::ElementType type, format::Dims dims, std::vector<T> values) {
  format::Tensor tensor{type, std::move(dims), std::nullopt, {}};
  const auto bytes = std::as_bytes(std::span<const T>(values));
  tensor.bytes.assign(bytes.begin(), bytes.end());
  return tensor;
}

/// Bytes of the outputs, one after another.
inline std::vector<std::byte> RunIn(const format::Model& model, const char* arithmetic,
                                    const std::vector<format::Tensor>& inputs) {
  auto interpreter = reference::Interpreter::Prepare(model, arithmetic);
  EXPECT_TRUE(interpreter.has_value())
      << Text(interpreter.has_value() ? Error{} : interpreter.error());
  if (!interpreter.has_value()) return {};
  const auto outputs = interpreter->Run(inputs);
  EXPECT_TRUE(outputs.has_value()) << Text(outputs.has_value() ? Error{} : outputs.error());
  std::vector<std::byte> bytes;
  if (!outputs.has_value()) return bytes;
  for (const format::Tensor& output : *outputs)
    bytes.insert(bytes.end(), output.bytes.begin(), output.bytes.end());
  return bytes;
}

inline bool HasLine(const Conversion& conversion, const std::string& value,
                    const std::string& why) {
  return std::ranges::any_of(conversion.ledger, [&](const LedgerEntry& entry) {
    return entry.value == value && entry.why.find(why) != std::string::npos;
  });
}

/// x [1,2,2,2] INT8 -> QLinearConv with two 1x1 filters, a scale each, and a bias -> y.
inline OnnxMaker OneQLinearConv() {
  using format::ElementType;
  OnnxMaker maker;
  maker.model.graph.inputs = {OnnxMaker::Value("x", ElementType::kInt8, {1, 2, 2, 2})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kInt8, {1, 2, 2, 2})};
  maker.Parameters("x", 0.5F, 3);
  maker.Parameters("y", 2.0F, -1);
  maker.Initializer<std::int8_t>("w", ElementType::kInt8, {2, 2, 1, 1}, {1, 2, 3, 4});
  maker.Initializer<float>("w/scale", ElementType::kFloat, {2}, {0.25F, 0.75F});
  maker.Initializer<std::int8_t>("w/zp", ElementType::kInt8, {2}, {0, 1});
  maker.Initializer<std::int32_t>("b", ElementType::kInt32, {2}, {10, -20});
  maker.Node("QLinearConv",
             {"x", "x/scale", "x/zp", "w", "w/scale", "w/zp", "y/scale", "y/zp", "b"}, {"y"});
  return maker;
}

}  // namespace qtx::convert
