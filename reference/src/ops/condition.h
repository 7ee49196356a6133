// Operators whose result is BOOL: comparisons of two tensors, And, Or and Not.
#pragma once

#include <functional>

#include "qtx/reference/op.h"

namespace qtx::reference {

/// What holds between two elements that are compared; none of them where one is NaN.
struct Relation {
  bool less = false;
  bool equal = false;
  bool greater = false;
};

/// y = 1 where the elements of inputs 0 and 1 are related so, else 0; shapes broadcast as in NumPy.
/// Operands are exact reals, or in an arithmetic that computes in binary32 the binary32 that
/// float32.S1 makes of them.
Result<format::Tensor> RunComparison(const Call& call, Relation relation);

/// y = f(a, b) of BOOL inputs, element by element, broadcast likewise; of one input b is false.
Result<format::Tensor> RunCondition(const Call& call, const std::function<bool(bool, bool)>& f);

/// y = 1 where f holds of what a real or DOUBLE of input 0 is: 0 where it is finite, else it
/// itself. Operands are as in RunComparison.
Result<format::Tensor> RunQuestion(const Call& call, const std::function<bool(double)>& f);

}  // namespace qtx::reference
