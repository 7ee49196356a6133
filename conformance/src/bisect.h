// Bisection: finds the part of a network that fails.
#pragma once

#include "differential_tester.h"
#include "test_model.h"

namespace qtx::conformance {

struct Part {
  TestModel test;
  Verdict verdict;
  std::size_t first = 0;  // nodes [first, last) of the model
  std::size_t last = 0;
};

/// The first node that fails on the reference's values, preferably with kind `whole`; else the
/// shortest run of nodes that ends where the model first goes wrong.
/// Errors: those of Extract; kInvalid when neither fails alone, as far as the budget goes.
Result<Part> FindFailingPart(DifferentialTester& tester, const format::Model& model,
                             const std::vector<format::Tensor>& inputs, VerdictKind whole,
                             const Budget& budget);

}  // namespace qtx::conformance
