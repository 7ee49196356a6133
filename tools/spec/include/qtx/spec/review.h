// Review: the effects of a proposal on its examples, the suite's cases, conforming backends, and
// models, found by running the reference with and without the proposal's feature.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/conformance/case.h"
#include "qtx/conformance/diagnosis.h"
#include "qtx/conformance/runner.h"
#include "qtx/format/feature.h"
#include "qtx/format/result.h"
#include "qtx/format/text.h"
#include "qtx/spec/proposal.h"

namespace qtx::spec {

/// How the reference's answer to a case changes.
enum class FlipKind {
  kValue,    // both run, and some element differs
  kRuns,     // refused before, runs now
  kRefused,  // ran before, refused now
  kReason    // refused by another clause
};
std::string_view Name(FlipKind kind);  // "value"

/// A case in one arithmetic whose answer changes.
struct Flip {
  std::string id, where, spec, op, arithmetic;
  FlipKind kind = FlipKind::kValue;
  bool stated = false;  // the case states the old answer and would have to change
  std::optional<conformance::Difference> difference;  // kValue: got is after, expected before
  std::string before, after;                          // answers, as text
};

struct CaseEffect {
  std::int64_t cases = 0;          // examined
  std::int64_t results = 0;        // of these cases, in all their arithmetics
  std::int64_t flipped_cases = 0;  // cases with a flip in some arithmetic
  std::vector<Flip> flips;         // in the order of the cases
  std::vector<std::string>
      not_built;  // cases whose model or inputs cannot be built on this machine
  // Of an overlay: cases that its clauses can change, of which `cases` were chosen, and how many of
  // these the time did not suffice for, or the text declined.
  std::int64_t affected = 0, not_reached = 0, declined = 0;
};

/// A backend's answers to the flipped cases, compared with both answers of the reference.
struct BackendEffect {
  std::string name;
  std::optional<Error> error;    // Describe failed
  std::int64_t asked = 0;        // flipped results in arithmetics that it has
  std::int64_t unsupported = 0;  // of these, not supported
  std::int64_t stays = 0;        // conforms before and after, thanks to a tolerance or `either`
  std::int64_t fails_both = 0;   // conforms neither before nor after
  std::vector<std::string> newly_fails;   // "id @arithmetic": conforms now, would not
  std::vector<std::string> newly_passes;  // does not conform now, would
};

enum class ModelOutcome { kUnaffected, kChecksDiffer, kOutputsDiffer, kNotRun, kUnread };
std::string_view Name(ModelOutcome outcome);  // "unaffected"

/// One output of a model that differs.
struct ModelDifference {
  std::string output;
  std::int64_t elements = 0;
  std::int64_t differing = 0;
  double largest = 0;  // in `unit`
  std::string unit;    // "LSB" of stored integers, "real" of floats
};
struct ModelEffect {
  std::string path;  // relative to the folder
  ModelOutcome outcome = ModelOutcome::kUnaffected;
  std::string why;  // why it was not run or read, or which checks differ
  std::vector<ModelDifference> differences;
  double seconds = 0;
};

struct Review {
  Proposal proposal;
  std::vector<ExampleResult> examples;
  std::vector<ClaimResult> claims;  // of an overlay
  CaseEffect cases;
  std::vector<BackendEffect> backends;
  std::string models_folder;  // empty: none was given
  std::vector<ModelEffect> models;
  double seconds = 0;
};

struct ReviewOptions {
  std::span<const conformance::Case> cases;  // of the suite and the spec's examples
  std::span<const conformance::BackendSource> backends;
  int jobs = 1;
  bool all = false;               // of an overlay: every case that it can change, not a sample
  double seconds = 0;             // of an overlay: no case is begun after these; 0: no limit
  std::string models;             // a folder; empty: none
  conformance::ModelLoader load;  // reads a model file of any kind
  /// Makes the reference with these features, in a process with a time limit.
  std::function<Result<conformance::BackendSource>(format::Features)> isolated;
  /// Called by one thread at a time with a stage ("cases"), the number done and the total.
  std::function<void(std::string_view, std::size_t, std::size_t)> progress;
};

/// Runs the cases under both editions, then backends and models. Of an overlay the text computes
/// those cases that Affected chooses, and claims are searched for counterexamples.
/// Errors: kUnreadable if the folder of models does not exist; kUsage for models beside an overlay;
/// at its place that of a formula of an overlay that has no meaning for a node.
Result<Review> MakeReview(Proposal proposal, const ReviewOptions& options);

/// True when every example has its expected results, before and after.
bool ExamplesHold(const Review& review);
/// True when no claim has a counterexample.
bool ClaimsHold(const Review& review);

/// For a terminal of 100 columns.
format::Printable ToText(const Review& review);
/// Keys: spec/proposals/README.md.
std::string ToJson(const Review& review);
/// A self-contained HTML page.
std::string ToHtml(const Review& review);

}  // namespace qtx::spec
