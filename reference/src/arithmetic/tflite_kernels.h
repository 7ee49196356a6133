// TFLite's kernels that compute otherwise than the operator's own code does in any arithmetic: they
// look up tables, or quantize as they run.
// Source: tflite.S13 and tflite.S14.
#pragma once

#include <optional>

#include "operand.h"
#include "qtx/reference/op.h"

namespace qtx::reference {

/// Output 0 of `call` as TFLite's kernel gives it, or nullopt when it has none for these types and
/// parameters (tflite.S11).  REQUIRES: the arithmetic's domain is kStored.
Result<std::optional<format::Tensor>> RunTfliteKernel(const Call& call);

// The kernels.  Each: nullopt when types or parameters are others.
Result<std::optional<format::Tensor>> RunTfliteTable(const Call& call);   // tflite.S13
Result<std::optional<format::Tensor>> RunTfliteHybrid(const Call& call);  // tflite.S14

/// Input 0 and output 0 of one 8-bit type and one scale each.
bool IsStoredUnary(const Call& call);

}  // namespace qtx::reference
