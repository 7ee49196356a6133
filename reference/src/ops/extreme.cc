#include "ops/extreme.h"

#include <algorithm>

#include "ops/move.h"
#include "ops/order.h"
#include "parameters.h"

namespace qtx::reference {
namespace {

using format::AttributeType;
using format::Dims;
using format::ElementType;

// Positive when `a` is more of an extreme than `b`; NaN is the most, as in numpy.argmax and argmin.
int Extremity(const Order& order, Extreme extreme, std::int64_t a, std::int64_t b) {
  const int nan = static_cast<int>(order.IsNan(a)) - static_cast<int>(order.IsNan(b));
  if (nan != 0 || order.IsNan(a)) return nan;
  return extreme == Extreme::kGreatest ? order.Compare(a, b) : order.Compare(b, a);
}

constexpr AttributeRule kArgAttributes[] = {{"axis", AttributeType::kInt},
                                            {"keepdims", AttributeType::kInt},
                                            {"select_last_index", AttributeType::kInt}};

}  // namespace

std::span<const AttributeRule> ArgAttributes() { return kArgAttributes; }

ElementType InferIndices(const format::Node&, std::span<const ElementType>, std::size_t) {
  return ElementType::kInt64;
}

Result<format::Tensor> RunArg(const Call& call, Extreme extreme) {
  const Dims& from = call.inputs[0]->dims;
  QTX_RETURN_IF_ERROR(CheckInt64Output(call, 0));
  QTX_ASSIGN_OR_RETURN(const std::size_t axis, AxisOf(call, 0, from.size()));
  QTX_ASSIGN_OR_RETURN(const Order order, Order::Make(call, 0));
  const bool last = call.node.IntOr("select_last_index", 0) != 0;
  Dims dims = from;
  dims[axis] = 1;
  QTX_RETURN_IF_ERROR(CheckComputable(dims));
  const std::int64_t count = Product(dims, 0, dims.size());
  if (from[axis] == 0 && count > 0) {
    return Error{ErrorCode::kInvalid, InputName(call, 0),
                 "axis " + std::to_string(axis) + " has no element"};
  }
  if (call.node.IntOr("keepdims", 1) == 0) {
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  }
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
