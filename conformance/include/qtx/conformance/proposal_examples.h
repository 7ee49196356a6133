// Examples of a proposal: cases that say what the current spec makes of them, too.
// Source: spec/conformance_cases.md.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/conformance/case.h"
#include "qtx/format/element_type.h"
#include "qtx/format/result.h"

namespace qtx::conformance {

/// Like ParseCases, but every document must have the key `before` (Case::before), which ParseCases
/// refuses.
Result<std::vector<Case>> ParseProposalExamples(std::string_view yaml, const std::string& where);

/// Names that the cases of an overlay have beside those of the spec.
struct OverlayNames {
  std::map<std::string, format::ElementType, std::less<>> types;  // "NF4Q" -> its carrier
  std::set<std::string, std::less<>> arithmetics;
};

/// Like ParseProposalExamples, where `before` may be absent. A value of an added type has that of
/// the carrier, whose integers are its codes, and an entry in Case::added_types.
Result<std::vector<Case>> ParseOverlayExamples(std::string_view yaml, const std::string& where,
                                               int first_line, const OverlayNames& names);

/// The inputs and outputs of a claim: as ParseFormulaCases, without `op` and `spec`.
Result<std::vector<Case>> ParseClaimCases(std::string_view yaml, const std::string& where,
                                          int first_line, const std::string& clause,
                                          const OverlayNames& names);

}  // namespace qtx::conformance
