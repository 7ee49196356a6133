#include "arithmetic/average.h"
#include "ops/pool.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::AttributeType;

// The mean of each window.  Source: average_pool.S1 to average_pool.S4.
Result<format::Tensor> AveragePool(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, RealAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const Window window, PoolWindow(call));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Make(call, PoolDims(call, window)));
  using Kernel = Averager::Kernel;
  const Kernel kernel = window.IsWholeInput() ? Kernel::kGlobalPool : Kernel::kPool;
  Averager averager(call.arithmetic, x, &output, kernel);
  const bool padded = call.node.IntOr("count_include_pad", 0) != 0;
  PoolWalk walk(call, window);
  while (walk.Next()) {
    const auto inside = static_cast<std::int64_t>(walk.sources().size());
    const std::int64_t count = padded ? walk.padded_count() : inside;
    if (count == 0) {
      return Error{ErrorCode::kInvalid, "attribute 'dilations'", "a window holds no element of x"};
    }
    averager.Put(walk.element(), walk.sources(), count);
  }
  return output.Take();
}

constexpr AttributeRule kAveragePoolAttributes[] = {
    {"auto_pad", AttributeType::kString},       {"ceil_mode", AttributeType::kInt},
    {"count_include_pad", AttributeType::kInt}, {"dilations", AttributeType::kInts},
    {"kernel_shape", AttributeType::kInts},     {"pads", AttributeType::kInts},
    {"strides", AttributeType::kInts},
};

}  // namespace

const Operator kAveragePool = {.op_type = "AveragePool",
                               .min_inputs = 1,
                               .max_inputs = 1,
                               .attributes = kAveragePoolAttributes,
                               .check = CheckPoolAttributes,
                               .run = AveragePool};

}  // namespace qtx::reference::ops
