// What a proposal changes: its examples, the cases of a suite, the backends that conform today, and
// models. Everything is found by running the reference with the proposal's feature and without.
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
#include "qtx/spec/proposal.h"

namespace qtx::spec {

/// How the answer of the reference to a case changes.
enum class FlipKind {
  kValue,    // both run, and some element differs
  kRuns,     // refused before, runs now
  kRefused,  // ran before, refused now
  kReason    // refused by another clause
};
std::string_view Name(FlipKind kind);  // "value"

/// One case in one arithmetic whose answer changes.
struct Flip {
  std::string id, where, spec, op, arithmetic;
  FlipKind kind = FlipKind::kValue;
  bool stated = false;  // the case writes down what no longer comes out: it would have to change
  std::optional<conformance::Difference> difference;  // kValue: got is after, expected before
  std::string before, after;                          // answers, for a person
};

struct CaseEffect {
  std::int64_t cases = 0;              // looked at
  std::int64_t results = 0;            // of them, in all their arithmetics
  std::int64_t flipped_cases = 0;      // that have a flip in some arithmetic
  std::vector<Flip> flips;             // in the order of the cases
  std::vector<std::string> not_built;  // cases that give no model or no inputs on this machine
};

/// What a backend answers to the flipped results, held to both answers of the reference.
struct BackendEffect {
  std::string name;
  std::optional<Error> error;             // it could not be described
  std::int64_t asked = 0;                 // flipped results in arithmetics that it names
  std::int64_t unsupported = 0;           // of these, what it says it does not support
  std::int64_t stays = 0;                 // conforms before and after, by a tolerance or `either`
  std::int64_t fails_both = 0;            // conforms neither before nor after
  std::vector<std::string> newly_fails;   // "id @arithmetic": conforms now, would not
  std::vector<std::string> newly_passes;  // does not now, would
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
  std::string path;  // below the folder
  ModelOutcome outcome = ModelOutcome::kUnaffected;
  std::string why;  // where it was not run or read, or what checks differ
  std::vector<ModelDifference> differences;
  double seconds = 0;
};

struct Review {
  Proposal proposal;
  std::vector<ExampleResult> examples;
  CaseEffect cases;
  std::vector<BackendEffect> backends;
  std::string models_folder;  // empty: none was given
  std::vector<ModelEffect> models;
  double seconds = 0;
};

struct ReviewOptions {
  std::span<const conformance::Case> cases;  // existing ones, of the suite and the text
  std::span<const conformance::BackendSource> backends;
  int jobs = 1;
  std::string models;             // a folder; empty: none
  conformance::ModelLoader load;  // of a model file of any kind
  /// The reference with these features in a process of its own, whose time is limited.
  std::function<Result<conformance::BackendSource>(format::Features)> isolated;
  /// Called from one thread at a time: "cases", done, of how many.
  std::function<void(std::string_view, std::size_t, std::size_t)> progress;
};

/// The answers to every case under both sets of features, and what backends give.
/// Errors: kIo for a folder of models that is none.
Result<Review> MakeReview(Proposal proposal, const ReviewOptions& options);

/// True when every example gives what it says, before and after.
bool ExamplesHold(const Review& review);

/// For a terminal of 100 columns.
std::string ToText(const Review& review);
/// Keys: spec/proposals/README.md.
std::string ToJson(const Review& review);
/// One page that asks nobody for anything.
std::string ToHtml(const Review& review);

}  // namespace qtx::spec
