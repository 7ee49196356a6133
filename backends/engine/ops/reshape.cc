// Reshape, Flatten, Squeeze, Unsqueeze: the elements stay in order.
#include <utility>

#include "engine/ops/movement.h"
#include "qtx/format/limits.h"

namespace qtx::backend::engine {
namespace {

using format::Dims;

// The dims a Reshape asks for.  Source: ONNX Reshape, allowzero.
Result<Dims> ReshapedDims(const NodePlan& node, const Dims& from) {
  const bool as_attribute = node.opset() < 5;  // reshape.S4
  if (!as_attribute && node.node().Find("shape") != nullptr) {
    return node.Invalid("shape is an input from opset 5 on");
  }
  Dims dims = node.node().IntsOr("shape", {});
  if (!as_attribute) {
    QTX_ASSIGN_OR_RETURN(dims, node.ConstantIntegers(1));
  }
  const bool zero_is_zero = node.node().IntOr("allowzero", 0) != 0;
  std::size_t inferred = dims.size();
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && !zero_is_zero && i < from.size()) dims[i] = from[i];
    if (dims[i] != -1) continue;
    if (inferred != dims.size()) return node.Invalid("shape has two dimensions of -1");
    inferred = i;
    dims[i] = 1;
  }
  auto known = format::ElementCount(dims);
  auto total = format::ElementCount(from);
  if (!known.has_value()) return node.Because(At("shape", known.error()));
  if (!total.has_value()) return node.Because(total.error());
  if (inferred != dims.size()) {
    if (*known == 0) return node.Invalid("shape has -1 beside a size of 0, which any rest fits");
    dims[inferred] = *total / *known;
  }
  if (*format::ElementCount(dims) != *total) {
    return node.Invalid("cannot reshape " + format::ToString(from) + " to " +
                        format::ToString(dims));
  }
  return dims;
}

Result<Dims> FlattenedDims(const NodePlan& node, const Dims& from) {
  const auto rank = static_cast<std::int64_t>(from.size());
  std::int64_t axis = node.node().IntOr("axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) return node.Invalid("axis is out of range");
  Dims dims{1, 1};
  for (std::int64_t i = 0; i < rank; ++i)
    dims[i < axis ? 0 : 1] *= from[static_cast<std::size_t>(i)];
  return dims;
}

// `axes` of Squeeze and Unsqueeze: input 1, or the attribute before opset 13; `rank` is what they
// count in.
Result<std::vector<bool>> AxesOf(const NodePlan& node, std::int64_t rank, bool all_by_default,
                                 const Dims& from) {
  std::vector<bool> named(static_cast<std::size_t>(rank));
  std::vector<std::int64_t> axes = node.node().IntsOr("axes", {});
  if (node.HasInput(1)) {
    QTX_ASSIGN_OR_RETURN(axes, node.ConstantIntegers(1));
  } else if (node.node().Find("axes") == nullptr) {
    if (!all_by_default) return node.Invalid("axes are absent");
    for (std::size_t d = 0; d < from.size(); ++d) named[d] = from[d] == 1;
    return named;
  }
  for (const std::int64_t axis : axes) {
    auto normalized = format::NormalizeAxis(axis, rank);
    if (!normalized.has_value()) return node.Because(At("axes", normalized.error()));
    if (named[static_cast<std::size_t>(*normalized)]) return node.Invalid("axes name one twice");
    named[static_cast<std::size_t>(*normalized)] = true;
  }
  return named;
}

Result<Dims> SqueezedDims(const NodePlan& node, const Dims& from) {
  QTX_ASSIGN_OR_RETURN(const std::vector<bool> gone,
                       AxesOf(node, static_cast<std::int64_t>(from.size()), true, from));
  Dims dims;
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (gone[d] && from[d] != 1) return node.Invalid("axes name a dimension other than 1");
    if (!gone[d]) dims.push_back(from[d]);
  }
  return dims;
}

Result<Dims> UnsqueezedDims(const NodePlan& node, const Dims& from) {
  std::size_t added = node.node().IntsOr("axes", {}).size();
  if (node.HasInput(1)) {
    QTX_ASSIGN_OR_RETURN(const std::vector<std::int64_t> axes, node.ConstantIntegers(1));
    added = axes.size();
  }
  const auto rank = static_cast<std::int64_t>(from.size() + added);
  if (rank > format::kMaxRank) {
    return node.Because({ErrorCode::kTooLarge, "",
                         "found " + std::to_string(rank) + " dimensions, at most " +
                             std::to_string(format::kMaxRank) + " are supported"});
  }
  QTX_ASSIGN_OR_RETURN(const std::vector<bool> is_new, AxesOf(node, rank, false, from));
  Dims dims;
  auto next = from.begin();
  for (const bool fresh : is_new) dims.push_back(fresh ? 1 : *next++);
  return dims;
}

Result<Dims> DimsAfter(const NodePlan& node, const Dims& from) {
  if (node.node().op_type == "Flatten") return FlattenedDims(node, from);
  if (node.node().op_type == "Squeeze") return SqueezedDims(node, from);
  if (node.node().op_type == "Unsqueeze") return UnsqueezedDims(node, from);
  return ReshapedDims(node, from);
}

}  // namespace

StepResult PrepareReshapedNames(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const format::Tensor* x, node.TypeOf(0));
  QTX_ASSIGN_OR_RETURN(Dims dims, DimsAfter(node, x->dims));
  return RenameElements(node, Layout::kRowMajor, std::move(dims), Layout::kRowMajor);
}

StepResult PrepareReshape(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  QTX_ASSIGN_OR_RETURN(Dims dims, DimsAfter(node, x->tensor.dims));
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(std::move(dims)));
  return MakeMove(node, x, y, {});
}

}  // namespace qtx::backend::engine
