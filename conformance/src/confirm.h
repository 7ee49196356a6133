// Confirms a candidate: it must predict the backend's answers to fresh questions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "candidate.h"
#include "differential_tester.h"
#include "place.h"

namespace qtx::conformance {

struct Confirmation {
  std::int64_t predicted = 0;  // answers of fresh questions that the candidate gives
  bool is_refuted = false;     // the backend gave another answer to one

  bool holds() const { return predicted > 0 && !is_refuted; }
};

/// Draws the values of `witnesses`, which the candidate explains, until the candidate and the
/// claimed arithmetic (the tester's) answer differently, and asks the backend such questions, and
/// some that both answer alike: where it is wrong there, too, it is more than the candidate.
Confirmation Confirm(const Candidate& candidate, std::span<const TestModel> witnesses,
                     DifferentialTester& tester, const Budget& budget);

/// True unless the candidate is right where the backend is wrong or the reverse, among the draws of
/// a place's smallest form.
bool Fits(const Candidate& candidate, const std::string& claimed, std::span<const Trial> draws);

/// Draws the values of `witnesses` until `candidates`, which explain them, answer differently from
/// one another, asks the backend a few such questions and removes the candidates that it
/// contradicts. Those that are left and answer alike are equivalent, as far as was drawn.
void Eliminate(std::vector<const Candidate*>& candidates, std::span<const TestModel> witnesses,
               DifferentialTester& tester, const Budget& budget);

/// A wrong answer of the backend.
struct Wrong {
  TestModel test;
  Outputs got;
};

/// A candidate that was confirmed.
struct Cause {
  std::string candidate;  // Name
  std::string says;       // Says
  std::int64_t confirmed = 0;
};

/// The first candidate that gives all of `wrongs` and predicts the answers to fresh questions;
/// nullopt if there is none, so that the cause is unknown.
std::optional<Cause> FindCause(std::span<const Wrong> wrongs, DifferentialTester& tester,
                               const Budget& budget);

/// The model with its inputs.
Question QuestionOf(const TestModel& test);

}  // namespace qtx::conformance
