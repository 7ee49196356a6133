// Scale and offset for a range of real values: real = scale * (stored - offset). Source:
// spec/format/quantization.md.
#pragma once

#include <cstdint>

#include "qtx/format/element_type.h"
#include "qtx/format/quantization.h"
#include "qtx/format/result.h"

namespace qtx::quantize {

/// A range of real values, inclusive.
struct Range {
  double min = 0;
  double max = 0;
  bool operator==(const Range&) const = default;
};

/// Storage type and scheme of a quantized value.
struct TypeSpec {
  format::ElementType storage = format::ElementType::kInt8;  // of 2, 4, 8 or 16 bits
  format::Scheme scheme = format::Scheme::kAsymmetric;
  bool narrow = false;  // without the least integer of a signed storage: -127 to 127
  bool operator==(const TypeSpec&) const = default;
};

/// The stored integers that `spec` uses, inclusive.
format::IntegerRange StoredRange(const TypeSpec& spec);

struct Parameters {
  float scale = 1;
  std::int32_t offset = 0;
  bool operator==(const Parameters&) const = default;
};

/// The parameters for `range`, first widened to contain 0, so that real zero is representable. With
/// lo <= 0 <= hi and the stored range qmin to qmax:
///   asymmetric       scale = (hi - lo) / (qmax - qmin), offset = qmin - lo / scale
///   symmetric        scale = max(hi / qmax, lo / qmin), offset = 0
///   symmetric_uint8  as symmetric where lo < 0, else scale = hi / (qmax - qmin), offset = qmin
/// *_pow2           as above, the scale rounded up to a power of two The scale is rounded up to
/// binary32; the offset is the exact quotient by that scale, rounded half to even, then clamped.
/// Rounding up keeps both ends within half an LSB of what they are stored as: with a + b = (hi -
/// lo) / scale <= qmax - qmin, an end passes the stored range only where both a and b end in one
/// half. The range [0, 0] has scale 1; the least scale is 2^-149.
/// Errors: kInvalid for a range that is not finite or ordered, for a scale that overflows binary32,
/// and for negative values in a symmetric scheme over an unsigned storage (quantization.C10).
/// Source: Jacob et al. 2018, "Quantization and Training of Neural Networks", (13) and section 3.1;
/// Glow, lib/Quantization/Base/Base.cpp, chooseQuantizationParams, for the symmetric schemes.
/// `least_scale` is a lower bound of the scale (for pow2, rounded up to a power of two).
Result<Parameters> ChooseParameters(const Range& range, const TypeSpec& spec,
                                    float least_scale = 0);

/// The parameters of an operator with a fixed output range whose upper end need not be
/// representable: as above with qmax + 1 in place of qmax in the scale. 0 to 1 gives 1/256 and -128
/// on INT8.
/// Errors: as above.  Source: TFLite's 8-bit quantization specification (Softmax, Logistic, Tanh,
/// Log_softmax).
Result<Parameters> FixedParameters(const Range& range, const TypeSpec& spec);

/// Per-tensor quantization, with quant_min if `spec` is narrow.
format::Quantization ToQuantization(const Parameters& parameters, const TypeSpec& spec);

/// The stored integer of `real`: half_even(real / scale) + offset, clamped to `stored`. Exact.
std::int64_t StoredOf(double real, const Parameters& parameters,
                      const format::IntegerRange& stored);

}  // namespace qtx::quantize
