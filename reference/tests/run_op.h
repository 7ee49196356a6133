// Test tensors, one-operator runs, and the textbook: quantization written a second time in plain
// rationals, sharing no code with the reference, so that it can judge it.
#pragma once

#include <gmock/gmock.h>
#include <gmpxx.h>
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "qtx/reference/op.h"

namespace qtx::reference::testing {

using format::Attribute;
using format::Dims;
using format::ElementType;
using format::Quantization;
using format::Tensor;
using Values = std::vector<std::int64_t>;

inline Quantization Q(std::vector<float> scale, std::vector<std::int32_t> offset = {},
                      std::vector<std::int64_t> axis = {}, std::vector<std::int64_t> block = {}) {
  Quantization q;
  q.scale = std::move(scale);
  q.offset = std::move(offset);
  q.axis = std::move(axis);
  q.block_shape = std::move(block);
  return q;
}

inline Tensor Stored(ElementType type, const Dims& dims, const Values& values,
                     std::optional<Quantization> q = std::nullopt) {
  Tensor tensor = *format::MakeTensor(type, dims, std::move(q));
  format::PackIntegers(values, tensor);
  return tensor;
}
inline Tensor Int8(const Dims& dims, const Values& values, const Quantization& q) {
  return Stored(ElementType::kInt8Q, dims, values, q);
}
inline Tensor Float(const Dims& dims, const std::vector<float>& values) {
  Tensor tensor = *format::MakeTensor(ElementType::kFloat, dims);
  if (!values.empty()) std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}
inline Tensor Int64(const Values& values) {
  return Stored(ElementType::kInt64, {static_cast<std::int64_t>(values.size())}, values);
}

inline OutputType Type(ElementType type, const Quantization& q) { return {type, q}; }
inline OutputType Int8Type(const Quantization& q) { return {ElementType::kInt8Q, q}; }
inline OutputType FloatType() { return {ElementType::kFloat, std::nullopt}; }

struct OpRun {
  std::string op;
  std::vector<Attribute> attributes = {};
  std::vector<const Tensor*> inputs = {};  // nullptr: absent
  OutputType output = {};
  std::string arithmetic = "exact";
  std::string tflite_kernel = {};  // origin op_type, when not empty
  Counters counters = {};
  std::int64_t opset = 0;  // the newest
  std::string domain = {};

  Result<Tensor> Run() {
    format::Node node;
    node.op_type = op;
    node.attributes = attributes;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      node.inputs.push_back(inputs[i] == nullptr ? "" : "in" + std::to_string(i));
    }
    node.outputs = {"out0"};
    if (!tflite_kernel.empty()) {
      node.origin.emplace();
      node.origin->framework = "tflite";
      node.origin->op_type = tflite_kernel;
    }
    const Call call{.node = node,
                    .arithmetic = **FindArithmetic(arithmetic),
                    .opset = opset,
                    .inputs = inputs,
                    .outputs = {&output, 1},
                    .counters = &counters};
    auto results = RunOperator(*FindOperator(domain, op), call);
    if (!results.has_value()) return std::move(results).error();
    return std::move((*results)[0]);
  }
};

/// The stored integers of a run that must succeed.
inline Values Integers(OpRun run) {
  const auto result = run.Run();
  if (!result.has_value()) {
    ADD_FAILURE() << result.error().where << ": " << result.error().message;
    return {};
  }
  return format::UnpackIntegers(*result);
}
inline std::vector<float> Floats(OpRun run) {
  const auto result = run.Run();
  if (!result.has_value()) {
    ADD_FAILURE() << result.error().where << ": " << result.error().message;
    return {};
  }
  const auto values = result->As<float>();
  return {values.begin(), values.end()};
}
/// "where: message [clause]" of a run that must fail; empty when it does not.
inline std::string ErrorOf(OpRun run) {
  const auto result = run.Run();
  return result.has_value() ? "" : result.error().Text();
}

// ---- the textbook ----

/// Parameter of the element at row-major index `i`, by walking its coordinates.
inline std::size_t TextbookParameter(const Quantization& q, const Dims& dims, std::int64_t i) {
  Dims at(dims.size());
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    at[axis] = i % dims[axis];
    i /= dims[axis];
  }
  std::int64_t parameter = 0;
  for (std::size_t k = 0; k < q.axis.size(); ++k) {
    const auto axis = static_cast<std::size_t>(q.axis[k]);
    const std::int64_t block = q.block_shape.empty() ? 1 : q.block_shape[k];
    parameter = parameter * ((dims[axis] + block - 1) / block) + at[axis] / block;
  }
  return static_cast<std::size_t>(parameter);
}

/// The exact reals of a quantized tensor of integers, or of FLOAT.
inline std::vector<mpq_class> TextbookReals(const Tensor& tensor) {
  std::vector<mpq_class> reals;
  if (!tensor.quantization) {
    for (const float value : tensor.As<float>()) reals.emplace_back(static_cast<double>(value));
    return reals;
  }
  const Quantization& q = *tensor.quantization;
  const Values stored = format::UnpackIntegers(tensor);
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const std::size_t p = TextbookParameter(q, tensor.dims, static_cast<std::int64_t>(i));
    const mpq_class difference(static_cast<long>(stored[i] - (q.offset.empty() ? 0 : q.offset[p])));
    reals.push_back(mpq_class(static_cast<double>(q.scale[p])) * difference);
  }
  return reals;
}

/// exact.S1, from its words: nearest integer to x / scale, the even one of two, plus offset,
/// clamped.
inline std::int64_t TextbookQuantize(const mpq_class& real, double scale, std::int64_t offset,
                                     std::int64_t min, std::int64_t max) {
  const mpq_class quotient = real / mpq_class(scale);
  mpz_class floor = quotient.get_num() / quotient.get_den();
  if (floor * quotient.get_den() > quotient.get_num()) floor -= 1;
  const mpq_class rest = quotient - mpq_class(floor);
  const mpq_class half(1, 2);
  if (rest > half || (rest == half && floor % 2 != 0)) floor += 1;
  const mpz_class stored = floor + mpz_class(static_cast<long>(offset));
  if (stored < static_cast<long>(min)) return min;
  if (stored > static_cast<long>(max)) return max;
  return stored.get_si();
}

inline Values TextbookStored(const std::vector<mpq_class>& reals, const OutputType& type,
                             const Dims& dims) {
  Values stored;
  const Quantization& q = *type.quantization;
  const format::IntegerRange range = format::StorageRange(format::StorageOf(type.elem_type));
  for (std::size_t i = 0; i < reals.size(); ++i) {
    const std::size_t p = TextbookParameter(q, dims, static_cast<std::int64_t>(i));
    stored.push_back(TextbookQuantize(
        reals[i], static_cast<double>(q.scale[p]), q.offset.empty() ? 0 : q.offset[p],
        q.quant_min.value_or(range.min), q.quant_max.value_or(range.max)));
  }
  return stored;
}

/// Seeded random tensors and parameters. Scales are multiples of 2^-10 with few bits, so that ties
/// occur often.
class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  std::int64_t In(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  float Scale() { return static_cast<float>(In(1, 12)) * 0x1p-6F; }
  Quantization PerTensor() { return Q({Scale()}, {static_cast<std::int32_t>(In(-20, 20))}); }
  Quantization PerAxis(std::int64_t axis, std::int64_t size) {
    std::vector<float> scales;
    for (std::int64_t i = 0; i < size; ++i) scales.push_back(Scale());
    return Q(scales, {}, {axis});
  }
  Tensor Tensor8(const Dims& dims, const Quantization& q) {
    Tensor tensor = *format::MakeTensor(ElementType::kInt8Q, dims, q);
    for (std::byte& byte : tensor.bytes) byte = static_cast<std::byte>(In(0, 255));
    return tensor;
  }

 private:
  std::mt19937 engine_;
};

}  // namespace qtx::reference::testing
