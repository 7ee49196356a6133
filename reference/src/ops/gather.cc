#include "ops/move.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::Dims;

// Data's axis gives way to the axes of indices.  Source: gather.S1, gather.S2.
Result<format::Tensor> Gather(const Call& call) {
  const Dims& from = call.inputs[0]->dims;
  const std::size_t axis = AxisOf(call, from.size());
  std::vector<std::int64_t> indices = IntegersAt(call, 1);
  for (std::int64_t& index : indices) {
    if (index < 0) index += from[axis];
  }
  QTX_ASSIGN_OR_RETURN(Dims dims, call.OutputDims());
  const std::int64_t outer = Product(from, 0, axis);
  const std::int64_t inner = Product(from, axis + 1, from.size());
  std::vector<std::int64_t> sources;
  if (Product(dims, 0, dims.size()) == 0) return Selected(call, std::move(dims), sources);
  for (std::int64_t o = 0; o < outer; ++o) {
    for (const std::int64_t index : indices) {
      const std::int64_t start = (o * from[axis] + index) * inner;
      for (std::int64_t i = 0; i < inner; ++i) sources.push_back(start + i);
    }
  }
  return Selected(call, std::move(dims), sources);
}

}  // namespace

const Operator kGather = {.op_type = "Gather", .run = Gather};

}  // namespace qtx::reference::ops
