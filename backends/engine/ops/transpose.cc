// Transpose and Pad.
#include <algorithm>
#include <utility>

#include "engine/ops/indexing.h"
#include "engine/ops/movement.h"
#include "engine/ops/select.h"
#include "engine/ops/strided_move.h"

namespace qtx::backend::engine {
namespace {

using format::Dims;
using format::Tensor;

enum class PadMode { kConstant, kEdge, kReflect, kWrap };

PadMode ModeOf(const NodePlan& node) {
  const std::string mode = node.String("mode");
  if (mode == "constant") return PadMode::kConstant;
  if (mode == "edge") return PadMode::kEdge;
  return mode == "reflect" ? PadMode::kReflect : PadMode::kWrap;
}

// Real zero of a type that goes with `type`, or the node's constant_value.
Result<const Value*> PaddingOf(const NodePlan& node, format::ElementType type) {
  if (!node.HasInput(2)) {
    if (IsRealOutput(type)) type = format::ElementType::kFloat;
    QTX_ASSIGN_OR_RETURN(Tensor zero, format::MakeTensor(type, {}));
    return node.Keep(std::move(zero));
  }
  QTX_ASSIGN_OR_RETURN(const Value* value, node.Input(2));
  return value;
}

// `pads` of the axes that input 3 names, as pads of all axes.  Source: pad.S6.
Result<std::vector<std::int64_t>> PadsOf(const NodePlan& node, std::size_t rank) {
  QTX_ASSIGN_OR_RETURN(const std::vector<std::int64_t> pads, node.ConstantIntegers(1));
  if (!node.HasInput(3)) return pads;
  QTX_ASSIGN_OR_RETURN(const Tensor* axes, node.Constant(3));
  const std::vector<std::int64_t> padded = IndicesOf(*axes);
  std::vector<std::int64_t> all(2 * rank);
  for (std::size_t i = 0; i < padded.size(); ++i) {
    const std::size_t d = AxisOf(padded[i], rank);
    all[d] = pads[i];
    all[rank + d] = pads[padded.size() + i];
  }
  return all;
}

// What a negative pad leaves of an axis: `kept` elements from `first` on.  Source: pad.S3.
struct Kept {
  std::int64_t first, kept;
  Kept(std::int64_t size, std::int64_t before, std::int64_t after)
      : first(std::max<std::int64_t>(-before, 0)),
        kept(size - first - std::max<std::int64_t>(-after, 0)) {}
};

// The coordinate that coordinate `at`, counted from the first kept one, takes its value from; -1:
// none.
std::int64_t SourceOf(std::int64_t at, const Kept& axis, PadMode mode) {
  const std::int64_t last = axis.kept - 1;
  if (at < 0 || at > last) {
    if (mode == PadMode::kConstant) return -1;
    if (mode == PadMode::kEdge) at = at < 0 ? 0 : last;
    if (mode == PadMode::kWrap) at = (at % axis.kept + axis.kept) % axis.kept;
    if (mode == PadMode::kReflect) at = at < 0 ? -at : 2 * last - at;
  }
  return axis.first + at;
}

// For each element of `to`, the element of `from` it holds, or -1. `pads`: begins, then ends.
std::vector<std::int64_t> PaddedIndex(const Dims& from, const Dims& to,
                                      std::span<const std::int64_t> pads, PadMode mode) {
  if (std::ranges::find(to, 0) != to.end()) return {};  // others may be any size then
  const Dims strides = format::RowMajorStrides(from);
  std::vector<std::int64_t> index{0};
  for (std::size_t d = 0; d < to.size(); ++d) {
    std::vector<std::int64_t> next;
    const Kept axis(from[d], pads[d], pads[from.size() + d]);
    for (const std::int64_t base : index) {
      for (std::int64_t c = 0; c < to[d]; ++c) {
        const std::int64_t at = SourceOf(c - std::max<std::int64_t>(pads[d], 0), axis, mode);
        next.push_back(base < 0 || at < 0 ? -1 : base + at * strides[d]);
      }
    }
    index = std::move(next);
  }
  return index;
}

Result<Dims> PaddedDims(const NodePlan& node, const Dims& from,
                        std::span<const std::int64_t> pads) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 31;
  Dims dims;
  for (std::size_t d = 0; d < from.size(); ++d) {
    const std::int64_t before = pads[d];
    const std::int64_t after = pads[from.size() + d];
    if (std::max(before, after) > kLargest) {
      return node.Because(
          {ErrorCode::kTooLarge, "",
           "pads: found " + std::to_string(std::max(before, after)) + ", supported up to 2^31"});
    }
    dims.push_back(from[d] + before + after);
  }
  return dims;
}

Dims Permuted(const Dims& values, const std::vector<std::int64_t>& order) {
  Dims permuted;
  for (const std::int64_t axis : order) permuted.push_back(values[static_cast<std::size_t>(axis)]);
  return permuted;
}

// What the pads leave of x, and where it goes.
MovedPart KeptPart(const Dims& from, std::span<const std::int64_t> pads, const Dims& x,
                   const Dims& y) {
  MovedPart part{.from = x, .to = y};
  for (std::size_t d = 0; d < from.size(); ++d) {
    const Kept kept(from[d], pads[d], pads[from.size() + d]);
    part.dims.push_back(std::max<std::int64_t>(kept.kept, 0));
    part.first_from += kept.first * x[d];
    part.first_to += std::max<std::int64_t>(pads[d], 0) * y[d];
  }
  return part;
}

}  // namespace

StepResult PrepareTranspose(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Tensor* x_type, node.TypeOf(0));
  const Dims from = x_type->dims;
  std::vector<std::int64_t> order;
  for (std::size_t i = from.size(); i-- > 0;) order.push_back(static_cast<std::int64_t>(i));
  order = node.node().IntsOr("perm", order);
  const Dims dims = Permuted(from, order);
  StepResult strided = PrepareStridedMove(
      node, {.output_of_several = {},
             .dims = dims,
             .channels_stay = order.size() > 1 && order[1] == 1,
             .parts = [&](const std::vector<Dims>& x, const Dims& y) {
               return std::vector{MovedPart{.dims = dims, .from = Permuted(x[0], order), .to = y}};
             }});
  if (strided.has_value() || strided.error().code != ErrorCode::kUnsupported) return strided;
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(dims));
  return MakeMove(node, x, y, StridedIndex(dims, Permuted(format::RowMajorStrides(from), order)));
}

StepResult PreparePad(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Tensor* x_type, node.TypeOf(0));
  const PadMode mode = ModeOf(node);
  const Dims from = x_type->dims;
  QTX_ASSIGN_OR_RETURN(const std::vector<std::int64_t> pads, PadsOf(node, from.size()));
  QTX_ASSIGN_OR_RETURN(const Dims dims, PaddedDims(node, from, pads));
  const Value* padding = nullptr;
  if (mode == PadMode::kConstant) {
    QTX_ASSIGN_OR_RETURN(padding, PaddingOf(node, x_type->elem_type));
    StepResult strided = PrepareStridedMove(
        node, {.output_of_several = {},
               .dims = dims,
               .parts = [&](const std::vector<Dims>& x,
                            const Dims& y) { return std::vector{KeptPart(from, pads, x[0], y)}; },
               .padding = padding});
    if (strided.has_value() || strided.error().code != ErrorCode::kUnsupported) return strided;
  }
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(dims));
  return MakeMove(node, x, y, PaddedIndex(from, dims, pads, mode), padding);
}

}  // namespace qtx::backend::engine
