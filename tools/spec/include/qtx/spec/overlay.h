// The overlay of a proposal: chapters that replace and add clauses, so that the text's own
// interpreter shows what changes, without a compiler. Source: spec/proposals/README.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "qtx/conformance/case.h"
#include "qtx/conformance/proposal_examples.h"
#include "qtx/format/result.h"
#include "qtx/formula/text.h"

namespace qtx::spec {

// Bounds on hostile overlays, beside those of formulas and cases.
inline constexpr std::size_t kMaxOverlayChapters = 64;
inline constexpr std::int64_t kMaxOverlayBytes = std::int64_t{1} << 20;  // of a chapter
inline constexpr std::size_t kMaxClaims = 256;

/// A condition that holds for all values of its cases' inputs: a line of a block marked `claim`.
struct Claim {
  std::string name;
  std::string clause;        // that stands above it
  std::string where;         // "overlay/arithmetic/exact.md:12"
  formula::Formula formula;  // that defines `stored` as the condition
  std::vector<conformance::Case> cases;
};

struct Overlay {
  formula::Text before, after;
  std::vector<Claim> claims;
  std::vector<conformance::Case> examples;  // of its chapters
  std::vector<std::string> clauses;         // that its chapters state, with and without formulas
};

/// The names that cases have beside those of the spec.
conformance::OverlayNames NamesOf(const formula::Text& text);

/// Whether the folder of a proposal has an overlay.
bool HasOverlay(const std::string& proposal);

/// Reads overlay/{arithmetic,format,ops}/*.md of a proposal.
/// Errors: kUnreadable, kTooLarge; kInvalid at file and line: those of formula::Text::WithOverlay,
/// ParseOverlayExamples and ParseClaimCases, and a claim that is none.
Result<Overlay> ReadOverlay(const std::string& proposal);

/// A claim on one of its cases.
struct ClaimResult {
  std::size_t claim = 0;  // index in Overlay::claims
  std::string where;      // of the case
  std::int64_t elements = 0;
  bool exhaustive = false;     // all stored values of the inputs, or all pairs of two
  std::int64_t failing = 0;    // of these elements
  std::string counterexample;  // the one with the least reals: "a = 1 (real 1/2), b = ..."
};

/// Evaluates a claim on a case. Errors: those of formula::HoldsBy and FillInputs.
Result<ClaimResult> RunClaim(const Overlay& overlay, std::size_t claim, const conformance::Case& c);

}  // namespace qtx::spec
