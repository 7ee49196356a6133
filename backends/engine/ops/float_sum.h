// The general path of sums in arithmetics other than `exact`: products added one after another in
// binary32, or integer accumulators with an epilogue.
#pragma once

#include "engine/ops/reduction.h"
#include "engine/scaling.h"

namespace qtx::backend::engine {

/// float32.S3: y = (factor * sum of a * b + addend_factor * addend) / divisor, every step rounded.
std::unique_ptr<Step> MakeFloatSum(Sum sum, Walk walk, Value* y);

/// float32.S4, tflite.S2 to tflite.S4 and tflite.S12: stored integers less their offsets summed
/// exactly, then the epilogue.  REQUIRES: operands for which EpilogueOf gives it, Sum::channel.
/// Errors: kUnsupported for factors that the arithmetic does not allow.
Result<std::unique_ptr<Step>> MakeIntegerSum(const NodePlan& node, Sum sum, Walk walk, Value* y,
                                             Epilogue epilogue);

/// True if TFLite's AVERAGE_POOL_2D has a kernel for these types: tflite.S7, tflite.S12.
bool AveragesStored(Arithmetic arithmetic, const format::Tensor& x, const format::Tensor& y);
/// The mean of stored values, rounded half away from zero (AVERAGE_POOL_2D); the exact mean if
/// padding counts. REQUIRES: AveragesStored.
std::unique_ptr<Step> MakeStoredMean(const Value* x, Walk walk, Value* y);

}  // namespace qtx::backend::engine
