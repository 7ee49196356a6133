// Reduction steps of shrinking: each makes a failing model smaller or simpler while it fails in the
// same way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "differential_tester.h"
#include "test_model.h"

namespace qtx::conformance {

/// The smallest failing model so far, and the budget.
class Search {
 public:
  /// REQUIRES: `test` fails with `kind`.
  Search(DifferentialTester& tester, TestModel test, VerdictKind kind, const Budget& budget)
      : tester_(tester), best_(std::move(test)), kind_(kind), budget_(budget) {}

  const TestModel& best() const { return best_; }
  bool exhausted() const { return tester_.Spent(budget_); }
  /// Makes `candidate` the best and returns true if it fails in the same way.
  bool Try(TestModel candidate);
  /// True if the checker and the reference accept it. Does not run the backend.
  bool Accepts(const TestModel& test) { return tester_.Accepts(test); }

 private:
  DifferentialTester& tester_;
  TestModel best_;
  VerdictKind kind_;
  Budget budget_;
};

// Each step returns true if it changed anything.

/// One round of all steps.
bool ReduceOnce(Search& search);
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

/// A model of which an axis has another size.
struct Sized {
  std::int64_t size = 0;
  TestModel test;
};

/// `test` with axis `axis` of datum `datum` of each of `sizes` that the reference accepts, and with
/// it whatever must have the same: a longer axis repeats its elements from the first.
std::vector<Sized> Resize(const DifferentialTester& tester, const TestModel& test,
                          std::size_t datum, std::size_t axis, const std::set<std::int64_t>& sizes);

}  // namespace qtx::conformance
