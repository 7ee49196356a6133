// Steps that make a failing model smaller or simpler while it fails in the same way.
#pragma once

#include <cstdint>

#include "differential_tester.h"
#include "test_model.h"

namespace qtx::conformance {

/// The smallest model found so far, and what may still be spent on finding a smaller one.
class Search {
 public:
  /// REQUIRES: `test` fails with `kind`.
  Search(DifferentialTester& tester, TestModel test, VerdictKind kind, std::int64_t max_runs)
      : tester_(tester), best_(std::move(test)), kind_(kind), max_runs_(max_runs) {}

  const TestModel& best() const { return best_; }
  bool exhausted() const;
  /// True, and `candidate` is the best, when it fails in the same way.
  bool Try(TestModel candidate);
  /// Whether the checker and the reference take it: no run of the backend.
  bool Accepts(const TestModel& test) { return tester_.Accepts(test); }

 private:
  DifferentialTester& tester_;
  TestModel best_;
  VerdictKind kind_;
  std::int64_t max_runs_;
};

// Each returns whether it changed anything.

/// Optional inputs are left out.
bool DropInputs(Search& search);
/// Axes get shorter. Which axes, attributes, parameters and constants must change together is not
/// written down per operator: those of one size are tried together until the reference accepts.
bool ReduceShapes(Search& search);
/// Elements become real zero, as many as possible; few that are left get smaller.
bool ZeroElements(Search& search);
/// Scales become 1 or a power of two, offsets 0, parameters per tensor; attributes go or get their
/// usual values.
bool SimplifyParameters(Search& search);

}  // namespace qtx::conformance
