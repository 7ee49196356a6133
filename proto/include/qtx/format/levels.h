// Parameters beyond one scale and offset: scales that are products of factors, the base (version
// 2), code books and scales of 0 and below (version 3).
// Source: spec/format/quantization.md, quantization.S6 to S9.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "qtx/format/feature.h"
#include "qtx/format/model.h"

namespace qtx::format {

/// The version that a model with scale_levels or base_levels imports.
inline constexpr std::int64_t kLevelsVersion = 2;
/// That of one with a code book, or with a scale of 0 or below.
inline constexpr std::int64_t kCodeBooksVersion = 3;

inline bool HasBase(const Quantization& q) { return !q.base_levels.empty(); }
inline bool HasLevels(const Quantization& q) { return !q.scale_levels.empty() || HasBase(q); }
bool HasLevels(const Model& model);  // true if any value has levels

inline bool HasCodeBook(const Quantization& q) {
  return !q.code_book.empty() || !q.code_book_tensor.empty();
}
/// A scale of 0 or below.  REQUIRES: resolved parameters.
inline bool HasSignedScale(const Quantization& q) {
  return std::ranges::any_of(q.scale, [](float scale) { return !(scale > 0); });
}
/// True where reals are positive scales times integers: what an arithmetic's kernels are for, and
/// what stored values may be compared, copied and added by. Without a base, a code book and a scale
/// of 0 or below.  REQUIRES: resolved parameters.  Source: quantization.S8.
inline bool HasIntegerForm(const Quantization& q) {
  return !HasBase(q) && !HasCodeBook(q) && !HasSignedScale(q);
}
/// Gives `q` a code book, which readers must understand (proposals 0002 and 0008).
void SetCodeBook(std::vector<float> values, Quantization& q);

/// The version of the format that a model with such a type imports, from 1 on.
std::int64_t FormatVersion(const ModelView& view, const TensorType& type);
/// That of a model, by all of its values.
std::int64_t FormatVersion(const Model& model);

/// Base of parameter `i`; 0 without one.  REQUIRES: resolved parameters.
inline float BaseAt(const Quantization& q, std::int64_t i) {
  if (!HasBase(q)) return 0;
  const std::vector<float>& base = q.base_levels[0].value;
  return base[base.size() == 1 ? 0 : static_cast<std::size_t>(i)];
}

/// Equal scale, offset and base (absent is 0), axis, block_shape (absent is 1) and code book, all
/// inline; false where their counts do not fit each other.
bool SameParameters(const Quantization& a, const Quantization& b);

/// The parameters of `type` as inline vectors: named initializers are read, the code book's too,
/// scale_levels multiplied into `scale`, base_levels reduced to one level with a value for each
/// parameter.
/// REQUIRES: type.quantization; the type is not encoded.  Errors: kInvalid for a missing
/// initializer or one of the wrong size.
Result<Quantization> Resolve(const ModelView& view, const TensorType& type);
/// The same of any value: levels that an encoding has are read from the records of initializer
/// `name`, and the result has no encoding.  Errors: also for an encoding that breaks a clause.
Result<Quantization> Resolve(const ModelView& view, const TensorType& type, std::string_view name);

/// Scale and base of each parameter as two factors: that of the first level, and the exact product
/// of the others, rounded as quantization.S6 says. A parameter without levels is its own fine
/// factor; an absent base has a fine factor of 0. An empty product is 1.
struct Factors {
  std::vector<float> fine_scale, coarse_scale, fine_base, coarse_base;
  std::int64_t scale_levels = 1;
};
/// Those of initializer `name`, of a quantized type.  Errors: as Resolve.
Result<Factors> FactorsOf(const ModelView& view, const TensorType& type, std::string_view name);

/// `model` as a reader with only `features` understands it: fields of other features are moved to
/// the unknown fields.
Model AsUnderstood(Model model, Features features);

}  // namespace qtx::format
