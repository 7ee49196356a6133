// Hierarchical parameters: scales that are products of factors, and the base (version 2).
// Source: spec/format/quantization.md, quantization.S6 to S8.
#pragma once

#include <cstdint>

#include "qtx/format/feature.h"
#include "qtx/format/model.h"

namespace qtx::format {

/// The version that a model with scale_levels or base_levels imports.
inline constexpr std::int64_t kLevelsVersion = 2;

inline bool HasBase(const Quantization& q) { return !q.base_levels.empty(); }
inline bool HasLevels(const Quantization& q) { return !q.scale_levels.empty() || HasBase(q); }
bool HasLevels(const Model& model);  // true if any value has levels

/// Base of parameter `i`; 0 without one.  REQUIRES: resolved parameters.
inline float BaseAt(const Quantization& q, std::int64_t i) {
  if (!HasBase(q)) return 0;
  const std::vector<float>& base = q.base_levels[0].value;
  return base[base.size() == 1 ? 0 : static_cast<std::size_t>(i)];
}

/// The parameters of `type` as inline vectors: named initializers are read, scale_levels multiplied
/// into `scale`, base_levels reduced to one level with a value for each parameter. Levels that an
/// encoding has are read from the records of initializer `name`, and the result has no encoding.
/// REQUIRES: type.quantization; `name` is the value's where the type is encoded.  Errors: kInvalid
/// for a missing initializer or one of the wrong size, and for an encoding that breaks a clause.
Result<Quantization> Resolve(const ModelView& view, const TensorType& type,
                             std::string_view name = {});

/// `model` as a reader with only `features` understands it: fields of other features are moved to
/// the unknown fields.
Model AsUnderstood(Model model, Features features);

}  // namespace qtx::format
