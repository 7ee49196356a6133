// The answers of a row that a diagnosis is about: the wrong ones, and right ones of the same
// operators.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fault.h"
#include "qtx/conformance/runner.h"
#include "test_model.h"

namespace qtx::conformance {

/// The `op` of a network.
inline constexpr std::string_view kNetwork = "model";

struct Answered {
  const Case* c = nullptr;
  CaseResult* result = nullptr;
  std::string op;         // of the case; of a network, that of its first wrong node where known
  std::string_view kind;  // the symptom: "crash", "unstable", ...; empty for wrong values
  Question question;
  Outputs outputs;    // of the backend
  Outputs reference;  // of the reference; of right answers filled on demand
};
using AnsweredList = std::vector<const Answered*>;

struct Answers {
  std::vector<Answered> wrongs;
  std::vector<Answered> rights;
};

/// The answers of `row` that the reference, in `own`, has one to as well: at most a few networks,
/// and some hundred right ones of each operator.
Answers CollectAnswers(std::span<const Case> cases, const reference::Arithmetic& own,
                       BackendReport& row);

/// What a backend with that symptom does.
std::string_view SaysOf(std::string_view kind);

/// True for wrong values that other inputs gave than those of the case.
bool HasOtherInputs(const CaseResult& result);

std::int64_t ElementsIn(const Outputs& outputs);

/// The question with all its data as tensors; `reference` gives types of outputs that are not
/// declared. nullopt where Extract fails.
std::optional<TestModel> WitnessOf(const Question& question, const Outputs& reference);

}  // namespace qtx::conformance
