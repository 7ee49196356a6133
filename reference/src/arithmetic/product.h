// Sums of products, as Conv, Gemm and MatMul need them: which recipe applies to the operands, and
// the rounding of the sums. The operators bring the order of the elements. Source: exact.S2,
// float32.S3 to .S6, float32_fma.S1, tflite.S2 to .S4 and .S11, onednn_avx2.S1.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "arithmetic/output.h"
#include "arithmetic/requantizer.h"
#include "dot.h"
#include "operand.h"

namespace qtx::reference {

/// The operands of one call. `bias` may be nullptr; of plain INT32 it is in units of the
/// accumulator, which is then an integer. `w_channel_axis`: the axis of w along which output
/// channels lie, the one axis whose parameters may differ in an integer accumulator.
struct ProductOperands {
  const Operand* x = nullptr;
  const Operand* w = nullptr;
  const Operand* bias = nullptr;
  std::int64_t w_channel_axis = 0;
  std::int64_t y_channel_axis = 1;
  float alpha = 1;   // factor of the sum
  float beta = 1;    // factor of the bias
  float factor = 1;  // of the scale of an integer accumulator: q_gemm.S2
};

/// Puts sums of products into an output. Borrows the operands and the output.
class ProductSum {
 public:
  ProductSum(const Call& call, const ProductOperands& operands, Output* output);

  /// True when the sums are integers of 64 bits: use PutAccumulator, else PutPairs.
  bool integer() const { return requantizer_.has_value() && !wide_; }
  /// True when moreover no integer of x and w exceeds 255 in magnitude.
  bool narrow() const { return narrow_; }

  /// True when sums are exact ones of reals: PutExact takes them, too.
  bool exact() const { return !requantizer_.has_value() && !in_binary32_; }
  /// True when sums are of binary32: PutFloats takes them, too.
  bool in_binary32() const { return !requantizer_.has_value() && in_binary32_; }

  /// The sum of x[i] * w[i] over i in [depth, kernel], row-major, the factors less their offsets,
  /// as the arithmetic accumulates it.  REQUIRES: integer(), and the bounds of Dot.
  template <typename T>
  std::int64_t Sum(const T* x, const T* w, std::int64_t depth, std::int64_t kernel = 1) const {
    if (held_ != RequantizeRecipe::Accumulator::kExact) return HeldSum(x, w, depth, kernel);
    return Dot(x, w, static_cast<std::size_t>(depth * kernel));
  }

  /// Puts the sum of x.integer * w.integer.  `bias`: index into the bias.  REQUIRES: integer().
  void PutAccumulator(std::int64_t element, std::int64_t channel, std::int64_t accumulator,
                      std::int64_t bias);
  /// Puts the sum over i of x[x_indices[i]] * w[w_indices[i]]: exactly, as integers of any size, or
  /// in binary32 in the order given, the bias last.  The spans have equal sizes.
  void PutPairs(std::int64_t element, std::int64_t channel, std::int64_t bias,
                std::span<const std::int64_t> x_indices, std::span<const std::int64_t> w_indices);
  /// The same, given the sum of the products.  REQUIRES: exact().
  void PutExact(std::int64_t element, std::int64_t bias, const ExactSum& sum) {
    output_->PutReal(element, WithBias(bias, sum));
  }
  /// The same, given the factors in binary32, in their order.  REQUIRES: in_binary32().
  void PutFloats(std::int64_t element, std::int64_t bias, std::span<const float> x,
                 std::span<const float> w);

 private:
  template <typename T>
  std::int64_t HeldSum(const T* x, const T* w, std::int64_t depth, std::int64_t kernel) const;
  template <typename T>
  std::int64_t SumOfPairs(const T* x, const T* w, std::int64_t depth, std::int64_t kernel,
                          std::int64_t shift, bool wraps) const;
  void PutScaled(std::int64_t element, std::int64_t channel, std::int64_t accumulator);
  void PutWidePairs(std::int64_t element, std::int64_t channel, std::int64_t bias,
                    std::span<const std::int64_t> x_indices,
                    std::span<const std::int64_t> w_indices);
  Real WithBias(std::int64_t bias, const ExactSum& sum) const;
  Real ExactPairs(std::int64_t bias, std::span<const std::int64_t> x_indices,
                  std::span<const std::int64_t> w_indices);
  float Step(float sum, float x, float w) const;
  float WithBias(std::int64_t bias, float sum) const;
  float FloatPairs(std::int64_t bias, std::span<const std::int64_t> x_indices,
                   std::span<const std::int64_t> w_indices) const;

  ProductOperands operands_;
  Output* output_;
  bool in_binary32_;
  bool fused_;
  bool narrow_ = false;
  bool wide_ = false;  // an operand of 32 bits, whose products need more than 64
  // How a sum is held while it grows; kExact: whatever the requantizer does with it at the end.
  RequantizeRecipe::Accumulator held_ = RequantizeRecipe::Accumulator::kExact;
  bool exact_factor_ = false;  // operands_.factor is not 1, and not rounded into a scale
  std::vector<Dyadic> x_exact_, w_exact_;  // unpacked by the first of PutPairs
  std::optional<Requantizer> requantizer_;
};

}  // namespace qtx::reference
