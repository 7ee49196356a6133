// The place of a failure: what its smallest failing form hangs on, found by changing one thing at a
// time and asking the backend again.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "differential_tester.h"
#include "qtx/conformance/diagnosis.h"
#include "qtx/conformance/runner.h"
#include "test_model.h"

namespace qtx::conformance {

/// A changed question, and whether the backend's answer to it was wrong.
struct Trial {
  TestModel test;
  bool fails = false;
};

struct Located {
  WrongPlace place;
  std::vector<Trial> trials;  // the smallest form first, then with other values, then varied
  std::size_t draws = 0;      // of trials: the smallest form with one or other values
  // The most between a wrong element and the right one, in LSB or ulp, with whatever values.
  std::int64_t farthest = 0;
};

/// A failing model and its smallest form, which fails with `verdict`.
struct Reduction {
  const TestModel& smallest;
  const Verdict& verdict;
  const TestModel& whole;
};

/// What the smallest form hangs on, and which elements of `whole` are wrong where that form no
/// longer tells. A variation counts as right only if it stayed so for as many draws of its values
/// as make an accident unlikely (below 3 %, by the share of draws for which `smallest` itself
/// fails). Deterministic if the backend is and the budget lasts.
Located Locate(const BackendSource& source, DifferentialTester& tester, const Reduction& reduction,
               const Budget& budget);

/// What the failure itself shows, without any further question: its form and the positions of the
/// wrong elements.
WrongPlace PlaceOf(const TestModel& test, const Verdict& verdict, const Tolerance& tolerance);

/// Where the answer to one question depends on the run: "right on the first run of a prepared
/// model, wrong on the second"; empty where it does not, or not in two attempts alike.
/// Errors: none; a backend that cannot be made has nothing to say.
std::string LocateRun(const BackendSource& source, const format::Model& model,
                      const std::vector<format::Tensor>& inputs, const std::string& arithmetic);

}  // namespace qtx::conformance
