// Attributes that became inputs.
#pragma once

#include "opset/step.h"

namespace qtx::convert {

/// The node's attributes that are inputs since `step.since` become constants.
Result<void> AttributesToInputs(OpsetStep& step);
/// The way back. Errors: kUnsupported for an input that is computed.
Result<void> InputsToAttributes(OpsetStep& step);

}  // namespace qtx::convert
