// Data movement between buffers: parts of the output, each a nest of strides through an input.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "engine/plan.h"

namespace qtx::backend::engine {

/// Elements of input `input` that go to the output: those at all coordinates of `dims`.
struct MovedPart {
  std::size_t input = 0;
  format::Dims dims, from, to;  // strides of memory, in elements
  std::int64_t first_from = 0, first_to = 0;
};

/// The parts, given the strides in memory along each axis of each input and of the output.
using PartsFunction = std::function<std::vector<MovedPart>(const std::vector<format::Dims>& inputs,
                                                           const format::Dims& output)>;

struct Movement {
  std::size_t inputs = 1;                        // the first ones
  std::optional<std::size_t> output_of_several;  // of Split
  format::Dims dims;                             // of the output
  bool channels_stay = true;                     // axis 1 of input 0 is axis 1 of the output
  PartsFunction parts;
  const Value* padding = nullptr;  // a constant element: what no part writes
};

/// Elements are converted to the output's type where that differs, then copied.
/// Errors: kUnsupported, before anything is planned, for elements that are not whole bytes and for
/// an output with parameters per axis.
StepResult PrepareStridedMove(const NodePlan& node, const Movement& movement);

}  // namespace qtx::backend::engine
