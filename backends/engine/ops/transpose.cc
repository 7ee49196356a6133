// Transpose and Pad.
#include <algorithm>
#include <utility>

#include "engine/ops/indexing.h"
#include "engine/ops/movement.h"

namespace qtx::backend::engine {
namespace {

using format::Dims;
using format::Tensor;

// Real zero, or the node's constant_value, as one element of the type of `y`.
Result<std::vector<std::byte>> PaddingElement(const NodePlan& node, const Tensor& y) {
  Tensor scalar;
  scalar.elem_type = format::ElementType::kFloat;
  scalar.bytes.resize(sizeof(float));
  if (node.HasInput(2)) {
    QTX_ASSIGN_OR_RETURN(const Tensor* value, node.Constant(2));
    if (format::ElementCount(*value) != 1) return node.Invalid("constant_value is not a scalar");
    scalar = *value;
  }
  Tensor to;
  to.elem_type = y.elem_type;
  to.dims = scalar.dims;
  to.quantization = y.quantization;
  auto converter = Converter::Make(scalar, to);
  if (!converter.has_value()) return node.Because(At("constant_value", converter.error()));
  std::vector<std::byte> element(static_cast<std::size_t>(format::BitWidth(to.elem_type) / 8));
  converter->Run(scalar.bytes, element);
  return element;
}

// For each element of `to`, the element of `from` it holds, or -1. `pads`: begins, then ends.
std::vector<std::int64_t> PaddedIndex(const Dims& from, const Dims& to,
                                      std::span<const std::int64_t> pads) {
  const Dims strides = format::RowMajorStrides(from);
  std::vector<std::int64_t> index{0};
  for (std::size_t d = 0; d < to.size(); ++d) {
    std::vector<std::int64_t> next;
    for (const std::int64_t base : index) {
      for (std::int64_t c = 0; c < to[d]; ++c) {
        const std::int64_t at = c - pads[d];
        next.push_back(base < 0 || at < 0 || at >= from[d] ? -1 : base + at * strides[d]);
      }
    }
    index = std::move(next);
  }
  return index;
}

// The dims Pad gives.  Source: ONNX Pad; a negative pad crops.
Result<Dims> PaddedDims(const NodePlan& node, const Dims& from,
                        std::span<const std::int64_t> pads) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 31;
  if (pads.size() != 2 * from.size()) return node.Invalid("pads: expected two for each dimension");
  Dims dims;
  for (std::size_t d = 0; d < from.size(); ++d) {
    const std::int64_t before = pads[d];
    const std::int64_t after = pads[from.size() + d];
    const bool bounded =
        std::max(before, after) <= kLargest && std::min(before, after) >= -kLargest;
    if (!bounded || from[d] + before + after < 0) return node.Invalid("pads out of range");
    dims.push_back(from[d] + before + after);
  }
  return dims;
}

}  // namespace

StepResult PrepareTranspose(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  const Dims& from = x->tensor.dims;
  std::vector<std::int64_t> order;
  for (std::size_t i = from.size(); i-- > 0;) order.push_back(static_cast<std::int64_t>(i));
  order = node.node().IntsOr("perm", order);
  std::vector<std::int64_t> sorted = order;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < from.size() || i < sorted.size(); ++i) {
    if (sorted.size() != from.size() || sorted[i] != static_cast<std::int64_t>(i)) {
      return node.Invalid("perm is not a permutation of " + format::ToString(from));
    }
  }
  const Dims strides = format::RowMajorStrides(from);
  Dims dims;
  Dims moved;
  for (const std::int64_t axis : order) {
    dims.push_back(from[static_cast<std::size_t>(axis)]);
    moved.push_back(strides[static_cast<std::size_t>(axis)]);
  }
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(dims));
  QTX_ASSIGN_OR_RETURN(Converted converted, Converted::Make(node, x, y->tensor));
  return MakeMove(std::move(converted), y, StridedIndex(dims, moved));
}

StepResult PreparePad(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  if (node.node().StringOr("mode", "constant") != "constant") {
    return node.Unsupported("mode " + node.node().StringOr("mode", ""));
  }
  if (node.HasInput(3)) return node.Unsupported("axes");
  QTX_ASSIGN_OR_RETURN(const std::vector<std::int64_t> pads, node.ConstantIntegers(1));
  const Dims& from = x->tensor.dims;
  QTX_ASSIGN_OR_RETURN(const Dims dims, PaddedDims(node, from, pads));
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(dims));
  QTX_ASSIGN_OR_RETURN(Converted converted, Converted::Make(node, x, y->tensor));
  QTX_ASSIGN_OR_RETURN(std::vector<std::byte> padding, PaddingElement(node, y->tensor));
  return MakeMove(std::move(converted), y, PaddedIndex(from, dims, pads), std::move(padding));
}

}  // namespace qtx::backend::engine
