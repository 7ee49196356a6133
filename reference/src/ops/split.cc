#include "ops/move.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::Dims;

// Output `i` of shape `dims`: positions of the axis from `start` on.
Result<format::Tensor> Part(const Call& call, std::size_t i, const Dims& dims, std::int64_t start) {
  const Dims strides = format::RowMajorStrides(call.inputs[0]->dims);
  QTX_ASSIGN_OR_RETURN(Mover mover, Mover::Make(call, *call.inputs[0], dims, i));
  const std::vector<std::int64_t> sources =
      StridedSources(dims, strides, start * strides[AxisOf(call, dims.size())]);
  QTX_RETURN_IF_ERROR(mover.Copy(*call.inputs[0], {}, sources));
  return mover.Take();
}

// Source: split.S1 to split.S4.
Result<std::vector<format::Tensor>> Split(const Call& call) {
  // Of all outputs: those that are left out have a size, too.
  QTX_ASSIGN_OR_RETURN(const auto shapes, call.facts->schema.shape(*call.facts));
  std::vector<format::Tensor> outputs(shapes.size());
  std::int64_t start = 0;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (call.Wants(i)) {
      QTX_ASSIGN_OR_RETURN(outputs[i], Part(call, i, *shapes[i], start));
    }
    start += (*shapes[i])[AxisOf(call, shapes[i]->size())];
  }
  return outputs;
}

}  // namespace

const Operator kSplit = {.op_type = "Split", .run_all = Split};

}  // namespace qtx::reference::ops
