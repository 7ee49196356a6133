// Between which values of one element a failing model fails.
#pragma once

#include <string>
#include <vector>

#include "differential_tester.h"
#include "test_model.h"

namespace qtx::conformance {

/// Sentences about elements of `test`, whose verdict is `verdict`: beside which values it is right,
/// all else as it is. Of operands of integers and binary32 alone that have few; nothing is said of
/// neighbours that are real zero, infinite or whose right result is an end of its range: these hide
/// faults.
std::vector<std::string> ThresholdsOf(DifferentialTester& tester, const TestModel& test,
                                      const Verdict& verdict, const Budget& budget);

}  // namespace qtx::conformance
