// Reduction steps of shrinking: each makes a failing model smaller or simpler while it fails in the
// same way.
#pragma once

#include <cstdint>

#include "differential_tester.h"
#include "test_model.h"

namespace qtx::conformance {

/// The smallest failing model so far, and the remaining budget of runs.
class Search {
 public:
  /// REQUIRES: `test` fails with `kind`.
  Search(DifferentialTester& tester, TestModel test, VerdictKind kind, std::int64_t max_runs)
      : tester_(tester), best_(std::move(test)), kind_(kind), max_runs_(max_runs) {}

  const TestModel& best() const { return best_; }
  bool exhausted() const;
  /// Makes `candidate` the best and returns true if it fails in the same way.
  bool Try(TestModel candidate);
  /// True if the checker and the reference accept it. Does not run the backend.
  bool Accepts(const TestModel& test) { return tester_.Accepts(test); }

 private:
  DifferentialTester& tester_;
  TestModel best_;
  VerdictKind kind_;
  std::int64_t max_runs_;
};

// Each step returns true if it changed anything.

/// Removes optional inputs.
bool DropInputs(Search& search);
/// Shortens axes. No table says which axes, attributes, parameters and constants must change
/// together: combinations of equal size are tried until the reference accepts one.
bool ReduceShapes(Search& search);
/// Sets as many elements as possible to real zero and makes the remaining ones smaller.
bool ZeroElements(Search& search);
/// Simplifies parameters (scales of 1 or a power of two, offsets 0, per tensor) and attributes
/// (removed or default).
bool SimplifyParameters(Search& search);

}  // namespace qtx::conformance
