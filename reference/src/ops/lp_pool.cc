#include "arithmetic/power_sum.h"
#include "ops/pool.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::AttributeType;

constexpr std::int64_t kMaxP = 64;  // bounds the size of exact powers

Result<void> CheckLpPoolAttributes(const format::Node& node) {
  const std::int64_t p = node.IntOr("p", 2);
  if (p < 1 || p > kMaxP) {
    return Error{ErrorCode::kInvalid, "attribute 'p'",
                 "found " + std::to_string(p) + ", expected 1 to " + std::to_string(kMaxP)};
  }
  return CheckPoolAttributes(node);
}

// The p-norm of each window.  Source: lp_pool.S1 to lp_pool.S4.
Result<format::Tensor> LpPool(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, RealAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const Window window, PoolWindow(call));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Make(call, PoolDims(call, window)));
  const auto p = static_cast<unsigned>(call.node.IntOr("p", 2));
  PowerSum norm(call.arithmetic, {.p = p, .root = true}, x, &output);
  PoolWalk walk(call, window);
  while (walk.Next()) norm.Put(walk.element(), walk.sources());
  return output.Take();
}

constexpr AttributeRule kLpPoolAttributes[] = {
    {"auto_pad", AttributeType::kString}, {"ceil_mode", AttributeType::kInt},
    {"dilations", AttributeType::kInts},  {"kernel_shape", AttributeType::kInts},
    {"p", AttributeType::kInt},           {"pads", AttributeType::kInts},
    {"strides", AttributeType::kInts},
};

}  // namespace

const Operator kLpPool = {.op_type = "LpPool",
                          .min_inputs = 1,
                          .max_inputs = 1,
                          .attributes = kLpPoolAttributes,
                          .check = CheckLpPoolAttributes,
                          .run = LpPool};

}  // namespace qtx::reference::ops
