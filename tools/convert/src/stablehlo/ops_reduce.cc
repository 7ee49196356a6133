// Reductions whose body is one of the usual operators, and windows of them.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "errors.h"
#include "stablehlo/steps.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::Dims;
using format::ElementType;
using format::TensorType;

// What a body does: the reduction of ONNX, the operator between two, and the value that changes
// nothing.
struct Body {
  std::string_view op;
  std::string_view reduction;
  std::string_view on_bool;  // the reduction over i1, as an order of false and true
  std::string_view binary, binary_on_bool;
  enum class Neutral { kZero, kOne, kLeast, kGreatest } neutral;
};
constexpr std::array kBodies = {
    Body{"stablehlo.add", "ReduceSum", "ReduceMax", "Add", "Or", Body::Neutral::kZero},
    Body{"stablehlo.multiply", "ReduceProd", "ReduceMin", "Mul", "And", Body::Neutral::kOne},
    Body{"stablehlo.maximum", "ReduceMax", "ReduceMax", "Max", "Or", Body::Neutral::kLeast},
    Body{"stablehlo.minimum", "ReduceMin", "ReduceMin", "Min", "And", Body::Neutral::kGreatest},
    Body{"stablehlo.or", "", "ReduceMax", "", "Or", Body::Neutral::kZero},
    Body{"stablehlo.and", "", "ReduceMin", "", "And", Body::Neutral::kOne},
};

// The operator of a body that is `return op(a, b)` of its two arguments.
Result<std::string> BodyName(const MlirOp& op) {
  const auto applies = std::ranges::find(op.words, "applies");
  if (applies != op.words.end() && applies + 1 != op.words.end()) return *(applies + 1);
  if (op.regions.size() != 1) return Invalid("", "found no body");
  const MlirRegion& region = op.regions[0];
  const bool simple = region.arguments.size() == 2 && region.ops.size() == 2 &&
                      region.ops[0].operands.size() == 2 && region.ops[0].results.size() == 1 &&
                      region.ops[1].name == "stablehlo.return" &&
                      region.ops[1].operands == region.ops[0].results &&
                      std::ranges::is_permutation(region.ops[0].operands, region.arguments);
  if (simple) return region.ops[0].name;
  return Unsupported("", "a body that is not one operator of its two arguments");
}

Result<const Body*> BodyOf(const MlirOp& op) {
  QTX_ASSIGN_OR_RETURN(const std::string name, BodyName(op));
  const auto* found = std::ranges::find(kBodies, name, &Body::op);
  if (found != kBodies.end()) return found;
  return Unsupported("", "a body of '" + name + "'");
}

double NeutralOf(const Body& body, const TensorType& type) {
  const bool ordered =
      body.neutral == Body::Neutral::kLeast || body.neutral == Body::Neutral::kGreatest;
  if (!ordered) return body.neutral == Body::Neutral::kZero ? 0 : 1;
  const double sign = body.neutral == Body::Neutral::kLeast ? -1 : 1;
  const bool integer = format::IsIntegerStorage(type.elem_type);
  if (!integer && type.elem_type != ElementType::kBool)
    return sign * std::numeric_limits<double>::infinity();
  const format::IntegerRange range = type.quantization
                                         ? format::StoredRange(type.elem_type, *type.quantization)
                                         : format::StorageRange(type.elem_type);
  return static_cast<double>(sign < 0 ? range.min : range.max);
}

// Whether `init` is a constant that changes no result.
bool IsNeutral(const Body& body, const StablehloValue& init) {
  if (!init.constant || format::ElementCount(*init.constant) != 1) return false;
  const TensorType& type = init.type;
  const int width = format::BitWidth(type.elem_type);
  if (type.elem_type == ElementType::kDouble)
    return init.constant->As<double>()[0] == NeutralOf(body, type);
  const double stored = format::IsIntegerStorage(type.elem_type) && width == 64
                            ? static_cast<double>(format::UnpackIntegers(*init.constant)[0])
                            : format::StoredValues(*init.constant)[0];
  const double wanted = NeutralOf(body, type);
  const bool ordered =
      body.neutral == Body::Neutral::kLeast || body.neutral == Body::Neutral::kGreatest;
  if (!type.quantization || ordered) return stored == wanted;
  const format::Quantization& q = *type.quantization;
  return static_cast<double>(format::ScaleAt(q, 0)) * (stored - format::OffsetAt(q, 0)) == wanted;
}

// Batch and channel of a window, and the axes in the order that ONNX's pools have them in.
struct PoolOrder {
  Permutation perm;         // of the operand's axes
  std::size_t missing = 0;  // sizes of 1 to add in front
};

struct Window {
  Dims size, strides, dilations, low, high;
  bool IsTrivial(std::size_t i) const {
    return size[i] == 1 && strides[i] == 1 && low[i] == 0 && high[i] == 0;
  }
};

PoolOrder OrderOf(const Window& window) {
  PoolOrder order;
  const std::size_t rank = window.size.size();
  std::vector<std::size_t> trivial;
  for (std::size_t i = 0; i < rank; ++i) {
    if (window.IsTrivial(i)) trivial.push_back(i);
  }
  // At least one spatial axis stays.
  while (trivial.size() > 2 || (trivial.size() == rank && !trivial.empty())) {
    trivial.erase(trivial.size() > 2 ? trivial.begin() + 1 : trivial.begin());
  }
  order.missing = 2 - trivial.size();
  for (const std::size_t axis : trivial) order.perm.push_back(static_cast<std::int64_t>(axis));
  for (std::size_t i = 0; i < rank; ++i) {
    if (std::ranges::find(trivial, i) == trivial.end())
      order.perm.push_back(static_cast<std::int64_t>(i));
  }
  return order;
}

Result<Window> WindowOf(StablehloBuilder& builder, const MlirOp& op, std::size_t rank) {
  Window window;
  const Dims ones(rank, 1);
  QTX_ASSIGN_OR_RETURN(window.size, IntsOf(builder, op, {"window_dimensions"}, {}));
  QTX_ASSIGN_OR_RETURN(window.strides, IntsOf(builder, op, {"window_strides"}, ones));
  QTX_ASSIGN_OR_RETURN(window.dilations, IntsOf(builder, op, {"window_dilations"}, ones));
  QTX_ASSIGN_OR_RETURN(const auto base, IntsOf(builder, op, {"base_dilations"}, ones));
  QTX_ASSIGN_OR_RETURN(const auto padding, IntsOf(builder, op, {"padding"}, Dims(2 * rank, 0)));
  QTX_RETURN_IF_ERROR(CheckInts(builder, op, "window_dimensions", window.size, rank, 1));
  QTX_RETURN_IF_ERROR(CheckInts(builder, op, "window_strides", window.strides, rank, 1));
  QTX_RETURN_IF_ERROR(CheckInts(builder, op, "window_dilations", window.dilations, rank, 1));
  if (base != ones) return Unsupported("", "base_dilations other than 1");
  if (padding.size() != 2 * rank) return Invalid("", "padding: expected two values for each axis");
  for (std::size_t i = 0; i < rank; ++i) {
    window.low.push_back(padding[2 * i]);
    window.high.push_back(padding[2 * i + 1]);
  }
  return window;
}

Dims Reordered(const Dims& values, const PoolOrder& order) {
  Dims moved;
  for (const std::int64_t axis : order.perm)
    moved.push_back(values[static_cast<std::size_t>(axis)]);
  return {moved.begin() + static_cast<std::ptrdiff_t>(2 - order.missing), moved.end()};
}

// A kernel of ones for each channel: a Conv with it sums windows, and rounds once.
StablehloValue* Ones(StablehloBuilder& builder, const TensorType& x, std::int64_t channels,
                     const Dims& kernel) {
  Dims dims = {channels, 1};
  dims.insert(dims.end(), kernel.begin(), kernel.end());
  const ElementType type = RealOf(x).elem_type;
  format::Tensor ones = *format::MakeTensor(type, dims);
  if (type == ElementType::kDouble) {
    std::ranges::fill(ones.As<double>(), 1.0);
  } else if (type == ElementType::kFloat) {
    std::ranges::fill(ones.As<float>(), 1.0F);
  } else {
    std::ranges::fill(ones.As<std::uint16_t>(),
                      static_cast<std::uint16_t>(format::EncodeSmallFloat(type, 1)));
  }
  return builder.Constant(std::move(ones));
}

Result<graph::Draft> PoolDraft(StablehloBuilder& builder, const Body& body, StablehloValue* x,
                               const Window& window, const PoolOrder& order) {
  const Dims kernel = Reordered(window.size, order);
  graph::Draft draft{"MaxPool", {builder.Use(x)}, {Attribute::Ints("kernel_shape", kernel)}};
  draft.attributes.push_back(Attribute::Ints("strides", Reordered(window.strides, order)));
  draft.attributes.push_back(Attribute::Ints("dilations", Reordered(window.dilations, order)));
  Dims pads = Reordered(window.low, order);
  const Dims high = Reordered(window.high, order);
  pads.insert(pads.end(), high.begin(), high.end());
  draft.attributes.push_back(Attribute::Ints("pads", pads));
  if (body.op == "stablehlo.maximum") return draft;
  const ElementType type = x->type.elem_type;
  if (!x->type.quantization && format::IsIntegerStorage(type))
    return Unsupported("", "sums of windows of " + std::string(format::Name(type)));
  QTX_ASSIGN_OR_RETURN(const Dims dims, FixedDimsOf(x->type));
  QTX_ASSIGN_OR_RETURN(const std::int64_t cells, format::ElementCount(kernel));
  if (cells > (std::int64_t{1} << 24) / std::max<std::int64_t>(dims[1], 1))
    return Error{ErrorCode::kTooLarge, "", "a window of more than 2^24 elements"};
  draft.op_type = "Conv";
  draft.inputs.push_back(builder.Use(Ones(builder, x->type, dims[1], kernel)));
  draft.attributes.push_back(Attribute::Int("group", dims[1]));
  return draft;
}

}  // namespace

Result<void> ConvertReduce(StablehloBuilder& builder, const MlirOp& op, const StablehloRow&) {
  QTX_ASSIGN_OR_RETURN(StablehloValue * x, builder.Operand(op, 0));
  QTX_ASSIGN_OR_RETURN(StablehloValue * init, builder.Operand(op, 1));
  QTX_ASSIGN_OR_RETURN(const Body* body, BodyOf(op));
  QTX_ASSIGN_OR_RETURN(const auto axes, IntsOf(builder, op, {"dimensions"}, {}));
  if (!x->type.shape) return Unsupported("", "unknown rank");
  QTX_RETURN_IF_ERROR(CheckAxes(builder, op, "dimensions", axes, x->type.shape->size()));
  if (op.result_types.size() != 1) return Unsupported("", "several results");
  const ElementType type = x->type.elem_type;
  const bool logical = type == ElementType::kBool;
  const std::string reduction(logical ? body->on_bool : body->reduction);
  if (reduction.empty()) return Unsupported("", "a body of '" + std::string(body->op) + "'");
  TensorType result = op.result_types[0];
  const bool narrow = !x->type.quantization && format::IsIntegerStorage(type) &&
                      format::BitWidth(type) < 32 && !logical;
  if (narrow) x = CastTo(builder, op, x, ElementType::kInt32);
  graph::Draft draft{reduction, {builder.Use(x)}, {Attribute::Int("keepdims", 0)}};
  if (axes.empty()) {
    draft = {"Identity", {builder.Use(x)}, {}};
  } else {
    draft.inputs.push_back(builder.Ints(op, axes));
  }
  const bool neutral = IsNeutral(*body, *init);
  if (neutral && !narrow) return builder.Emit(op, std::move(draft));
  TensorType inner = narrow ? result : RealOf(result);
  if (narrow) inner.elem_type = ElementType::kInt32;
  StablehloValue* reduced = builder.Inner(op, std::move(draft), inner);
  if (narrow) reduced = CastTo(builder, op, reduced, type);
  if (neutral) return builder.Bind(op, reduced);
  if (narrow && format::BitWidth(type) < 8) return Unsupported("", "an init other than neutral");
  const std::string_view binary = logical ? body->binary_on_bool : body->binary;
  return builder.Emit(op, {std::string(binary), {reduced->name, builder.Use(init)}, {}});
}

Result<void> ConvertReduceWindow(StablehloBuilder& builder, const MlirOp& op, const StablehloRow&) {
  QTX_ASSIGN_OR_RETURN(StablehloValue * x, builder.Operand(op, 0));
  QTX_ASSIGN_OR_RETURN(StablehloValue * init, builder.Operand(op, 1));
  QTX_ASSIGN_OR_RETURN(const Body* body, BodyOf(op));
  if (body->op != "stablehlo.maximum" && body->op != "stablehlo.add")
    return Unsupported("", "windows of '" + std::string(body->op) + "'");
  if (!IsNeutral(*body, *init)) return Unsupported("", "an init that changes the result");
  if (op.result_types.size() != 1) return Unsupported("", "several results");
  QTX_ASSIGN_OR_RETURN(Dims dims, FixedDimsOf(x->type));
  QTX_ASSIGN_OR_RETURN(Window window, WindowOf(builder, op, dims.size()));
  const bool negative = std::ranges::any_of(window.low, [](std::int64_t pad) { return pad < 0; }) ||
                        std::ranges::any_of(window.high, [](std::int64_t pad) { return pad < 0; });
  bool wide = negative;  // padding that MaxPool does not have
  for (std::size_t i = 0; i < dims.size(); ++i)
    wide = wide || window.low[i] >= window.size[i] || window.high[i] >= window.size[i];
  if (wide) {
    QTX_ASSIGN_OR_RETURN(x, Padded(builder, op, x, window.low, window.high, init));
    window.low = window.high = Dims(dims.size(), 0);
  }
  const PoolOrder order = OrderOf(window);
  x = Transposed(builder, op, x, order.perm);
  QTX_ASSIGN_OR_RETURN(Dims moved, FixedDimsOf(x->type));
  moved.insert(moved.begin(), order.missing, 1);
  QTX_ASSIGN_OR_RETURN(x, Reshaped(builder, op, x, moved));
  QTX_ASSIGN_OR_RETURN(graph::Draft draft, PoolDraft(builder, *body, x, window, order));
  QTX_ASSIGN_OR_RETURN(const Dims result, FixedDimsOf(op.result_types[0]));
  if (result.size() != dims.size()) return Invalid("", "a result of another rank");
  const Dims ordered = Permute(result, order.perm);
  Dims pooled = ordered;
  pooled.insert(pooled.begin(), order.missing, 1);
  TensorType type = WithDims(op.result_types[0], pooled);
  if (type.quantization && !type.quantization->axis.empty())
    return Unsupported("", "parameters along an axis of the result");
  StablehloValue* y = builder.Inner(op, std::move(draft), std::move(type));
  QTX_ASSIGN_OR_RETURN(y, Reshaped(builder, op, y, ordered));
  return builder.Bind(op, Transposed(builder, op, y, InverseOf(order.perm)));
}

}  // namespace qtx::convert
