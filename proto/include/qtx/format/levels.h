// Parameters that are products of factors, and the base that a type of version 2 may have.
// Source: spec/format/quantization.md, quantization.S6 to S8.
#pragma once

#include <cstdint>

#include "qtx/format/feature.h"
#include "qtx/format/model.h"

namespace qtx::format {

/// What a model imports that has scale_levels or base_levels.
inline constexpr std::int64_t kLevelsVersion = 2;

inline bool HasBase(const Quantization& q) { return !q.base_levels.empty(); }
inline bool HasLevels(const Quantization& q) { return !q.scale_levels.empty() || HasBase(q); }
bool HasLevels(const Model& model);  // of any value

/// Base of parameter `i`; 0 without one.  REQUIRES: resolved parameters.
inline float BaseAt(const Quantization& q, std::int64_t i) {
  if (!HasBase(q)) return 0;
  const std::vector<float>& base = q.base_levels[0].value;
  return base[base.size() == 1 ? 0 : static_cast<std::size_t>(i)];
}

/// The parameters of `type` inline: initializers by name replaced by what they hold, scale_levels
/// multiplied into `scale`, base_levels into one level with a value for each parameter.
/// REQUIRES: type.quantization.  Errors: kInvalid for what is not there or does not fit.
Result<Quantization> Resolve(const ModelView& view, const TensorType& type);

/// `model` as a reader understands it that has only `features`: fields of the others are unknown to
/// it and mean nothing.
Model AsUnderstood(Model model, Features features);

}  // namespace qtx::format
