// Which epilogue a sum of products has in its node's arithmetic, and the bias that belongs to it.
#pragma once

#include "engine/plan.h"
#include "engine/requantize.h"

namespace qtx::backend::engine {

/// The operands' indices among the node's inputs, and what multiplies them.
struct ProductRoles {
  std::size_t x = 0, w = 1, bias = 2;
  std::int64_t channel_axis = -1;  // of w
  float alpha = 1, beta = 1;
};

/// kExact too where TFLite has no kernel for these types (tflite.S11); nothing where the arithmetic
/// takes each product as a binary32 (the end of float32.S4).
Result<std::optional<Epilogue>> EpilogueOf(const NodePlan& node, const ProductRoles& roles,
                                           const format::Tensor& y);

/// A bias as it is added to the accumulator: float32.S5, tflite.S4.  REQUIRES: not kExact.
/// Errors: kUnsupported for one of 2^51 units of the accumulator or more.
Result<std::int64_t> IntegerBias(const Channel& channel, Epilogue epilogue);

/// Takes biases off the channels, in units of their accumulators: to be added to the integer sums.
/// What a kernel's sum cannot begin with (0 here) stays in Channel::bias. Exactly where the
/// epilogue is exact, else by float32.S5 or tflite.S4.  Errors: those of IntegerBias.
Result<std::vector<std::int32_t>> TakeIntegerBias(std::vector<Channel>& channels,
                                                  Epilogue epilogue);

}  // namespace qtx::backend::engine
