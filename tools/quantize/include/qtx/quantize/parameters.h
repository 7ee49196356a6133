// Scale and offset from a range of real values: real = scale * (stored - offset).
// Source: spec/format/quantization.md; the formulas stand beside the functions.
#pragma once

#include <cstdint>

#include "qtx/format/element_type.h"
#include "qtx/format/quantization.h"
#include "qtx/format/result.h"

namespace qtx::quantize {

/// Real values from min to max, in the tensor's own unit.
struct Range {
  double min = 0;
  double max = 0;
  bool operator==(const Range&) const = default;
};

/// What stored integers a value gets, and how they are to lie.
struct TypeSpec {
  format::ElementType storage = format::ElementType::kInt8;  // of 2, 4, 8 or 16 bits
  format::Scheme scheme = format::Scheme::kAsymmetric;
  bool narrow = false;  // a signed storage without its least integer: -127 to 127
  bool operator==(const TypeSpec&) const = default;
};

/// The stored integers that `spec` uses, inclusive.
format::IntegerRange StoredRange(const TypeSpec& spec);

struct Parameters {
  float scale = 1;
  std::int32_t offset = 0;
  bool operator==(const Parameters&) const = default;
};

/// The parameters for `range`, first widened to hold 0, so that real zero is a stored integer.
/// With lo <= 0 <= hi, and qmin to qmax the stored range:
///   asymmetric       scale = (hi - lo) / (qmax - qmin), offset = qmin - lo / scale
///   symmetric        scale = max(hi / qmax, lo / qmin), offset = 0
///   symmetric_uint8  as symmetric where lo < 0, else scale = hi / (qmax - qmin), offset = qmin
///   *_pow2           the same with the least power of two that is no smaller
/// The scale is rounded up to binary32, the offset half to even from the exact quotient by that
/// scale, then clamped. Rounding up keeps both ends within half an LSB of what they are stored as:
/// with a + b = (hi - lo) / scale <= qmax - qmin, an end passes the stored range only where both
/// a and b end in one half. A range of zero alone has scale 1; one whose scale would lie below
/// 2^-149, that scale.
/// Errors: kInvalid for a range that is not finite or not ordered, for a scale beyond binary32, and
/// for negative values in a symmetric scheme over an unsigned storage (quantization.C10).
/// Source: Jacob et al. 2018, "Quantization and Training of Neural Networks", (13) and section 3.1;
/// Glow, lib/Quantization/Base/Base.cpp, chooseQuantizationParams, for the symmetric schemes.
/// `least_scale`: a scale below it becomes it (for pow2, the power of two from it on).
Result<Parameters> ChooseParameters(const Range& range, const TypeSpec& spec,
                                    float least_scale = 0);

/// The parameters of an operator's own range, whose upper end need not be stored: as above with
/// qmax + 1 for qmax in the scale, which 0 to 1 makes 1/256 and -128 on INT8.
/// Errors: as above.  Source: TFLite's 8-bit quantization specification (Softmax, Logistic, Tanh,
/// Log_softmax).
Result<Parameters> FixedParameters(const Range& range, const TypeSpec& spec);

/// As a type says it: per tensor, with quant_min where `spec` is narrow.
format::Quantization ToQuantization(const Parameters& parameters, const TypeSpec& spec);

/// The stored integer of `real`: half_even(real / scale) + offset, clamped to `stored`. Exact.
std::int64_t StoredOf(double real, const Parameters& parameters,
                      const format::IntegerRange& stored);

}  // namespace qtx::quantize
