// Where a division of a value, channel by channel, can go into the constants before it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "initializers.h"

namespace qtx::quantize {

/// The channels of a value lie along the axis that `from_end` axes follow.
struct Channels {
  std::int64_t count = 0;
  std::int64_t from_end = 0;
};

/// A constant input of a node that is divided, element by element of its channel.
struct ConstantChange {
  std::size_t node = 0, input = 0;
  std::int64_t from_end = 0;  // of its channels; it is repeated along them where it has one or none
  bool multiplies = false;    // instead: it is a divisor
};

struct Division {
  std::vector<ConstantChange> constants;
  std::vector<std::string> values;  // that are divided by it
};

/// How `value` is divided by numbers above 0, one a channel, so that nothing else changes but what
/// reads it: by constants of products, normalizations, Add, Sub, Mul and Div, through nodes that
/// give s times as much for s times as much. Values in between have no other reader.  nullopt: it
/// cannot be.
/// Source: Lin et al., "AWQ: Activation-aware Weight Quantization for LLM Compression and
/// Acceleration", arXiv:2306.00978, section 3.2: s^-1 is fused into the previous operator.
std::optional<Division> DivisionOf(const GraphIndex& index, const std::string& value,
                                   const Channels& channels);

/// `constant` divided (or multiplied) by `factors`, one a channel, each element rounded once.
/// REQUIRES: it has factors.size(), one or no elements along their axis.
format::Tensor Changed(const format::Tensor& constant, const std::vector<float>& factors,
                       const ConstantChange& change);

}  // namespace qtx::quantize
