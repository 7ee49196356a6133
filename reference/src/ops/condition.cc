#include "ops/condition.h"

#include "ops/order.h"

namespace qtx::reference {
namespace {

using format::Dims;
using format::ElementType;

// Output 0, of BOOL: holds(element) for each element of the shape that the catalogue derives.
Result<format::Tensor> Conditions(Dims dims, const std::function<bool(std::size_t)>& holds) {
  QTX_ASSIGN_OR_RETURN(format::Tensor y, format::MakeTensor(ElementType::kBool, std::move(dims)));
  const std::span<std::uint8_t> elements = y.As<std::uint8_t>();
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = holds(i) ? 1 : 0;
  return y;
}

// For each element of `dims`, the condition that is broadcast there.
std::vector<bool> BroadcastConditions(const format::Tensor& tensor, const Dims& dims) {
  const std::vector<std::int64_t> stored = format::UnpackIntegers(tensor);
  std::vector<bool> conditions;
  for (const std::int64_t i : BroadcastIndices(tensor.dims, dims)) {
    conditions.push_back(stored[static_cast<std::size_t>(i)] != 0);
  }
  return conditions;
}

}  // namespace

Result<format::Tensor> RunComparison(const Call& call, Relation relation) {
  QTX_ASSIGN_OR_RETURN(const Order a, Order::Make(call, 0, call.arithmetic.domain));
  QTX_ASSIGN_OR_RETURN(const Order b, Order::Make(call, 1, call.arithmetic.domain));
  QTX_ASSIGN_OR_RETURN(Dims dims, call.OutputDims());
  const std::vector<std::int64_t> ia = BroadcastIndices(call.inputs[0]->dims, dims);
  const std::vector<std::int64_t> ib = BroadcastIndices(call.inputs[1]->dims, dims);
  return Conditions(std::move(dims), [&](std::size_t i) {
    if (a.IsNan(ia[i]) || b.IsNan(ib[i])) return false;
    const int order = a.Compare(ia[i], b, ib[i]);
    return order < 0 ? relation.less : order > 0 ? relation.greater : relation.equal;
  });
}

Result<format::Tensor> RunCondition(const Call& call, const std::function<bool(bool, bool)>& f) {
  QTX_ASSIGN_OR_RETURN(Dims dims, call.OutputDims());
  const std::vector<bool> a = BroadcastConditions(*call.inputs[0], dims);
  std::vector<bool> b(a.size(), false);
  if (call.inputs.size() > 1) b = BroadcastConditions(*call.inputs[1], dims);
  return Conditions(std::move(dims), [&](std::size_t i) { return f(a[i], b[i]); });
}

Result<format::Tensor> RunQuestion(const Call& call, const std::function<bool(double)>& f) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(Dims dims, call.OutputDims());
  const bool in_binary32 =
      call.arithmetic.domain == Domain::kFloat32 && IsReal(x.tensor().elem_type);
  return Conditions(std::move(dims), [&](std::size_t i) {
    const auto element = static_cast<std::int64_t>(i);
    if (in_binary32) return f(static_cast<double>(x.binary32(element)));
    const Real real = ToReal(x.exact(element));
    return f(real.finite ? 0 : real.special);
  });
}

}  // namespace qtx::reference
