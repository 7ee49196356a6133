// What may explain a wrong answer: a named arithmetic, or one with a known fault.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fault.h"

namespace qtx::conformance {

struct Candidate {
  const reference::Arithmetic* base = nullptr;
  const Fault* fault = nullptr;  // nullptr: none
};

/// "float32", "half_away" on top of what the backend claims, "float32 + half_away" otherwise.
std::string Name(const Candidate& candidate, std::string_view claimed);
/// "equals `float32`", "computes `exact`, but rounds halves away from zero".
std::string Says(const Candidate& candidate);

/// The arithmetics that most backends have; the claimed one with each fault; every other named
/// arithmetic; then `exact` and `float32` with each fault. In this order of preference.
std::vector<Candidate> Candidates(std::string_view claimed);

/// Bit for bit the same tensors.
bool SameOutputs(const Outputs& got, const Outputs& tried);

/// True when `candidate` gives exactly `got`.
bool Explains(const Candidate& candidate, const Question& question, const Outputs& got);

}  // namespace qtx::conformance
