#include "ops/move.h"
#include "ops/order.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Coordinates of the elements that are not 0.  Source: non_zero.S1, non_zero.S2.
Result<format::Tensor> NonZero(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Order x, Order::Make(call, 0, call.arithmetic.domain));
  const format::Dims& dims = call.inputs[0]->dims;
  std::vector<std::int64_t> found;
  for (std::int64_t i = 0; i < format::ElementCount(*call.inputs[0]); ++i) {
    if (!x.IsZero(i)) found.push_back(i);
  }
  const std::int64_t count = std::ssize(found);
  QTX_ASSIGN_OR_RETURN(format::Tensor y,
                       format::MakeTensor(format::ElementType::kInt64, {std::ssize(dims), count}));
  const std::span<std::int64_t> coordinates = y.As<std::int64_t>();
  std::size_t next = 0;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    const std::int64_t stride = Product(dims, axis + 1, dims.size());
    for (const std::int64_t i : found) coordinates[next++] = i / stride % dims[axis];
  }
  return y;
}

}  // namespace

const Operator kNonZero = {.op_type = "NonZero", .run = NonZero};

}  // namespace qtx::reference::ops
