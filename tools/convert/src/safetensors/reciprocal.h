// Division by a number as a product, for scales that are quotients.
#pragma once

#include <optional>
#include <vector>

namespace qtx::convert::safetensors {

/// Factors whose exact product with each finite FLOAT8E4M3FN above 0, rounded once to binary32, is
/// that value divided by `divisor` in binary32: one if 1 / divisor is a binary32, else two.
/// nullopt: none were found, or a quotient overflows, or is no normal number.
/// REQUIRES: divisor is finite and above 0.
std::optional<std::vector<float>> FactorsOfQuotient(float divisor);

}  // namespace qtx::convert::safetensors
