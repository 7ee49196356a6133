// The epilogue of a sum of products in its node's arithmetic, and its bias.
#pragma once

#include "engine/plan.h"
#include "engine/requantize.h"

namespace qtx::backend::engine {

/// Indices of the operands among the node's inputs, and their factors.
struct ProductRoles {
  std::size_t x = 0, w = 1, bias = 2;
  std::int64_t channel_axis = -1;  // of w
  float alpha = 1, beta = 1;
};

/// The epilogue; kExact also if TFLite has no kernel for these types (tflite.S11). nullopt if the
/// arithmetic rounds each product to binary32 (last sentence of float32.S4).
Result<std::optional<Epilogue>> EpilogueOf(const NodePlan& node, const ProductRoles& roles,
                                           const format::Tensor& y);

/// The integer to add to the accumulator for a bias: float32.S5, tflite.S4.  REQUIRES: not kExact.
/// Errors: kUnsupported for 2^51 and more.
Result<std::int64_t> IntegerBias(const Channel& channel, Epilogue epilogue);

/// Moves biases from the channels to the result, in units of their accumulators, as initial values
/// of the integer sums. A bias that is no initial value of a kernel's sum stays in Channel::bias,
/// and the result is 0. Exact if the epilogue is exact, else by float32.S5 or tflite.S4.  Errors:
/// those of IntegerBias.
Result<std::vector<std::int32_t>> TakeIntegerBias(std::vector<Channel>& channels,
                                                  Epilogue epilogue);

}  // namespace qtx::backend::engine
