// A proposal of spec/proposals/NNNN-slug: its text held to the form that all of them have, and its
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

/// The `##` sections of a proposal, all of them and in this order.
inline constexpr std::array<std::string_view, 8> kProposalSections = {
    "Problem",      "Change to the text", "Change to the proto", "Semantics",
    "Alternatives", "Compatibility",      "Cost for backends",   "Decision"};

enum class Status { kDraft, kAccepted, kRejected, kPromoted };
std::string_view Name(Status status);  // "draft"

struct Proposal {
  std::string folder;
  std::int64_t number = 0;
  std::string slug;   // "must-understand"
  std::string title;  // of the heading, without the number
  Status status = Status::kDraft;
  const format::FeatureRow* feature = nullptr;
  std::string date;  // "2026-11-22"
  Document text;
  std::vector<conformance::Case> examples;  // by path, then in the file's order

  /// The current spec without the proposal: what `before` of an example speaks of.
  format::Features Without() const { return format::Features::Current().Without(feature->feature); }
  /// The current spec with it.
  format::Features With() const { return format::Features::Current().With(feature->feature); }
};

/// The folder that `name` means: a folder as it is, or the number of one below `proposals`.
/// Errors: kIo where there is none; kInvalid for a number that two folders have.
Result<std::string> FindProposal(const std::string& proposals, const std::string& name);

/// Reads proposal.md and examples/*.yaml. `clauses` are the ids of the spec's own clauses: an
/// example cites one of these or one that the proposal's text states.
/// Errors: kIo; kInvalid at the file, line and place for a section that is missing, unknown or out
/// of order, a row of the status table that is missing or does not agree with feature.h, a clause
/// that nobody states, no example, and those of ParseProposalExamples.
Result<Proposal> LoadProposal(const std::string& folder, std::span<const std::string> clauses);
/// The same, with the clauses that the chapters of `spec_folder` state.  Errors: also as
/// ReadClauses.
Result<Proposal> ReadProposal(const std::string& folder, const std::string& spec_folder);

/// One example in one of its arithmetics under one set of features.
struct ExampleSide {
  bool ok = false;
  std::string expected;  // what it says, for a person
  std::string obtained;  // what the reference gives
  std::string differs;   // in what; empty when ok
};
struct ExampleResult {
  std::size_t example = 0;  // of Proposal::examples
  std::string arithmetic;
  ExampleSide before, after;
};
/// Every example in each of its arithmetics, in their order.
std::vector<ExampleResult> RunExamples(const Proposal& proposal);

/// Errors: kInvalid at the first example that does not give what it says, before or after.
Result<void> CheckExamples(const Proposal& proposal);

}  // namespace qtx::spec
