// Merging and ordering the findings of a row.
#pragma once

#include <vector>

#include "qtx/conformance/diagnosis.h"

namespace qtx::conformance {

/// Merges findings with the same candidate and text, adding operators and counts, and orders them
/// by the number of wrong answers.
void JoinFindings(std::vector<Finding>& findings);

}  // namespace qtx::conformance
