#include "ops/extreme.h"

#include <algorithm>

#include "ops/move.h"
#include "ops/order.h"

namespace qtx::reference {
namespace {

using format::Dims;
using format::ElementType;

// Positive when `a` is more of an extreme than `b`; NaN is the most, as in numpy.argmax and argmin.
int Extremity(const Order& order, Extreme extreme, std::int64_t a, std::int64_t b) {
  const int nan = static_cast<int>(order.IsNan(a)) - static_cast<int>(order.IsNan(b));
  if (nan != 0 || order.IsNan(a)) return nan;
  return extreme == Extreme::kGreatest ? order.Compare(a, b) : order.Compare(b, a);
}

}  // namespace

Result<format::Tensor> RunArg(const Call& call, Extreme extreme) {
  const Dims& from = call.inputs[0]->dims;
  const std::size_t axis = AxisOf(call, from.size());
  QTX_ASSIGN_OR_RETURN(const Order order, Order::Make(call, 0));
  const bool last = call.Int("select_last_index") != 0;
  QTX_ASSIGN_OR_RETURN(Dims dims, call.OutputDims());
  const std::int64_t count = Product(dims, 0, dims.size());
  QTX_ASSIGN_OR_RETURN(format::Tensor y, format::MakeTensor(ElementType::kInt64, std::move(dims)));
  const std::int64_t inner = Product(from, axis + 1, from.size());
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t first = i / inner * from[axis] * inner + i % inner;
    std::int64_t best = 0;
    for (std::int64_t k = 1; k < from[axis]; ++k) {
      const int more = Extremity(order, extreme, first + k * inner, first + best * inner);
      if (more > 0 || (more == 0 && last)) best = k;
    }
    y.As<std::int64_t>()[static_cast<std::size_t>(i)] = best;
  }
  return y;
}

}  // namespace qtx::reference
