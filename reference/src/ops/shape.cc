#include <algorithm>

#include "ops/common.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// The dimensions of x from `start` to before `end`, as INT64.  Source: op_shape.S1 (ONNX Shape-15).
Result<format::Tensor> Shape(const Call& call) {
  const format::Dims& dims = call.inputs[0]->dims;
  QTX_ASSIGN_OR_RETURN(format::Dims y_dims, call.OutputDims());
  const auto rank = static_cast<std::int64_t>(dims.size());
  const auto clamp = [rank](std::int64_t axis) {
    return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const std::int64_t start = clamp(call.Int("start"));
  QTX_ASSIGN_OR_RETURN(format::Tensor shape,
                       format::MakeTensor(format::ElementType::kInt64, std::move(y_dims)));
  std::copy_n(dims.begin() + start, format::ElementCount(shape), shape.As<std::int64_t>().begin());
  return shape;
}

}  // namespace

const Operator kShape = {.op_type = "Shape", .run = Shape};

}  // namespace qtx::reference::ops
