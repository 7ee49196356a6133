// If, Loop and Scan: which nodes run, how often, and what moves in and out.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "plan.h"
#include "qtx/format/scopes.h"

namespace qtx::reference {

/// Runs of bodies in one run of a model; a loop that nothing ends is refused there.
inline constexpr std::int64_t kMaxBodyRuns = std::int64_t{1} << 16;

/// What a node with bodies asks of the run that it is part of.
struct BodyRun {
  std::function<const format::Tensor*(const std::string&)> find;  // nullptr: no such value
  std::function<void(const std::string&, format::Tensor)> set;    // of a body's input
  /// Runs the nodes of body `i` of the step.  Errors: those of the nodes; kTooLarge past
  /// kMaxBodyRuns.
  std::function<Result<void>(std::size_t)> run;
};

/// The outputs of an If, Loop or Scan.
/// Errors: those of BodyRun::run; kUnsupported for elements of less than a byte that are cut or
/// stacked; kInvalid where values of iterations differ in type or shape; kTooLarge.
/// Source: ONNX, operators If, Loop, Scan; graph.S4.
Result<std::vector<format::Tensor>> RunBodies(const Step& step, const BodyRun& bodies);

}  // namespace qtx::reference
