#include <algorithm>

#include "ops/common.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::AttributeType;

// The dimensions of x from `start` to before `end`, as INT64.  Source: op_shape.S1 (ONNX Shape-15).
Result<format::Tensor> Shape(const Call& call) {
  const format::Dims& dims = call.inputs[0]->dims;
  const auto rank = static_cast<std::int64_t>(dims.size());
  const auto clamp = [rank](std::int64_t axis) {
    return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const std::int64_t start = clamp(call.node.IntOr("start", 0));
  const std::int64_t end = std::max(start, clamp(call.node.IntOr("end", rank)));
  if (call.outputs[0].elem_type != format::ElementType::kInt64) {
    return Error{ErrorCode::kInvalid, "output[0]", "expected type INT64"};
  }
  QTX_ASSIGN_OR_RETURN(format::Tensor shape,
                       format::MakeTensor(format::ElementType::kInt64, {end - start}));
  std::copy(dims.begin() + start, dims.begin() + end, shape.As<std::int64_t>().begin());
  return shape;
}

constexpr AttributeRule kShapeAttributes[] = {{"end", AttributeType::kInt},
                                              {"start", AttributeType::kInt}};

format::ElementType InferShapeType(const format::Node&, std::span<const format::ElementType>,
                                   std::size_t) {
  return format::ElementType::kInt64;
}

}  // namespace

const Operator kShape = {.op_type = "Shape",
                         .min_inputs = 1,
                         .max_inputs = 1,
                         .attributes = kShapeAttributes,
                         .infer = InferShapeType,
                         .run = Shape};

}  // namespace qtx::reference::ops
