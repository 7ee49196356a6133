#include "ops/common.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::Dims;

// One input after the other along `axis`.  Source: concat.S1, concat.S2.
Result<format::Tensor> Concat(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Dims dims, call.OutputDims());
  const std::size_t axis = AxisOf(call, dims.size());
  QTX_ASSIGN_OR_RETURN(Mover mover, Mover::Make(call, *call.inputs[0], dims));
  const std::int64_t inner = format::RowMajorStrides(dims)[axis];
  std::int64_t start = 0;  // of the input, along the axis
  for (std::size_t n = 0; n < call.inputs.size(); ++n) {
    const format::Tensor& input = *call.inputs[n];
    const std::int64_t run = input.dims[axis] * inner;  // contiguous in input and output
    const std::int64_t count = format::ElementCount(input);
    std::vector<std::int64_t> elements;
    std::vector<std::int64_t> sources;
    for (std::int64_t i = 0; i < count; ++i) {
      sources.push_back(i);
      elements.push_back(i / run * dims[axis] * inner + start * inner + i % run);
    }
    auto copied = mover.Copy(input, elements, sources);
    if (!copied.has_value()) return At(InputName(call, n), std::move(copied).error());
    start += input.dims[axis];
  }
  return mover.Take();
}

}  // namespace

const Operator kConcat = {.op_type = "Concat", .run = Concat};

}  // namespace qtx::reference::ops
