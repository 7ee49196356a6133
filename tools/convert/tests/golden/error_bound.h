// How far a model of FLOAT values may lie from the reference, by the standard model of binary32:
// fl(a op b) = (a op b)(1 + d), |d| <= u = 2^-24, sums in any order.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"

namespace qtx::convert::golden {

/// Values of one run of the reference, by name; initializers and inputs among them.
using Values = std::map<std::string, format::Tensor>;

/// For each FLOAT value computed, element by element, a bound of |other - reference|: of the
/// reference's own rounding (every operator rounds once, or in binary32) and of an implementation
/// that computes the same operators in binary32. Each node adds its own rounding to the error of
/// its inputs, carried through the operator (Higham, Accuracy and Stability, 3.1 and 4.2).
/// Errors: kUnsupported naming an operator without a rule.
Result<std::map<std::string, std::vector<double>>> ErrorBounds(const format::Model& model,
                                                               const Values& values);

}  // namespace qtx::convert::golden
