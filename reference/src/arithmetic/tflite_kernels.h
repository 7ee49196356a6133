// TFLite's kernels that compute otherwise than the operator's own code does in any arithmetic: they
// look up tables, iterate in fixed point or quantize as they run. And those of XNNPACK.
// Source: tflite.S9, tflite.S13 to tflite.S16, tflite_float64.S7, tflite_float64.S9,
// tflite_float64.S10, tflite_float64.S12, tflite_half_up.S12, xnnpack.S8, xnnpack.S9.
#pragma once

#include <optional>

#include "arithmetic/output.h"
#include "arithmetic/round.h"
#include "operand.h"
#include "qtx/reference/op.h"

namespace qtx::reference {

/// Output 0 of `call` as TFLite's kernel gives it, or nullopt when it has none for these types and
/// parameters (tflite.S11).  REQUIRES: the arithmetic's domain is kStored.
Result<std::optional<format::Tensor>> RunTfliteKernel(const Call& call);

/// The same of XNNPACK's, for nodes that stand for TFLite's: xnnpack.S8, xnnpack.S9.
Result<std::optional<format::Tensor>> RunXnnpackKernel(const Call& call);
Result<std::optional<format::Tensor>> RunXnnpackDynamic(const Call& call);  // xnnpack.S9

// TFLite's kernels.  Each: nullopt when types or parameters are others.
Result<std::optional<format::Tensor>> RunTfliteTable(const Call& call);      // tflite.S13
Result<std::optional<format::Tensor>> RunTfliteRelu(const Call& call);       // tflite.S9
Result<std::optional<format::Tensor>> RunTfliteLeakyRelu(const Call& call);  // tflite.S15
Result<std::optional<format::Tensor>> RunTfliteRsqrt(const Call& call);      // tflite.S16
Result<std::optional<format::Tensor>> RunTfliteHybrid(const Call& call);     // tflite.S14
Result<std::optional<format::Tensor>> RunLiteRtHybrid(const Call& call);     // tflite_float64.S7
Result<std::optional<format::Tensor>> RunLiteRtTable(const Call& call);      // tflite_float64.S9
Result<std::optional<format::Tensor>> RunLiteRtSwish(const Call& call);      // tflite_float64.S10
Result<std::optional<format::Tensor>> RunLiteRtNorm(const Call& call);       // tflite_float64.S12
Result<std::optional<format::Tensor>> RunLiteRtQuantize(const Call& call);   // tflite_half_up.S12

/// clamp(half_away(steps) + offset) of an element of `y`; a NaN gives the offset: tflite.S8, .S13.
std::int64_t StoredHalfAway(float steps, std::int64_t element, const Output& y);

/// The binary32 nearest to tanh(x).
float Tanh32(float x);

/// 1 / sqrt(value) as a multiplier; of 0 that of 1.  Source: tflite.S16.  REQUIRES: value < 2^29.
FixedMultiplier InverseRoot(std::int64_t value);

/// value * multiplier with the two roundings of tflite.S3.
std::int64_t MultiplyTwice(std::int64_t value, FixedMultiplier multiplier);
/// With two, or with one where the arithmetic's kernels round once (tflite_single.S1).
std::int64_t MultiplyInKernel(const Arithmetic& arithmetic, std::int64_t value,
                              FixedMultiplier multiplier);

}  // namespace qtx::reference
