// What the rows share of operators whose parameters are inputs.
#pragma once

#include <optional>
#include <vector>

#include "rules.h"

namespace qtx::format::catalogue {

using QuantizedShapes = std::vector<std::optional<Dims>>;

inline constexpr std::string_view kQuantizedMicrosoft = "com.microsoft";
inline constexpr TypeSet kQuantizedScale = {ElementType::kFloat};

/// Scales, where they are known, are finite, greater than 0 and binary32, as those of
/// q_linear_mat_mul.C2 and its kin.
ClauseRule QuantizedScaleIsPositive(std::size_t i);
/// Zero point `i` has the shape of `scale`, and is 0 in a small float: quantize_linear.C3.
ClauseRule QuantizedZeroPointFits(std::size_t i, std::size_t scale);
/// Input `i` has the type of input `like`.
ClauseRule QuantizedTypeIsThatOf(std::size_t i, std::size_t like);
/// Output 0 has the type of input `like`.
ClauseRule QuantizedOutputIsThatOf(std::size_t like);

/// The type of an input; what is quantized is refused by a clause of the section.
template <std::size_t kInput>
ElementType QuantizedTypeOfInput(const Application& a, std::size_t) {
  const ElementType type = a.Input(kInput).type;
  return IsQuantized(type) ? ElementType::kUndefined : type;
}

}  // namespace qtx::format::catalogue
