// Other values for a failing model: fresh questions that keep its shapes, types and parameters.
#pragma once

#include <cstdint>

#include "test_model.h"

namespace qtx::conformance {

/// `test` with other values in some of its inputs and constants, the same for the same `draw`.
/// Half of the draws permute the values that are there, which keeps what makes it fail (ties,
/// extremes, NaN); the others come from the generators of cases, `ties` aimed at the first output's
/// scale. Shapes, indices and flags stay. A draw may equal `test`, and the reference may refuse it.
TestModel Redraw(const TestModel& test, std::uint64_t draw);

/// True if values of the datum may change: no shapes, indices or flags.
bool HasValues(const Datum& datum);

}  // namespace qtx::conformance
