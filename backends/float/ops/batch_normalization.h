// BatchNormalization of a channel: fma(x - mean, factor, shift), factor = scale / sqrt(variance +
// epsilon), computed in binary64 and rounded once.
#pragma once

#include <vector>

#include "float/operator.h"

namespace qtx::backend::floats {

struct Normalization {
  std::vector<float> mean, factor, shift;  // of each channel
};

/// `inputs`: x (not looked at), scale, B, mean, variance.
/// Errors: kInvalid when one of the others is absent or they differ in size.
Result<Normalization> NormalizationOf(const format::Node& node, Inputs inputs);

}  // namespace qtx::backend::floats
