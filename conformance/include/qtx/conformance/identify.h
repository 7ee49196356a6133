// Which named arithmetic a backend computes in, operator by operator, from the few cases that tell
// arithmetics apart.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "qtx/conformance/case.h"
#include "qtx/conformance/runner.h"
#include "qtx/format/result.h"

namespace qtx::conformance {

struct Identity {
  std::string op;                        // op_type
  std::vector<std::string> arithmetics;  // those that give every answer, bit for bit
  std::string nearest;                   // where none does: the one that gives most
  std::string fault;                     // where none does: a known fault that gives every answer
  std::int64_t cases = 0;                // asked and answered
  std::int64_t agreeing = 0;             // answers that `arithmetics` or `nearest` give
  std::int64_t declined = 0;             // asked and not answered
};

struct Identification {
  backend::Description description;
  std::vector<Identity> operators;  // by op_type; those with nothing to ask about are left out
};

/// Asks `source`, in its default arithmetic, the cases of `cases` that separate most pairs of named
/// arithmetics: at most kMaxAsked an operator.
/// Errors: those of starting and describing the backend.
Result<Identification> Identify(std::span<const Case> cases, const BackendSource& source);
inline constexpr std::size_t kMaxAsked = 16;

}  // namespace qtx::conformance
