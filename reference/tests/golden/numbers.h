// Elements of float tensors as doubles, and the spacing of their formats.
#pragma once

#include <vector>

#include "qtx/format/tensor.h"

namespace qtx::reference::golden {

/// FLOAT, DOUBLE, FLOAT16 or BFLOAT16: the types whose results carry an error bound.
bool IsFloating(format::ElementType type);

/// u of the type: half the distance from 1 to the next number. REQUIRES: IsFloating(type).
double UnitRoundoff(format::ElementType type);
/// The least positive number of the type.
double LeastPositive(format::ElementType type);

/// The elements as doubles, exactly. REQUIRES: IsFloating or IsSmallFloat of the type.
std::vector<double> ToDoubles(const format::Tensor& tensor);
enum class Toward { kMinusInfinity, kPlusInfinity };
/// A tensor like `like` whose elements are `values`, rounded outward when its type does not have
/// them. REQUIRES: IsFloating(like.elem_type), as many values as elements.
format::Tensor FromDoubles(const format::Tensor& like, const std::vector<double>& values,
                           Toward toward);

}  // namespace qtx::reference::golden
