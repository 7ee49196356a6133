// Softmax, LogSoftmax and Hardmax: over all axes from one on before opset 13, along one since.
#pragma once

#include "opset/step.h"

namespace qtx::convert {

Result<void> SoftmaxTo13(OpsetStep& step);
Result<void> SoftmaxFrom13(OpsetStep& step);

}  // namespace qtx::convert
