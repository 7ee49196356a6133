// The equation of an Einsum: which axes of its inputs and of its result run together.
// Source: einsum.S1 to einsum.S4.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/result.h"

namespace qtx::format {

/// The terms of an equation: their letters in order, '.' for an ellipsis.
struct EinsumEquation {
  std::vector<std::string> inputs;
  std::optional<std::string> output;  // nullopt: not given
};
/// Errors: kInvalid, without place, of a text that is no equation (einsum.C2).
Result<EinsumEquation> ReadEinsumEquation(std::string_view equation);

/// The term of the result, given or implied.  Source: einsum.S2.
std::string EinsumOutput(const EinsumEquation& equation);

/// The name of an axis: a letter's code, or kEinsumEllipsis + j for axis j of the ellipses.
using EinsumLabels = std::vector<std::int32_t>;
inline constexpr std::int32_t kEinsumEllipsis = 128;
/// Those of a term whose ellipsis stands for `ellipsis_axes` axes.
EinsumLabels EinsumLabelsOf(std::string_view term, std::int64_t ellipsis_axes);

}  // namespace qtx::format
