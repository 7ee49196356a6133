// Covering arrays: few combinations of values that hold each pair, or each triple, of them.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "qtx/format/result.h"

namespace qtx::conformance {

/// The index of a value for each key.
using Choice = std::vector<std::size_t>;

/// Keys, and for each value of such a key whether it is meant. A choice is excluded if it has a
/// meant value for all of these keys.
using Exclusion = std::vector<std::pair<std::size_t, std::vector<bool>>>;

bool IsExcluded(const Choice& choice, const std::vector<Exclusion>& exclusions);

/// Choices such that each `strength` values of different keys are together in at least one, unless
/// the exclusions permit no choice with them. None of the choices is excluded. Key i has sizes[i]
/// values. A choice is the best of a few that a greedy search finds (Cohen, Dalal, Fredman and
/// Patton, "The AETG System", 1997). The same arguments give the same choices on every machine.
/// REQUIRES: 1 <= strength <= the number of keys; sizes of at least 1.
/// Errors: kTooLarge past 2^18 combinations of `strength` values or 2^22 checks of an exclusion.
Result<std::vector<Choice>> CoveringArray(const std::vector<std::size_t>& sizes,
                                          std::size_t strength,
                                          const std::vector<Exclusion>& exclusions);

}  // namespace qtx::conformance
