#include "ops/order.h"
#include "ops/registry.h"
#include "ops/softmax_rows.h"

namespace qtx::reference::ops {
namespace {

// Whether `a` is greater than `b`; NaN is the greatest.
bool IsGreater(const Order& order, std::int64_t a, std::int64_t b) {
  if (order.IsNan(b)) return false;
  return order.IsNan(a) || order.Compare(a, b) > 0;
}

// Source: hardmax.S1 to hardmax.S3.
Result<format::Tensor> Hardmax(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Order order, Order::Make(call, 0));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Of(call));
  const bool in_binary32 = DomainFor(call.arithmetic, output) == Domain::kFloat32;
  ForEachSoftmaxRow(call, [&](std::span<const std::int64_t> row) {
    std::int64_t first = row[0];
    for (const std::int64_t i : row) {
      if (IsGreater(order, i, first)) first = i;
    }
    for (const std::int64_t i : row) {
      if (in_binary32) {
        output.PutFloat(i, i == first ? 1.0F : 0.0F);
      } else {
        output.PutReal(i, {true, 0, i == first ? 1 : 0});
      }
    }
  });
  return output.Take();
}

}  // namespace

const Operator kHardmax = {.op_type = "Hardmax", .run = Hardmax};

}  // namespace qtx::reference::ops
