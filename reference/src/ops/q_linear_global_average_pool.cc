#include <algorithm>

#include "ops/linear.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

constexpr std::int64_t kMaxPixels = std::int64_t{1} << 23;  // sums of 8 bits then fit an INT32

// Source: q_linear_global_average_pool.S2.
Result<format::Tensor> AverageScaled(const Call& call, std::int64_t pixels) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  format::Dims dims = x.tensor().dims;
  std::fill(dims.begin() + 2, dims.end(), 1);
  std::vector<std::int32_t> sums(static_cast<std::size_t>(dims[0] * dims[1]), 0);
  const std::int64_t count = format::ElementCount(x.tensor());
  for (std::int64_t i = 0; i < count; ++i) {
    sums[static_cast<std::size_t>(i / pixels)] += static_cast<std::int32_t>(x.integer(i));
  }
  const float divisor = call.outputs[0].quantization->scale[0] * static_cast<float>(pixels);
  return QuantizeScaled(call, dims, sums, x.scale(0) / divisor);
}

Result<format::Tensor> Average(const Call& call) {
  const format::Tensor& x = *call.inputs[0];
  const std::int64_t count = format::ElementCount(x);
  const bool pools = x.dims.size() >= 3 && count > 0;
  const std::int64_t pixels = pools ? count / (x.dims[0] * x.dims[1]) : 0;
  const bool scales = call.arithmetic.domain == Domain::kFloat32 && pools && pixels < kMaxPixels;
  return scales ? AverageScaled(call, pixels) : kGlobalAveragePool.run(call);
}

// Source: q_linear_global_average_pool.S1, q_linear_global_average_pool.S2.
Result<format::Tensor> QLinearGlobalAveragePool(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const ExtendedCall typed, UnaryCall(call));
  return typed.Run(Average);
}

constexpr AttributeRule kQLinearGlobalAveragePoolAttributes[] = {
    {"channels_last", format::AttributeType::kInt}};

}  // namespace

const Operator kQLinearGlobalAveragePool = {.op_type = "QLinearGlobalAveragePool",
                                            .domain = kMicrosoft,
                                            .min_inputs = 5,
                                            .max_inputs = 5,
                                            .attributes = kQLinearGlobalAveragePoolAttributes,
                                            .check = CheckChannelsFirst,
                                            .run = QLinearGlobalAveragePool};

}  // namespace qtx::reference::ops
