// Generates the input elements of a formula's cases.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "qtx/conformance/case.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"
#include "qtx/formula/text.h"

namespace qtx::spec {

inline constexpr std::int64_t kMaxCombinations = 65'536;
inline constexpr std::int64_t kSampledCombinations = 8'192;

/// Fills every input without data, generator and file. Inputs without a shape get every combination
/// of their values, up to kMaxCombinations of them, where all values of types of at most 8 bits (16
/// for one input alone) are taken and of wider ones a sample; else kSampledCombinations drawn from
/// these. Inputs with a shape get all values in order when they have as many elements, else drawn
/// ones. Deterministic. Returns true if every combination of all stored values is included.
/// Errors: kInvalid for a symbolic shape; kTooLarge past kMaxCaseElements.
Result<bool> FillInputs(conformance::Case& c);

/// "at [3], x = 5 (real 5/2), w = -1 (real -1/4)": the stored values and reals of inputs at the
/// row-major `element` of a result of shape `dims`. `tables`: of the inputs whose type an overlay
/// adds; empty or one for each, nullptr for others.
std::string InputsAt(std::span<const format::Tensor> inputs, std::span<const std::string> names,
                     const format::Dims& dims, std::int64_t element,
                     std::span<const formula::ElementTable* const> tables = {});

}  // namespace qtx::spec
