// The one place where reals become stored values: an output tensor that rounds what is put into it.
// Source: spec/arithmetic/exact.md exact.S1, float32.md float32.S1, tflite.md tflite.S1.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "certified.h"
#include "interval.h"
#include "qtx/reference/op.h"

namespace qtx::reference {

/// Each element is put exactly once. Elements are row-major indices.
class Output {
 public:
  /// Output `i` of `call`, of shape `dims`.  Errors: kTooLarge, kInvalid for an element type that
  /// no operator produces, and when the parameters do not fit the shape.
  static Result<Output> Make(const Call& call, format::Dims dims, std::size_t i = 0);
  /// The same, of the shape that the catalogue derives.  Errors: likewise.
  static Result<Output> Of(const Call& call, std::size_t i = 0);

  /// Rounds `real` once: exact.S1, or exact.S5 and .S10 for types that are not quantized. NaN
  /// becomes the offset, an infinity the end of the range.
  void PutReal(std::int64_t element, const Real& real);
  /// As PutReal for (sum of terms) / divisor, by the certified path; exactly when that is in doubt.
  void PutTerms(std::int64_t element, std::span<const Term> terms, std::int64_t divisor = 1);
  /// Quantizes a binary32 by the recipe of the arithmetic: float32.S1.
  void PutFloat(std::int64_t element, float value);
  /// Clamps a result that is in stored units already.
  void PutStored(std::int64_t element, std::int64_t stored) {
    integers_[static_cast<std::size_t>(element)] =
        static_cast<std::int32_t>(stored < min_   ? min_
                                  : stored > max_ ? max_
                                                  : stored);
  }
  /// Copies a stored value between types with equal parameters, unclamped (identity.S2).
  void PutCopy(std::int64_t element, std::int32_t stored) {
    integers_[static_cast<std::size_t>(element)] = stored;
  }
  /// Puts a result known to lie within x.bound of x.value (a real, not yet divided by the scale).
  /// False when that leaves the rounding in doubt and nothing was put.
  bool PutIfCertain(std::int64_t element, const Approximation& x);

  /// Puts a result known to lie in [low, high]. False when the ends round differently; what is put
  /// then does not count.
  bool PutBetween(std::int64_t element, const Rational& low, const Rational& high);
  /// Puts a real that has no closed form, evaluated until its one rounding is certain: exact.S6.
  void PutEnclosed(std::int64_t element, const Enclosure& enclose);
  /// Puts an integer: modulo 2^n where the type is a plain integer of n bits (exact.S10).
  void PutInteger(std::int64_t element, __int128 value);
  /// Puts what element `other`, put before, has.  REQUIRES: both have the same parameters.
  void PutSame(std::int64_t element, std::int64_t other);

  /// Notes that `clause` leaves the node without a result: RunOperator makes it an error.
  void Refuse(std::string_view clause) {
    ++counters_->refusals;
    counters_->refused_by = clause;
  }

  /// Notes that PutBetween has put a result for good.
  void CountRounded() { ++counters_->rounded; }
  /// Notes that a certified path was in doubt.
  void CountFallback() { ++counters_->exact_fallbacks; }

  /// The finished tensor; the output is empty afterwards.
  format::Tensor Take();

  const format::Tensor& tensor() const { return tensor_; }
  /// Quantized over an integer storage type other than BIPOLAR1.
  bool is_integer() const { return kind_ == Kind::kInteger; }
  /// A plain integer type or BOOL, or DOUBLE: computed exactly in every arithmetic (exact.S10).
  bool is_plain() const { return kind_ == Kind::kPlain || kind_ == Kind::kDouble; }
  bool per_tensor() const { return map_.per_tensor(); }
  float scale(std::int64_t element) const {  // without one, of an axis of size 0, as Operand's
    return scales_.empty() ? 1.0F : scales_[Parameter(scales_.size(), element)];
  }
  std::int32_t offset(std::int64_t element) const {
    return offsets_.empty() ? 0 : offsets_[Parameter(offsets_.size(), element)];
  }
  std::int64_t min() const { return min_; }
  std::int64_t max() const { return max_; }

 private:
  enum class Kind { kInteger, kBipolar, kSmallFloat, kFloat, kHalf, kDouble, kPlain };
  static Result<Kind> KindOf(const OutputType& type);
  Output(const Call& call, const OutputType& type, format::Tensor tensor, Kind kind);
  std::size_t Parameter(std::size_t count, std::int64_t element) const {
    return count == 1 ? 0 : static_cast<std::size_t>(map_(element));
  }
  bool PutHalfIfCertain(std::int64_t element, const Approximation& x);
  void PutSpecial(std::int64_t element, double value);
  void PutPlainSpecial(std::int64_t element, double value);
  void PutRational(std::int64_t element, const Rational& value);

  format::Tensor tensor_;
  Kind kind_;
  SmallFloatRule small_float_;
  QuantizeRecipe recipe_;  // of PutFloat
  QuantizeRecipe
      exact_recipe_;  // of the others: the recipe where its quotient is exact, else exact.S1
  Counters* counters_;
  format::ParameterMap map_;
  std::vector<float> scales_;  // {1} when not quantized
  std::vector<std::int32_t> offsets_;
  format::ElementType real_type_;  // FLOAT where it is not quantized
  std::int64_t min_ = 0;
  std::int64_t max_ = 0;
  std::vector<std::int32_t> integers_;  // kInteger, kBipolar: stored; kSmallFloat, kHalf: codes
  std::vector<std::int64_t> plain_;     // kPlain: stored, UINT64 as its two's complement
};

/// What to compute in for `output`: as the arithmetic says, but exactly for a plain output.
inline Domain DomainFor(const Arithmetic& arithmetic, const Output& output) {
  return output.is_plain() ? Domain::kExact : arithmetic.domain;
}

}  // namespace qtx::reference
