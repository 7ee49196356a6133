// Roots of exact numbers, rounded once.  Source: exact.S6.
#pragma once

#include <cstdint>
#include <optional>

#include "arithmetic/output.h"

namespace qtx::reference {

/// The root of that degree of value, where it is rational.  REQUIRES: value >= 0, degree > 0.
std::optional<Rational> RationalRoot(const Rational& value, unsigned degree);

/// Puts the root of `value`; NaN and infinity pass.  REQUIRES: value >= 0, degree > 0.
void PutRoot(std::int64_t element, const Real& value, unsigned degree, Output* output);

/// The binary32 nearest to the root.  REQUIRES: as PutRoot, and value is finite.
float NearestRoot(const Rational& value, unsigned degree);

}  // namespace qtx::reference
