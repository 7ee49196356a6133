// Cast, and CastLike, which finds its type elsewhere.
#pragma once

#include "qtx/reference/op.h"

namespace qtx::reference::ops {

/// Output 0: input 0 in the type of the output.  Source: cast.S1 to cast.S10, tflite.S9.
/// Errors: those of Operand::Make and Output::Make.
Result<format::Tensor> RunCast(const Call& call);

}  // namespace qtx::reference::ops
