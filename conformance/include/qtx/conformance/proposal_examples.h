// Examples of a proposal: cases that say what the current spec makes of them, too.
// Source: spec/conformance_cases.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "qtx/conformance/case.h"
#include "qtx/format/result.h"

namespace qtx::conformance {

/// Like ParseCases, but every document must have the key `before` (Case::before), which ParseCases
/// refuses.
Result<std::vector<Case>> ParseProposalExamples(std::string_view yaml, const std::string& where);

}  // namespace qtx::conformance
