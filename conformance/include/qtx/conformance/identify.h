// Identifies the named arithmetic of each operator of a backend, with the few cases that
// distinguish arithmetics.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "qtx/conformance/case.h"
#include "qtx/conformance/runner.h"
#include "qtx/format/result.h"

namespace qtx::conformance {

struct Identity {
  std::string op;                        // op_type
  std::vector<std::string> arithmetics;  // those that reproduce every answer bit for bit
  std::string nearest;                   // if there is none: the one that reproduces most answers
  std::vector<std::string> exceptions;   // ids of cases whose answers `nearest` does not reproduce
  std::string fault;  // if there is none: a known fault that reproduces every answer and
                      // predicts those to fresh questions
  std::optional<WrongPlace> place;  // of an exception, where `nearest` is the claimed arithmetic
  std::int64_t cases = 0;           // answered by the backend
  std::int64_t agreeing = 0;        // answers that `arithmetics` or `nearest` reproduce
  std::int64_t declined = 0;        // not answered
};

struct Identification {
  backend::Description description;
  std::vector<Identity> operators;  // by op_type, without those that no case distinguishes
};

/// Runs, in the default arithmetic of `source`, the cases that separate most pairs of named
/// arithmetics: at most kMaxAsked per operator.
/// `progress` is told before each operator how many are done, of how many, and its name.
/// Errors: those of starting and describing the backend.
using IdentifyProgress = std::function<void(std::size_t, std::size_t, const std::string&)>;
Result<Identification> Identify(std::span<const Case> cases, const BackendSource& source,
                                const IdentifyProgress& progress = {});
inline constexpr std::size_t kMaxAsked = 16;

}  // namespace qtx::conformance
