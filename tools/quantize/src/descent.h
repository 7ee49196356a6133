// Coordinate descent: the stored integers and scales of one output's weights are changed one after
// the other, each to the value that leaves the least error of that output.
// Source: Behdin et al., "QuantEase: Optimization-based Quantization for Language Models",
// arXiv:2309.01885, which changes the integers; the scales are coordinates as well here. Computed
// in binary64 in a fixed order, so that the bits do not depend on the machine.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "qtx/format/element_type.h"

namespace qtx::quantize {

/// Weight k of an output is stored as codes[k] + the offset, and is codes[k] * scales[k / block].
struct Filter {
  std::vector<double> reals;
  std::vector<std::int64_t> codes;
  std::vector<float> scales;
  std::vector<format::IntegerRange> limits;  // of the codes, one for each scale
  std::int64_t block = 1;
  bool fits_scales = true;  // false: they stay
  float least_scale = 0;    // that a scale must not fall below
};

/// Lowers (w - q)^T H (w - q) until no change of one code does (or for 64 rounds), from `filter` as
/// it is and from the weights rounded to nearest with smaller scales; what has the least error then
/// is left in `filter`. Codes and scales take turns as long as a round gains a thousandth. A scale
/// becomes the binary32 nearest to its best.
/// REQUIRES: `h` as DampedSums (gptq.h) gives it, for filter.reals.size() columns.
void Descend(std::span<const double> h, Filter& filter);

}  // namespace qtx::quantize
