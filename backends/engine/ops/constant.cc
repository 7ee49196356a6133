// Constant and Shape: known as soon as the graph is planned.
#include <algorithm>

#include "engine/plan.h"

namespace qtx::backend::engine {
namespace {

using format::Attribute;
using format::ElementType;
using format::Tensor;

template <typename T>
Result<Tensor> VectorOf(ElementType type, std::span<const T> values, bool scalar) {
  format::Dims dims;
  if (!scalar) dims.push_back(static_cast<std::int64_t>(values.size()));
  QTX_ASSIGN_OR_RETURN(Tensor tensor, format::MakeTensor(type, std::move(dims)));
  std::ranges::copy(values, tensor.As<T>().begin());
  return tensor;
}

Result<Tensor> ConstantOf(const NodePlan& node) {
  const Attribute& a = node.node().attributes.front();
  if (a.name == "value" && a.t.has_value()) {
    auto tensor = format::Decode(*a.t, node.folder());
    if (!tensor.has_value()) return node.Because(At("value", tensor.error()));
    return tensor;
  }
  if (a.name == "value_float") return VectorOf(ElementType::kFloat, std::span(&a.f, 1), true);
  if (a.name == "value_floats") return VectorOf(ElementType::kFloat, std::span(a.floats), false);
  if (a.name == "value_int") return VectorOf(ElementType::kInt64, std::span(&a.i, 1), true);
  if (a.name == "value_ints") return VectorOf(ElementType::kInt64, std::span(a.ints), false);
  return node.Unsupported("attribute '" + a.name + "'");
}

// Dimensions start..end of the input.  Source: ONNX Shape-15; out of range bounds are clamped.
Result<Tensor> ShapeOf(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  const format::Dims& dims = x->tensor.dims;
  const auto rank = static_cast<std::int64_t>(dims.size());
  const auto bound = [rank](std::int64_t value) {
    value = std::clamp(value, -rank, rank);
    return value < 0 ? value + rank : value;
  };
  const std::int64_t start = bound(node.Int("start"));
  const std::int64_t end =
      std::max(start, node.HasAttribute("end") ? bound(node.Int("end")) : rank);
  return VectorOf(ElementType::kInt64,
                  std::span(dims).subspan(static_cast<std::size_t>(start),
                                          static_cast<std::size_t>(end - start)),
                  false);
}

}  // namespace

StepResult PrepareConstant(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(Tensor tensor,
                       node.node().op_type == "Shape" ? ShapeOf(node) : ConstantOf(node));
  QTX_RETURN_IF_ERROR(node.OutputConstant(std::move(tensor)));
  return std::unique_ptr<Step>();
}

}  // namespace qtx::backend::engine
