// Resize and Pad: coordinates, and axes of their own.
#pragma once

#include "opset/step.h"

namespace qtx::convert {

Result<void> ResizeTo11(OpsetStep& step);
Result<void> ResizeFrom11(OpsetStep& step);
Result<void> ResizeTo13(OpsetStep& step);
Result<void> ResizeFrom13(OpsetStep& step);
Result<void> ResizeFrom18(OpsetStep& step);
Result<void> PadFrom18(OpsetStep& step);

}  // namespace qtx::convert
