#include "ops/linear.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::AttributeType;

Result<void> CheckQLinearAveragePoolAttributes(const format::Node& node) {
  QTX_RETURN_IF_ERROR(CheckChannelsFirst(node));
  return kAveragePool.check(node);
}

// Source: q_linear_average_pool.S1, q_linear_average_pool.S2.
Result<format::Tensor> QLinearAveragePool(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const ExtendedCall pool, UnaryCall(call));
  return pool.Run(kAveragePool.run);
}

constexpr AttributeRule kQLinearAveragePoolAttributes[] = {
    {"auto_pad", AttributeType::kString},   {"ceil_mode", AttributeType::kInt},
    {"channels_last", AttributeType::kInt}, {"count_include_pad", AttributeType::kInt},
    {"kernel_shape", AttributeType::kInts}, {"pads", AttributeType::kInts},
    {"strides", AttributeType::kInts},
};

}  // namespace

const Operator kQLinearAveragePool = {.op_type = "QLinearAveragePool",
                                      .domain = kMicrosoft,
                                      .min_inputs = 4,
                                      .max_inputs = 5,
                                      .optional_inputs = kUnaryZeroPoints,
                                      .attributes = kQLinearAveragePoolAttributes,
                                      .check = CheckQLinearAveragePoolAttributes,
                                      .run = QLinearAveragePool};

}  // namespace qtx::reference::ops
