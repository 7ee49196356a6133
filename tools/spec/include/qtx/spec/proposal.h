// A proposal of spec/proposals/NNNN-slug: its text, checked against the required form, and its
// examples. Source: spec/proposals/README.md.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/conformance/case.h"
#include "qtx/format/feature.h"
#include "qtx/format/result.h"
#include "qtx/spec/document.h"
#include "qtx/spec/overlay.h"

namespace qtx::spec {

/// The required `##` sections of a proposal, in order.
inline constexpr std::array<std::string_view, 8> kProposalSections = {
    "Problem",      "Change to the text", "Change to the proto", "Semantics",
    "Alternatives", "Compatibility",      "Cost for backends",   "Decision"};

enum class Status { kDraft, kAccepted, kRejected, kPromoted };
std::string_view Name(Status status);  // "draft"

/// The name in the row `feature` of a proposal that has an overlay and no code.
inline constexpr std::string_view kOverlayFeature = "overlay";

/// A version of the spec: what the reference computes with features, or, given a text, what its
/// formulas say. Borrows the text.
struct Edition {
  format::Features features = format::Features::Current();
  const formula::Text* text = nullptr;
};

struct Proposal {
  std::string folder;
  std::int64_t number = 0;
  std::string slug;   // "must-understand"
  std::string title;  // from the heading, without the number
  Status status = Status::kDraft;
  const format::FeatureRow* feature = nullptr;  // nullptr: it has an overlay
  std::unique_ptr<const Overlay> overlay;       // nullptr: it has a feature
  std::int64_t version = 0;                     // of domain qtx
  std::string date;                             // "2026-11-22"
  Document text;
  std::vector<conformance::Case> examples;  // ordered by path, then as in the file

  /// "must-understand", or kOverlayFeature.
  std::string_view FeatureName() const {
    return feature != nullptr ? feature->name : kOverlayFeature;
  }
  bool promoted() const { return feature != nullptr && feature->promoted; }
  /// The current spec without the proposal, under which `before` of an example holds.
  Edition Before() const;
  /// The current spec with the proposal.
  Edition After() const;
};

/// The folder of a proposal; `name` is a folder or the number of one below `proposals`.
/// Errors: kUnreadable if it does not exist; kInvalid for a number that two folders have.
Result<std::string> FindProposal(const std::string& proposals, const std::string& name);

/// Reads proposal.md, overlay/ and examples/*.yaml. `clauses` are the ids of the spec's clauses; an
/// example must cite one of these or one that the proposal states. Errors: kUnreadable; kInvalid at
/// file and line for a section that is missing, unknown or out of order, a status row that is
/// missing or contradicts feature.h, an unknown clause, and a proposal without examples; those of
/// ParseProposalExamples.
Result<Proposal> LoadProposal(const std::string& folder, std::span<const std::string> clauses);
/// The same, with the clauses that the chapters of `spec_folder` state.  Errors: also as
/// ReadClauses.
Result<Proposal> ReadProposal(const std::string& folder, const std::string& spec_folder);

/// The result of an example in one arithmetic under one set of features.
struct ExampleSide {
  bool ok = false;
  std::string expected;        // expected result, as text
  std::string obtained;        // the reference's result, as text
  std::string differs;         // the difference; empty when ok
  std::optional<Error> fault;  // of a formula that has no meaning, at its place
};
struct ExampleResult {
  std::size_t example = 0;  // index in Proposal::examples
  std::string arithmetic;
  ExampleSide before, after;
};
/// Runs every example in each of its arithmetics, in order. An example of an overlay without
/// `before` expects nothing of that side.
std::vector<ExampleResult> RunExamples(const Proposal& proposal);

/// Errors: kInvalid at the first example with a result that is not the expected one, before or
/// after.
Result<void> CheckExamples(const Proposal& proposal);

}  // namespace qtx::spec
