// The parameters that levels of factors make, many at a time.
#pragma once

#include <vector>

#include "qtx/format/shape.h"

namespace qtx::format {

/// One level, read: a factor for each of its blocks, row-major.
struct Level {
  Dims counts;  // factors along each named axis
  Dims blocks;  // elements along each
  std::vector<float> factors;
};

/// For each parameter, of which there are `counts` along the named axes, one for `block` elements
/// each, the exact product of the factors of the blocks that it lies in, rounded once to a
/// binary32, ties to even.  REQUIRES: at most four levels, whose blocks are multiples of `block` or
/// no less than the dimension (quantization.C14), and whose factors are finite.
std::vector<float> Products(const Dims& counts, const Dims& block,
                            const std::vector<Level>& levels);

}  // namespace qtx::format
