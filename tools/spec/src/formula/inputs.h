// The elements on which a formula is evaluated where its case writes none.
#pragma once

#include <cstdint>

#include "qtx/conformance/case.h"
#include "qtx/format/result.h"

namespace qtx::spec {

inline constexpr std::int64_t kMaxCombinations = 65'536;
inline constexpr std::int64_t kSampledCombinations = 8'192;

/// Gives every input that has neither data, generator nor file its data. Inputs without a shape
/// get every combination of their values, up to kMaxCombinations of them, where all values of types
/// of at most 8 bits (16 for one input alone) are taken and of wider ones a sample; else
/// kSampledCombinations drawn from these. Inputs with a shape get all values in order when they
/// have as many elements, else drawn ones. What is drawn is always the same.
/// Returns whether every combination of all stored values is there.
/// Errors: kInvalid for a shape that is no numbers; kTooLarge past kMaxCaseElements.
Result<bool> FillInputs(conformance::Case& c);

}  // namespace qtx::spec
