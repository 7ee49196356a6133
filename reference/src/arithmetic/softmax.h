// Normalised exponentials, rounded by the arithmetic.
// Source: softmax.S1, log_softmax.S1, exact.S6, float32.S3, tflite.S8, onnxruntime.S5.
#pragma once

#include <cstdint>
#include <span>

#include "arithmetic/output.h"
#include "operand.h"

namespace qtx::reference {

enum class RowFunction { kSoftmax, kLogSoftmax };

/// Puts exp(x[i]) / sum over `row` of exp(x[j]), or its logarithm, for every element of `row`,
/// indices into both `input` and `output`, whose shapes are equal.  A row with a NaN or a positive
/// infinity, or of nothing but negative infinities, gives NaN.
void PutSoftmaxRow(const Arithmetic& arithmetic, RowFunction function, const Operand& input,
                   std::span<const std::int64_t> row, Output* output);

}  // namespace qtx::reference
