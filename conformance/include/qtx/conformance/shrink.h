// Shrinking (delta debugging): reduces a failing case or network to the smallest model that fails
// in the same way, and writes a folder that reproduces it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "qtx/conformance/case.h"
#include "qtx/conformance/diagnosis.h"
#include "qtx/conformance/runner.h"
#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"

namespace qtx::conformance {

struct ShrinkOptions {
  std::string arithmetic;        // empty: the backend's first
  std::int64_t max_runs = 5000;  // of the backend, and half as many to find place and cause
  bool session = false;          // it fails in a thorough session alone
  /// Called while it is reduced, with the runs so far.
  std::function<void(std::int64_t runs)> progress = nullptr;
};

/// The failure to shrink.
struct Failure {
  format::Model model;
  std::vector<format::Tensor> inputs;  // in the order of graph.input without initializers
  std::string name;                    // for people: "add/ties", "net.onnx"
  std::string id;                      // of the case it becomes: "shrunk/add/ties"
  std::string spec;                    // clause; empty: the operator's S1
  std::optional<std::int64_t> ulp;     // tolerance of float outputs
  std::optional<Closeness> close;      // or this one
};

/// Converts a failing case.  Errors: those of the builders; kUnsupported for a case that must be
/// refused.
Result<Failure> ToFailure(const Case& c);

struct Shrunk {
  Case reduced;            // an operator case with literal data, or a case on `model`
  format::Model model;     // model that the case runs
  Evidence evidence;       // inputs and both answers
  std::string arithmetic;  // in which it fails
  std::string how;         // "differs", "crash", ...
  std::string op;          // op_type of the failing node, or of the last of several
  WrongPlace place;        // what it hangs on
  // The cause, where one predicts the answers to fresh questions: Finding::candidate and what it
  // says; else empty.
  std::string candidate;
  std::string cause;
  std::string detail;  // "output 'y' differs in 1 of 1 elements by +1 LSB ..."
  std::int64_t nodes = 1;
  std::int64_t elements = 0;  // of all inputs and constants
  std::int64_t runs = 0;      // of the backend, to find it
};

/// Finds the first node whose answer is wrong on the reference's values (or the shortest run of
/// nodes, if none fails alone), then reduces shapes, nonzero elements and parameters, and last
/// asks what the rest hangs on. Deterministic if the backend is.
/// Errors: those of the source; kInvalid when the backend lacks the arithmetic, passes the case, or
/// the reference refuses it.
Result<Shrunk> Shrink(const BackendSource& source, const Failure& failure,
                      const ShrinkOptions& options);

/// Writes case.yaml (a suite of one case), model.onnx, inputs/, expected/ and got/ (.npy),
/// README.md and reproduce.sh to a folder beside `folder` and renames it. `backend` is what
/// --backend takes. A folder with other contents is not replaced. Errors: kInvalid for such a
/// folder; kIo; those of the writers.
Result<void> WriteReproducer(const Shrunk& shrunk, const std::string& backend,
                             const std::string& folder);

/// Checks that `folder` is absent, empty or written by WriteReproducer.
/// Errors: kInvalid when it is not; kIo.
Result<void> CheckReplaceable(const std::string& folder);

}  // namespace qtx::conformance
