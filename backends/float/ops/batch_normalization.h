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
Normalization NormalizationOf(float epsilon, Inputs inputs);

}  // namespace qtx::backend::floats
