// Bisection: finds the part of a network that fails.
#pragma once

#include <chrono>

#include "differential_tester.h"
#include "test_model.h"

namespace qtx::conformance {

inline constexpr std::chrono::seconds kPatience{3};

struct Part {
  TestModel test;
  Verdict verdict;
  std::size_t first = 0;  // nodes [first, last) of the model
  std::size_t last = 0;
};

/// The first node that fails on the reference's values, preferably with kind `whole`; else the
/// shortest run of nodes that ends where the model first goes wrong. Where the model gives no
/// answer in time, nodes have a limit that follows from how long the others took, and what goes
/// beyond it is asked once more with kPatience.
/// Errors: those of Extract; kInvalid when neither fails alone, as far as the budget goes.
Result<Part> FindFailingPart(DifferentialTester& tester, const format::Model& model,
                             const std::vector<format::Tensor>& inputs, VerdictKind whole,
                             const Budget& budget);

}  // namespace qtx::conformance
