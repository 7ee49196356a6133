// Convolutions in any order of dimensions, as Conv between transpositions.
#include <algorithm>

#include "errors.h"
#include "stablehlo/steps.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::Dims;
using format::ElementType;
using format::TensorType;

// Where the dimensions of operands and result stand: batch and feature (or the kernel's output and
// input features), then the spatial ones.
struct ConvOrder {
  Permutation input, kernel, output;
};

struct ConvWindow {
  Dims strides, low, high, lhs_dilation, rhs_dilation, reversal;
};

// [b, 0, 1, f]: the axes named `first`, `second`, 0, 1, ...
Result<Permutation> OrderOfLetters(const MlirAttribute& list, std::string_view first,
                                   std::string_view second) {
  Permutation perm(list.list.size(), -1);
  for (std::size_t axis = 0; axis < list.list.size(); ++axis) {
    const MlirAttribute& entry = list.list[axis];
    std::int64_t at = -1;
    if (entry.kind == MlirAttribute::Kind::kInteger && entry.integer >= 0) at = entry.integer + 2;
    if (entry.kind == MlirAttribute::Kind::kWord && entry.text == first) at = 0;
    if (entry.kind == MlirAttribute::Kind::kWord && entry.text == second) at = 1;
    if (at < 0 || at >= static_cast<std::int64_t>(perm.size()) ||
        perm[static_cast<std::size_t>(at)] != -1)
      return Invalid("", "dim_numbers: expected '" + std::string(first) + "', '" +
                             std::string(second) + "' and each spatial dimension once");
    perm[static_cast<std::size_t>(at)] = static_cast<std::int64_t>(axis);
  }
  return perm;
}

Result<ConvOrder> ConvOrderOf(const MlirOp& op) {
  const MlirAttribute* numbers = op.Find({"dimension_numbers", "dim_numbers"});
  // #stablehlo.conv<[..]x[..]->[..]> holds the list as its one element.
  if (numbers != nullptr && numbers->list.size() == 1) numbers = &numbers->list[0];
  if (numbers == nullptr || numbers->list.size() != 3)
    return Invalid("", "expected dim_numbers = [...]x[...]->[...]");
  ConvOrder order;
  QTX_ASSIGN_OR_RETURN(order.input, OrderOfLetters(numbers->list[0], "b", "f"));
  QTX_ASSIGN_OR_RETURN(order.kernel, OrderOfLetters(numbers->list[1], "o", "i"));
  QTX_ASSIGN_OR_RETURN(order.output, OrderOfLetters(numbers->list[2], "b", "f"));
  return order;
}

Result<ConvWindow> ConvWindowOf(StablehloBuilder& builder, const MlirOp& op, std::size_t spatial) {
  static const MlirAttribute kNone;
  const MlirAttribute* window = op.Find({"window"});
  if (window == nullptr) window = &kNone;
  const auto read = [&](std::string_view in_window, std::string_view name, std::int64_t fallback,
                        std::int64_t least, Dims& to) -> Result<void> {
    const MlirAttribute* found = window->Find(in_window);
    if (found == nullptr) found = op.Find({name});
    QTX_ASSIGN_OR_RETURN(to, IntsOf(builder, op, found, Dims(spatial, fallback)));
    return CheckInts(builder, op, name, to, spatial, least);
  };
  ConvWindow result;
  QTX_RETURN_IF_ERROR(read("stride", "window_strides", 1, 1, result.strides));
  QTX_RETURN_IF_ERROR(read("lhs_dilate", "lhs_dilation", 1, 1, result.lhs_dilation));
  QTX_RETURN_IF_ERROR(read("rhs_dilate", "rhs_dilation", 1, 1, result.rhs_dilation));
  QTX_RETURN_IF_ERROR(read("reverse", "window_reversal", 0, 0, result.reversal));
  const MlirAttribute* pad = window->Find("pad");
  if (pad == nullptr) pad = op.Find({"padding"});
  QTX_ASSIGN_OR_RETURN(const Dims pads, IntsOf(builder, op, pad, Dims(2 * spatial, 0)));
  if (pads.size() != 2 * spatial)
    return Invalid("", "pad: expected two values for each spatial dimension");
  for (std::size_t i = 0; i < spatial; ++i) {
    result.low.push_back(pads[2 * i]);
    result.high.push_back(pads[2 * i + 1]);
  }
  return result;
}

bool HasNegative(const Dims& values) {
  return std::ranges::any_of(values, [](std::int64_t value) { return value < 0; });
}

// In front of the spatial ones come batch and feature, which nothing is done to.
Dims WithTwo(std::int64_t value, const Dims& spatial) {
  Dims all = {value, value};
  all.insert(all.end(), spatial.begin(), spatial.end());
  return all;
}

// Zeros between neighbours, and negative padding, go before Conv, which has neither.
Result<StablehloValue*> Prepared(StablehloBuilder& builder, const MlirOp& op, StablehloValue* x,
                                 ConvWindow& window) {
  Dims zeros = window.lhs_dilation;
  for (std::int64_t& value : zeros) --value;
  QTX_ASSIGN_OR_RETURN(x, Spread(builder, op, x, WithTwo(0, zeros)));
  if (!HasNegative(window.low) && !HasNegative(window.high)) return x;
  QTX_ASSIGN_OR_RETURN(x, Padded(builder, op, x, WithTwo(0, window.low), WithTwo(0, window.high)));
  window.low.assign(window.low.size(), 0);
  window.high = window.low;
  return x;
}

Result<StablehloValue*> Kernel(StablehloBuilder& builder, const MlirOp& op, StablehloValue* w,
                               const ConvOrder& order, const ConvWindow& window) {
  w = Transposed(builder, op, w, order.kernel);
  std::vector<std::int64_t> reversed;
  for (std::size_t i = 0; i < window.reversal.size(); ++i) {
    if (window.reversal[i] != 0) reversed.push_back(static_cast<std::int64_t>(i) + 2);
  }
  return Reversed(builder, op, w, reversed);
}

graph::Draft ConvDraft(StablehloBuilder& builder, StablehloValue* x, StablehloValue* w,
                       const ConvWindow& window, std::int64_t groups) {
  const bool integers = !x->type.quantization && format::IsIntegerStorage(x->type.elem_type);
  graph::Draft draft{integers ? "ConvInteger" : "Conv", {builder.Use(x), builder.Use(w)}, {}};
  Dims pads = window.low;
  pads.insert(pads.end(), window.high.begin(), window.high.end());
  draft.attributes.push_back(Attribute::Ints("strides", window.strides));
  draft.attributes.push_back(Attribute::Ints("dilations", window.rhs_dilation));
  draft.attributes.push_back(Attribute::Ints("pads", pads));
  draft.attributes.push_back(Attribute::Int("group", groups));
  return draft;
}

// Integers of 8 bits have ConvInteger, whose result is INT32; other plain ones nothing.
Result<void> CheckConvTypes(const TensorType& x, const TensorType& w, const TensorType& y) {
  const auto is_byte = [](const TensorType& type) {
    return type.elem_type == ElementType::kInt8 || type.elem_type == ElementType::kUint8;
  };
  const bool plain = !x.quantization && format::IsIntegerStorage(x.elem_type);
  if (!plain) {
    if (x.elem_type != ElementType::kBool && w.elem_type != ElementType::kBool) return {};
  } else if (is_byte(x) && is_byte(w) && y.elem_type == ElementType::kInt32) {
    return {};
  }
  return Unsupported("", "of " + std::string(format::Name(x.elem_type)) + " and " +
                             std::string(format::Name(w.elem_type)) + " to " +
                             std::string(format::Name(y.elem_type)));
}

Result<std::int64_t> CountOf(StablehloBuilder& builder, const MlirOp& op, const char* name) {
  QTX_ASSIGN_OR_RETURN(const auto count, IntsOf(builder, op, {name}, {1}));
  QTX_RETURN_IF_ERROR(CheckInts(builder, op, name, count, 1, 1));
  return count[0];
}

}  // namespace

Result<void> ConvertConvolution(StablehloBuilder& builder, const MlirOp& op, const StablehloRow&) {
  QTX_ASSIGN_OR_RETURN(StablehloValue * x, builder.Operand(op, 0));
  QTX_ASSIGN_OR_RETURN(StablehloValue * w, builder.Operand(op, 1));
  QTX_ASSIGN_OR_RETURN(const ConvOrder order, ConvOrderOf(op));
  if (op.result_types.size() != 1) return Invalid("", "expected one result");
  QTX_ASSIGN_OR_RETURN(const std::int64_t groups, CountOf(builder, op, "feature_group_count"));
  QTX_ASSIGN_OR_RETURN(const std::int64_t batches, CountOf(builder, op, "batch_group_count"));
  if (batches != 1) return Unsupported("", "batch_group_count " + std::to_string(batches));
  QTX_ASSIGN_OR_RETURN(const Dims dims, FixedDimsOf(x->type));
  QTX_ASSIGN_OR_RETURN(const Dims kernel, FixedDimsOf(w->type));
  QTX_ASSIGN_OR_RETURN(const Dims result, FixedDimsOf(op.result_types[0]));
  const std::size_t rank = order.input.size();
  if (rank < 3) return Unsupported("", "without spatial dimensions");
  for (const std::size_t found :
       {dims.size(), kernel.size(), result.size(), order.kernel.size(), order.output.size()}) {
    if (found != rank) return Invalid("", "dim_numbers of other ranks than the operands'");
  }
  QTX_RETURN_IF_ERROR(CheckConvTypes(x->type, w->type, op.result_types[0]));
  QTX_ASSIGN_OR_RETURN(ConvWindow window, ConvWindowOf(builder, op, rank - 2));
  x = Transposed(builder, op, x, order.input);
  QTX_ASSIGN_OR_RETURN(x, Prepared(builder, op, x, window));
  QTX_ASSIGN_OR_RETURN(w, Kernel(builder, op, w, order, window));
  graph::Draft draft = ConvDraft(builder, x, w, window, groups);
  if (std::ranges::is_sorted(order.output)) return builder.Emit(op, std::move(draft));
  StablehloValue* y =
      builder.Inner(op, std::move(draft), Permute(op.result_types[0], order.output));
  return builder.Bind(op, Transposed(builder, op, y, InverseOf(order.output)));
}

}  // namespace qtx::convert
