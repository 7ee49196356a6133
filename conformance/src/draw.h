// The inputs of a case drawn again: other values, and other shapes where the model leaves them
// open.
#pragma once

#include <cstdint>
#include <vector>

#include "qtx/format/model.h"
#include "qtx/format/tensor.h"

namespace qtx::conformance {

/// Draws that no generator makes: every value real zero; every stored value zero; every one the
/// lowest of its range, or the highest; the last of each input another, all else as it is; and
/// those that are told from the case's own inputs only by an answer that hangs on every bit of
/// every element, on their order, and on which input they are of.
inline constexpr std::int64_t kZeroDraw = 4;
inline constexpr std::int64_t kStoredZeroDraw = 5;
inline constexpr std::int64_t kLowestDraw = 6;
inline constexpr std::int64_t kHighestDraw = 7;
inline constexpr std::int64_t kLastElementDraw = 8;
inline constexpr std::int64_t kOtherInputsDraw = 9;  // of all but the first
inline constexpr std::int64_t kSameBytesDraw = 10;   // those of the first input that is alike
inline constexpr std::int64_t kExchangedElementsDraw = 11;
inline constexpr std::int64_t kExchangedInputsDraw = 12;
inline constexpr std::int64_t kLowestBitDraw = 13;
inline constexpr std::int64_t kHighestBitDraw = 14;
inline constexpr std::int64_t kMiddleElementDraw = 15;

/// Other inputs for `model` in the order in which they are to be tried, the most different first:
/// what an integer means (an index, an axis, a shape) only an operator knows, so some candidates
/// may break its rules. The same for the same arguments.
/// REQUIRES: draw >= 1; `inputs` are those of `model`, whose types are declared.
/// Source: conformance_cases.md, "Sessions".
std::vector<std::vector<format::Tensor>> DrawAgain(const format::Model& model,
                                                   const std::vector<format::Tensor>& inputs,
                                                   std::int64_t draw);

}  // namespace qtx::conformance
