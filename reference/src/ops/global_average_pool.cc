#include <numeric>

#include "arithmetic/average.h"
#include "ops/common.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// The mean over all spatial positions.  Source: global_average_pool.S1 and .S2.
Result<format::Tensor> GlobalAveragePool(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, RealAt(call, 0));
  format::Dims dims = x.tensor().dims;
  const std::int64_t total = format::ElementCount(x.tensor());
  if (dims.size() < 3 || total == 0) {
    return Error{ErrorCode::kInvalid, InputName(call, 0),
                 "found shape " + format::ToString(dims) + ", expected rank 3 or more, not empty"};
  }
  const std::int64_t planes = dims[0] * dims[1];
  const std::int64_t pixels = total / planes;
  std::fill(dims.begin() + 2, dims.end(), 1);
  QTX_ASSIGN_OR_RETURN(Output output, Output::Make(call, dims));
  Averager averager(call.arithmetic, x, &output);
  std::vector<std::int64_t> sources(static_cast<std::size_t>(pixels));
  for (std::int64_t plane = 0; plane < planes; ++plane) {
    std::iota(sources.begin(), sources.end(), plane * pixels);
    averager.Put(plane, sources, pixels);
  }
  return output.Take();
}

}  // namespace

const Operator kGlobalAveragePool = {.op_type = "GlobalAveragePool",
                                     .min_inputs = 1,
                                     .max_inputs = 1,
                                     .attributes = {},
                                     .run = GlobalAveragePool};

}  // namespace qtx::reference::ops
