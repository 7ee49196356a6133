// A proposal of spec/proposals/NNNN-slug: its text, checked against the required form, and its
// examples. Source: spec/proposals/README.md.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/conformance/case.h"
#include "qtx/format/feature.h"
#include "qtx/format/result.h"
#include "qtx/spec/document.h"

namespace qtx::spec {

/// The required `##` sections of a proposal, in order.
inline constexpr std::array<std::string_view, 8> kProposalSections = {
    "Problem",      "Change to the text", "Change to the proto", "Semantics",
    "Alternatives", "Compatibility",      "Cost for backends",   "Decision"};

enum class Status { kDraft, kAccepted, kRejected, kPromoted };
std::string_view Name(Status status);  // "draft"

struct Proposal {
  std::string folder;
  std::int64_t number = 0;
  std::string slug;   // "must-understand"
  std::string title;  // from the heading, without the number
  Status status = Status::kDraft;
  const format::FeatureRow* feature = nullptr;
  std::string date;  // "2026-11-22"
  Document text;
  std::vector<conformance::Case> examples;  // ordered by path, then as in the file

  /// Features of the current spec without the proposal, under which `before` of an example holds.
  format::Features Without() const { return format::Features::Current().Without(feature->feature); }
  /// Features of the current spec with the proposal.
  format::Features With() const { return format::Features::Current().With(feature->feature); }
};

/// The folder of a proposal; `name` is a folder or the number of one below `proposals`.
/// Errors: kUnreadable if it does not exist; kInvalid for a number that two folders have.
Result<std::string> FindProposal(const std::string& proposals, const std::string& name);

/// Reads proposal.md and examples/*.yaml. `clauses` are the ids of the spec's clauses; an example
/// must cite one of these or one that the proposal states.
/// Errors: kUnreadable; kInvalid at file and line for a section that is missing, unknown or out of
/// order, a status row that is missing or contradicts feature.h, an unknown clause, and a proposal
/// without examples; those of ParseProposalExamples.
Result<Proposal> LoadProposal(const std::string& folder, std::span<const std::string> clauses);
/// The same, with the clauses that the chapters of `spec_folder` state.  Errors: also as
/// ReadClauses.
Result<Proposal> ReadProposal(const std::string& folder, const std::string& spec_folder);

/// The result of an example in one arithmetic under one set of features.
struct ExampleSide {
  bool ok = false;
  std::string expected;  // expected result, as text
  std::string obtained;  // the reference's result, as text
  std::string differs;   // the difference; empty when ok
};
struct ExampleResult {
  std::size_t example = 0;  // index in Proposal::examples
  std::string arithmetic;
  ExampleSide before, after;
};
/// Runs every example in each of its arithmetics, in order.
std::vector<ExampleResult> RunExamples(const Proposal& proposal);

/// Errors: kInvalid at the first example with a result that is not the expected one, before or
/// after.
Result<void> CheckExamples(const Proposal& proposal);

}  // namespace qtx::spec
