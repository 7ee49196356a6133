// Candidates that may explain a wrong answer: a named arithmetic, optionally with a known fault.
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

/// "float32"; "half_away" if the arithmetic is the claimed one, else "float32 + half_away".
std::string Name(const Candidate& candidate, std::string_view claimed);
/// "equals `float32`", "computes `exact`, but rounds halves away from zero".
std::string Says(const Candidate& candidate);

/// All candidates in order of preference: common arithmetics; the claimed one with each fault;
/// other named arithmetics; `exact` and `float32` with each fault.
std::vector<Candidate> Candidates(std::string_view claimed);

/// True if the tensors are bit-equal.
bool SameOutputs(const Outputs& got, const Outputs& tried);

/// True if `candidate` reproduces `got` bit for bit.
bool Explains(const Candidate& candidate, const Question& question, const Outputs& got);

}  // namespace qtx::conformance
