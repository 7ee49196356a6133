#include "ops/order.h"

#include <limits>

namespace qtx::reference {

using format::ElementType;

Result<Order> Order::Make(const Call& call, std::size_t i, Domain domain) {
  const format::Tensor& tensor = *call.inputs[i];
  Order order;
  if (tensor.elem_type == ElementType::kUint64) {
    order.unsigned_ = format::UnpackIntegers(tensor);
    for (std::int64_t& value : order.unsigned_) value ^= std::numeric_limits<std::int64_t>::min();
    return order;
  }
  auto operand = Operand::Make(tensor);
  if (!operand.has_value()) return At(InputName(call, i), std::move(operand).error());
  order.operand_ = *std::move(operand);
  order.in_binary32_ = domain == Domain::kFloat32 && IsReal(tensor.elem_type);
  return order;
}

Dyadic Order::Key(std::int64_t element) const {
  if (in_binary32_) return ToDyadic(static_cast<double>(operand_->binary32(element)));
  if (operand_) return operand_->exact(element);
  return {unsigned_[static_cast<std::size_t>(element)], 0, Dyadic::Kind::kFinite};
}

bool Order::IsNan(std::int64_t element) const { return Key(element).kind == Dyadic::Kind::kNan; }

bool Order::IsZero(std::int64_t element) const {
  if (!operand_) return unsigned_[static_cast<std::size_t>(element)] == INT64_MIN;
  const Dyadic key = Key(element);
  return key.kind == Dyadic::Kind::kFinite && key.mantissa == 0;
}

int Order::CompareKeys(const Dyadic& a, const Dyadic& b) { return reference::Compare(a, b); }

}  // namespace qtx::reference
