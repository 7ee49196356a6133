// Add, Sub and Mul differ in one word.
#pragma once

#include "arithmetic/elementwise.h"
#include "qtx/reference/op.h"

namespace qtx::reference {

/// y = a op b, element by element, shapes broadcast as in NumPy.
Result<format::Tensor> RunBinary(const Call& call, Binary kind);

}  // namespace qtx::reference
