// Input data of a case that is described rather than written out.
#pragma once

#include <cstdint>
#include <optional>

#include "qtx/conformance/case.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"

namespace qtx::conformance {

/// SplitMix64 (Steele, Lea, Flood 2014): the same numbers on every machine, unlike the standard
/// library's distributions.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t Next();
  /// Uniform in [0, bound), without the bias of a plain remainder.  REQUIRES: bound > 0.
  std::uint64_t Below(std::uint64_t bound);

 private:
  std::uint64_t state_;
};

/// Fills a tensor of `type` and `dims`. Integers stay within quant_min and quant_max.
/// uniform: every stored value, or floats in [-4, 4) in steps of 2^-20.
/// boundary: the ends of the range, the offset, 0, and their neighbours; or floats at the ends of
///   binary32, infinities, zeros and NaN among them.
/// ties: real values halfway between two LSB of `target_scale`, where the type can hold such.
/// saturate: the two ends of the range only; or floats beyond any quantized range.
/// ramp: stored values upwards from the lowest, over and over; or multiples of 1/8 around 0.
/// one_hot: real zero, but for one element (which one: the seed) at the upper end, or 1.0.
/// zero: real zero.
/// Errors: kUnsupported for complex and string types, and those of MakeTensor.
Result<format::Tensor> Generate(const Generator& generator, const format::TensorType& type,
                                const format::Dims& dims, std::optional<float> target_scale);

}  // namespace qtx::conformance
