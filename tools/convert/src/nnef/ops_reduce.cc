// Reductions, products of matrices, normalizations.
#include <algorithm>

#include "errors.h"
#include "nnef/ops.h"

namespace qtx::convert::nnef {
namespace {

using format::Attribute;
using format::Dims;
using format::ElementType;

Result<std::vector<std::int64_t>> AxesOf(const Call& call, std::size_t rank,
                                         std::vector<std::int64_t> fallback = {}) {
  QTX_ASSIGN_OR_RETURN(auto axes, call.Ints("axes", std::move(fallback)));
  for (const std::int64_t axis : axes) {
    if (axis < 0 || axis >= static_cast<std::int64_t>(rank) || std::ranges::count(axes, axis) != 1)
      return call.Wrong(
          "axes", "different axes of 0 to " + std::to_string(static_cast<std::int64_t>(rank) - 1));
  }
  if (axes.empty()) return call.Wrong("axes", "at least one axis");
  return axes;
}

Dims Reduced(Dims dims, const std::vector<std::int64_t>& axes) {
  for (const std::int64_t axis : axes) dims[static_cast<std::size_t>(axis)] = 1;
  return dims;
}

// ReduceMax and others have their axes as an input since opset 18.
graph::Draft Reduction(Builder& builder, const Call& call, std::string op, GraphTensor* x,
                       const std::vector<std::int64_t>& axes) {
  return {std::move(op), {builder.Use(x), builder.Ints(call, axes)}, {IntAttribute("keepdims", 1)}};
}

// [1, C], [C] or one number, as [C].
Result<GraphTensor*> PerChannel(Builder& builder, const Call& call, std::string_view parameter,
                                std::int64_t channels) {
  QTX_ASSIGN_OR_RETURN(GraphTensor * tensor, builder.Operand(call, parameter));
  if (*format::ElementCount(tensor->dims) == 1 && channels != 1)
    return builder.Inner(
        call,
        {"Expand", {builder.Use(builder.Reals(call, tensor)), builder.Ints(call, {channels})}},
        {channels});
  return builder.Reshaped(call, tensor, {channels});
}

}  // namespace

Result<void> ConvertReduce(Builder& builder, const Call& call, const Operator& op) {
  QTX_ASSIGN_OR_RETURN(GraphTensor * x, builder.Operand(call, "input"));
  QTX_ASSIGN_OR_RETURN(const auto axes, AxesOf(call, x->dims.size()));
  QTX_ASSIGN_OR_RETURN(const bool normalize, call.Flag("normalize", false));
  const ElementType type = x->type.quantization ? ElementType::kFloat : x->type.elem_type;
  const std::string name = normalize ? "ReduceMean" : std::string(op.onnx);
  return builder.Emit(call, Reduction(builder, call, name, x, axes), Reduced(x->dims, axes), type);
}

Result<void> ConvertArgReduce(Builder& builder, const Call& call, const Operator& op) {
  QTX_ASSIGN_OR_RETURN(GraphTensor * x, builder.Operand(call, "input"));
  QTX_ASSIGN_OR_RETURN(const auto axes, AxesOf(call, x->dims.size()));
  if (axes.size() != 1) return Unsupported(call.text().Place(), "several axes");
  return builder.Emit(call,
                      {std::string(op.onnx),
                       {builder.Use(x)},
                       {IntAttribute("axis", axes[0]), IntAttribute("keepdims", 1)}},
                      Reduced(x->dims, axes), ElementType::kInt64);
}

Result<void> ConvertSoftmax(Builder& builder, const Call& call, const Operator&) {
  QTX_ASSIGN_OR_RETURN(GraphTensor * x, builder.Operand(call, "x"));
  QTX_ASSIGN_OR_RETURN(const auto axes, AxesOf(call, x->dims.size(), {1}));
  if (axes.size() == 1)
    return builder.Emit(call, {"Softmax", {builder.Use(x)}, {IntAttribute("axis", axes[0])}},
                        x->dims);
  const Dims dims = Reduced(x->dims, axes);
  GraphTensor* most = builder.Inner(call, Reduction(builder, call, "ReduceMax", x, axes), dims);
  GraphTensor* less =
      builder.Inner(call, {"Sub", {builder.Use(x), builder.Use(most)}, {}}, x->dims);
  GraphTensor* power = builder.Inner(call, {"Exp", {builder.Use(less)}, {}}, x->dims);
  GraphTensor* sum = builder.Inner(call, Reduction(builder, call, "ReduceSum", power, axes), dims);
  return builder.Emit(call, {"Div", {builder.Use(power), builder.Use(sum)}, {}}, x->dims);
}

namespace {

Result<GraphTensor*> Transposed(Builder& builder, const Call& call, GraphTensor* x) {
  std::vector<std::int64_t> axes;
  Dims dims = x->dims;
  for (std::size_t i = 0; i < dims.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  x = builder.Movable(call, x);
  return builder.Inner(call, {"Transpose", {builder.Use(x)}, {Attribute::Ints("perm", axes)}}, dims,
                       *x);
}

Error Mismatch(const Call& call, const GraphTensor& a, const GraphTensor& b) {
  return Invalid(call.text().Place(), "found shapes " + format::ToString(a.dims) + " and " +
                                          format::ToString(b.dims) + ", which do not multiply");
}

}  // namespace

Result<void> ConvertMatmul(Builder& builder, const Call& call, const Operator&) {
  QTX_ASSIGN_OR_RETURN(GraphTensor * a, builder.Operand(call, "A"));
  QTX_ASSIGN_OR_RETURN(GraphTensor * b, builder.Operand(call, "B"));
  QTX_ASSIGN_OR_RETURN(const bool trans_a, call.Flag("transposeA", false));
  QTX_ASSIGN_OR_RETURN(const bool trans_b, call.Flag("transposeB", false));
  const std::size_t rank = a->dims.size();
  if (rank < 2 || b->dims.size() != rank) return Mismatch(call, *a, *b);
  const Dims &x = a->dims, &y = b->dims;
  const std::int64_t inner = x[trans_a ? rank - 2 : rank - 1];
  if (inner != y[trans_b ? rank - 1 : rank - 2]) return Mismatch(call, *a, *b);
  QTX_ASSIGN_OR_RETURN(
      Dims dims, BroadcastDims(call, Dims(x.begin(), x.end() - 2), Dims(y.begin(), y.end() - 2)));
  dims.push_back(x[trans_a ? rank - 1 : rank - 2]);
  dims.push_back(y[trans_b ? rank - 2 : rank - 1]);
  if (rank == 2 && (trans_a || trans_b))
    return builder.Emit(
        call,
        {"Gemm",
         {builder.Use(a), builder.Use(b)},
         {IntAttribute("transA", trans_a ? 1 : 0), IntAttribute("transB", trans_b ? 1 : 0)}},
        dims);
  if (trans_a) {
    QTX_ASSIGN_OR_RETURN(a, Transposed(builder, call, a));
  }
  if (trans_b) {
    QTX_ASSIGN_OR_RETURN(b, Transposed(builder, call, b));
  }
  return builder.Emit(call, {"MatMul", {builder.Use(a), builder.Use(b)}, {}}, dims);
}

Result<void> ConvertLinear(Builder& builder, const Call& call, const Operator&) {
  QTX_ASSIGN_OR_RETURN(GraphTensor * x, builder.Operand(call, "input"));
  QTX_ASSIGN_OR_RETURN(GraphTensor * w, builder.Operand(call, "filter"));
  const bool fits = x->dims.size() == 2 && w->dims.size() == 2 && x->dims[1] == w->dims[1];
  if (!fits) return Mismatch(call, *x, *w);
  const std::int64_t channels = w->dims[0];
  std::vector<std::string> inputs = {builder.Use(x), builder.Use(w)};
  const Value* bias = call.Find("bias");
  const bool none = bias == nullptr || (bias->kind == Value::Kind::kNumber && bias->number == 0);
  if (!none) {
    QTX_ASSIGN_OR_RETURN(GraphTensor * channel, PerChannel(builder, call, "bias", channels));
    inputs.push_back(builder.Use(channel));
  }
  return builder.Emit(call, {"Gemm", inputs, {IntAttribute("transB", 1)}}, {x->dims[0], channels});
}

Result<void> ConvertBatchNormalization(Builder& builder, const Call& call, const Operator&) {
  QTX_ASSIGN_OR_RETURN(GraphTensor * x, builder.Operand(call, "input"));
  if (x->dims.size() < 2) return call.Wrong("input", "a tensor with channels");
  std::vector<std::string> inputs = {builder.Use(x)};
  for (const char* parameter : {"scale", "offset", "mean", "variance"}) {
    QTX_ASSIGN_OR_RETURN(GraphTensor * channel, PerChannel(builder, call, parameter, x->dims[1]));
    inputs.push_back(builder.Use(channel));
  }
  QTX_ASSIGN_OR_RETURN(const double epsilon, call.Number("epsilon", 0.0));
  return builder.Emit(
      call,
      {"BatchNormalization", inputs, {Attribute::Float("epsilon", static_cast<float>(epsilon))}},
      x->dims);
}

Result<void> ConvertLocalResponse(Builder& builder, const Call& call, const Operator&) {
  QTX_ASSIGN_OR_RETURN(GraphTensor * x, builder.Operand(call, "input"));
  QTX_ASSIGN_OR_RETURN(const auto size, call.Ints("size"));
  bool over_channels = size.size() == x->dims.size() && size.size() >= 2 && size[1] > 0;
  for (std::size_t i = 0; i < size.size(); ++i)
    over_channels = over_channels && (i == 1 || size[i] == 1);
  if (!over_channels) return Unsupported(call.text().Place(), "size over other axes than channels");
  QTX_ASSIGN_OR_RETURN(const double alpha, call.Number("alpha", 1.0));
  QTX_ASSIGN_OR_RETURN(const double beta, call.Number("beta", 0.5));
  QTX_ASSIGN_OR_RETURN(const double bias, call.Number("bias", 1.0));
  return builder.Emit(
      call,
      {"LRN",
       {builder.Use(x)},
       {IntAttribute("size", size[1]), Attribute::Float("alpha", static_cast<float>(alpha)),
        Attribute::Float("beta", static_cast<float>(beta)),
        Attribute::Float("bias", static_cast<float>(bias))}},
      x->dims);
}

// input / max(norm + bias, epsilon)
Result<void> ConvertNormalization(Builder& builder, const Call& call, const Operator& op) {
  QTX_ASSIGN_OR_RETURN(GraphTensor * x, builder.Operand(call, "input"));
  QTX_ASSIGN_OR_RETURN(const auto axes, AxesOf(call, x->dims.size()));
  QTX_ASSIGN_OR_RETURN(const double bias, call.Number("bias", 0.0));
  QTX_ASSIGN_OR_RETURN(const double epsilon, call.Number("epsilon", 0.0));
  const Dims dims = Reduced(x->dims, axes);
  GraphTensor* norm =
      builder.Inner(call, Reduction(builder, call, std::string(op.onnx), x, axes), dims);
  if (bias != 0) {
    const std::string term = builder.Scalar(call, static_cast<float>(bias));
    norm = builder.Inner(call, {"Add", {builder.Use(norm), term}, {}}, dims);
  }
  const std::string least = builder.Scalar(call, static_cast<float>(epsilon));
  norm = builder.Inner(call, {"Max", {builder.Use(norm), least}, {}}, dims);
  return builder.Emit(call, {"Div", {builder.Use(x), builder.Use(norm)}, {}}, x->dims);
}

}  // namespace qtx::convert::nnef
