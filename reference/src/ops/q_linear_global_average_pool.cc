#include "ops/linear.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Source: q_linear_global_average_pool.S1, q_linear_global_average_pool.S2.
Result<format::Tensor> QLinearGlobalAveragePool(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const ExtendedCall typed, UnaryCall(call));
  return typed.Run(kGlobalAveragePool.run);
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
