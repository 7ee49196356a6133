// SOFTMAX of 8 bits as LiteRT's reference kernel computes it: in integers, by gemmlowp's
// exponential and reciprocal of 32 bits.  Source: tflite_float64.S8.
#pragma once

#include <cstdint>
#include <span>

#include "arithmetic/output.h"
#include "operand.h"

namespace qtx::reference {

/// Whether the kernel takes rows of this length: y in units of 2^-8 from its least value on.
bool HasFixedSoftmax(const Operand& input, std::size_t length, const Output& output);

/// One row of stored values.  REQUIRES: HasFixedSoftmax.
void PutFixedSoftmaxRow(const Operand& input, std::span<const std::int64_t> row, Output* output);

/// 1 / half in units of 2^-30, of half in units of 2^-31.
std::int64_t FixedReciprocal(std::int64_t half);

}  // namespace qtx::reference
