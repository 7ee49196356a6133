// The findings of a row put in order.
#pragma once

#include <vector>

#include "qtx/conformance/diagnosis.h"

namespace qtx::conformance {

/// Findings of one candidate that say the same become one, with the operators of all and the sums
/// of their counts; those of most wrong answers come first.
void JoinFindings(std::vector<Finding>& findings);

}  // namespace qtx::conformance
