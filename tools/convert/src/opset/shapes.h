// Shapes, and what selects of a tensor: Shape, Reshape, Slice, Split and OneHot.
#pragma once

#include "opset/step.h"

namespace qtx::convert {

Result<void> OneHotFrom11(OpsetStep& step);
Result<void> ReshapeFrom14(OpsetStep& step);
Result<void> ShapeFrom15(OpsetStep& step);
Result<void> SliceFrom10(OpsetStep& step);
Result<void> SliceFrom11(OpsetStep& step);
Result<void> SplitTo18(OpsetStep& step);
Result<void> SplitFrom18(OpsetStep& step);

}  // namespace qtx::convert
