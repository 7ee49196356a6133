// Scales of blocks that are not FLOAT: those of OCP MX and of NVFP4.
#pragma once

#include <optional>
#include <span>

#include "qtx/format/tensor.h"
#include "qtx/quantize/quantize.h"

namespace qtx::quantize {

/// The levels of a scale: a factor for each block, and one for all of them.
struct BlockScales {
  format::Tensor factors;      // FLOAT8E8M0 or FLOAT8E4M3FN, of one axis
  std::optional<float> whole;  // of the tensor; nullopt: 1
};

/// The scales of blocks of `storage` whose greatest magnitudes are `greatest`.
///   kFloat8E8M0: the largest power of two that is at most the greatest magnitude, over the largest
/// that an element can be; that of a block of zeros is 1.  Source: OCP Microscaling Formats v1.0,
/// section 6.3.
///   kNvfp4: whole = the tensor's greatest magnitude / (448 * the largest element), rounded to
/// binary32, at least 2^-140; a factor is the block's greatest magnitude / (the largest element *
/// whole), half to even in FLOAT8E4M3FN, at least its least number, 2^-9.  Source: "Pretraining
/// Large Language Models with NVFP4", arXiv:2509.25149, appendix C, whose inverse scales these are.
/// REQUIRES: choice is not kFloat; `greatest` has finite values and at least one.
BlockScales BlockScalesOf(std::span<const float> greatest, format::ElementType storage,
                          ScaleType choice);

/// The scale of each block: the product of its levels, rounded to binary32 (quantization.S6).
std::vector<float> Products(const BlockScales& scales);

}  // namespace qtx::quantize
