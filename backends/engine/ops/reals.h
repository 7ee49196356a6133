// Whole tensors as exact reals, and back: the general path of every operator, for all types.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/exact.h"
#include "engine/plan.h"
#include "qtx/format/limits.h"

namespace qtx::backend::engine {

/// Limit on the elements of a tensor as terms, so that these take at most kMaxTensorBytes.
inline constexpr std::int64_t kMostReals =
    format::kMaxTensorBytes / static_cast<std::int64_t>(sizeof(Term));

/// True for types that are not quantized, except FLOAT: integers, BOOL and other floats (exact.S10,
/// cast.S5 to cast.S10).
bool IsPlainNumber(format::ElementType type);

/// Checks that a tensor's elements are reals: FLOAT, or quantized of any type and granularity, with
/// as many parameters as its shape asks for.  Errors: kUnsupported for other types, for a scaled
/// float or bipolar type with an offset, for parameters that do not fit, above kMostReals elements.
Result<void> CheckReals(const format::Tensor& tensor);
/// The same, with node and value in the error's place.
Result<void> CheckReals(const NodePlan& node, const Value& value);

/// One Term for each element; NaN and infinities are terms too.  REQUIRES: CheckReals, or a plain
/// type of at most 8 bits, whose reals are its stored values.
std::vector<Term> RealsOf(const format::Tensor& tensor);

/// Writes reals into a tensor, each rounded once by its own parameters: spec/arithmetic/exact.md
/// S1, S3 to S5, S7 to S9. A NaN becomes real zero (NaN in FLOAT), an infinity the end of the range
/// (an infinity in FLOAT).
class RealWriter {
 public:
  /// REQUIRES: as RealsOf. `to` outlives the writer.
  explicit RealWriter(format::Tensor& to);
  /// Element `element` becomes (sum of terms) / divisor.
  void Put(std::int64_t element, std::span<const Term> terms, std::int64_t divisor = 1);
  /// Writes a value between two finite bounds. Returns false if the bounds round differently; the
  /// element is then undefined.
  bool PutBetween(std::int64_t element, std::span<const Term> low, std::span<const Term> high,
                  std::int64_t divisor = 1);
  /// Packs the elements into the tensor.
  void Finish();

 private:
  std::int32_t Rounded(const Quotient& value, std::int64_t parameter) const;
  std::int32_t Special(double value, std::int64_t parameter) const;

  format::Tensor& to_;
  const format::Quantization& parameters_;
  format::ElementType storage_;
  format::ParameterMap parameter_;
  format::IntegerRange range_;
  std::vector<std::int32_t> stored_;  // codes of a small float; empty for FLOAT
};

/// Rounds element i, the real reals[i], to `to`'s type.  REQUIRES: as RealWriter.
void StoreReals(std::span<const Term> reals, format::Tensor& to);

}  // namespace qtx::backend::engine
