// Elementwise operators.
#include <algorithm>
#include <cmath>

#include "errors.h"
#include "nnef/ops.h"

namespace qtx::convert::nnef {

using format::Dims;
using format::ElementType;

Result<Dims> BroadcastDims(const Call& call, const Dims& a, const Dims& b) {
  Dims dims = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    if (dims[i] == 1) dims[i] = shorter[i];
    if (shorter[i] != 1 && shorter[i] != dims[i])
      return Invalid(call.text().Place(), "found shapes " + format::ToString(a) + " and " +
                                              format::ToString(b) +
                                              ", expected sizes that are equal or 1");
  }
  return dims;
}

Result<GraphTensor*> Aligned(Builder& builder, const Call& call, GraphTensor* tensor,
                             std::size_t rank) {
  if (tensor->dims.empty() || tensor->dims.size() >= rank) return tensor;
  Dims dims = tensor->dims;
  dims.resize(rank, 1);
  return builder.Reshaped(call, tensor, dims);
}

namespace {

struct Pair {
  GraphTensor* x;
  GraphTensor* y;
  Dims dims;
};

bool IsLiteral(const GraphTensor& tensor) { return tensor.constant && tensor.label == "literal"; }

// A number beside an integer tensor is an integer.
GraphTensor* Like(Builder& builder, GraphTensor* literal, const GraphTensor& other) {
  const bool convert = IsLiteral(*literal) && other.type.elem_type == ElementType::kInt64 &&
                       literal->type.elem_type == ElementType::kFloat;
  if (!convert) return literal;
  const float real = literal->constant->As<float>()[0];
  format::Tensor tensor = graph::IntsTensor({});
  const auto whole = static_cast<std::int64_t>(std::clamp(real, -0x1p62F, 0x1p62F));
  tensor = graph::IntsTensor(std::span(&whole, 1));
  tensor.dims.clear();
  return builder.Constant(std::move(tensor), "literal");
}

Result<Pair> PairOf(Builder& builder, const Call& call, GraphTensor* x, GraphTensor* y) {
  Pair pair{Like(builder, x, *y), Like(builder, y, *x), {}};
  QTX_ASSIGN_OR_RETURN(pair.dims, BroadcastDims(call, pair.x->dims, pair.y->dims));
  QTX_ASSIGN_OR_RETURN(pair.x, Aligned(builder, call, pair.x, pair.dims.size()));
  QTX_ASSIGN_OR_RETURN(pair.y, Aligned(builder, call, pair.y, pair.dims.size()));
  return pair;
}

ElementType PlainOf(const GraphTensor& tensor) {
  return tensor.type.quantization ? ElementType::kFloat : tensor.type.elem_type;
}

}  // namespace

Result<void> ConvertUnary(Builder& builder, const Call& call, const Operator& op) {
  QTX_ASSIGN_OR_RETURN(GraphTensor * x, builder.Operand(call, "x"));
  return builder.Emit(call, {std::string(op.onnx), {builder.Use(x)}, {}}, x->dims, PlainOf(*x));
}

Result<void> ConvertBinary(Builder& builder, const Call& call, const Operator& op) {
  QTX_ASSIGN_OR_RETURN(GraphTensor * x, builder.Operand(call, "x"));
  const bool prelu = op.onnx == "PRelu";
  QTX_ASSIGN_OR_RETURN(GraphTensor * y, builder.Operand(call, prelu ? "alpha" : "y"));
  QTX_ASSIGN_OR_RETURN(const Pair pair, PairOf(builder, call, x, y));
  return builder.Emit(call, {std::string(op.onnx), {builder.Use(pair.x), builder.Use(pair.y)}, {}},
                      pair.dims, PlainOf(*pair.x));
}

Result<void> ConvertCompare(Builder& builder, const Call& call, const Operator& op) {
  QTX_ASSIGN_OR_RETURN(GraphTensor * x, builder.Operand(call, "x"));
  QTX_ASSIGN_OR_RETURN(GraphTensor * y, builder.Operand(call, "y"));
  QTX_ASSIGN_OR_RETURN(const Pair pair, PairOf(builder, call, x, y));
  const std::vector<std::string> inputs = {builder.Use(pair.x), builder.Use(pair.y)};
  if (!op.onnx.empty())
    return builder.Emit(call, {std::string(op.onnx), inputs, {}}, pair.dims, ElementType::kBool);
  GraphTensor* equal = builder.Inner(call, {"Equal", inputs, {}}, pair.dims, ElementType::kBool);
  return builder.Emit(call, {"Not", {builder.Use(equal)}, {}}, pair.dims, ElementType::kBool);
}

Result<void> ConvertSelect(Builder& builder, const Call& call, const Operator&) {
  QTX_ASSIGN_OR_RETURN(GraphTensor * condition, builder.Operand(call, "condition"));
  QTX_ASSIGN_OR_RETURN(GraphTensor * x, builder.Operand(call, "true_value"));
  QTX_ASSIGN_OR_RETURN(GraphTensor * y, builder.Operand(call, "false_value"));
  QTX_ASSIGN_OR_RETURN(Pair pair, PairOf(builder, call, x, y));
  QTX_ASSIGN_OR_RETURN(pair.dims, BroadcastDims(call, pair.dims, condition->dims));
  const std::size_t rank = pair.dims.size();
  QTX_ASSIGN_OR_RETURN(condition, Aligned(builder, call, condition, rank));
  QTX_ASSIGN_OR_RETURN(pair.x, Aligned(builder, call, builder.Reals(call, pair.x), rank));
  QTX_ASSIGN_OR_RETURN(pair.y, Aligned(builder, call, builder.Reals(call, pair.y), rank));
  return builder.Emit(
      call, {"Where", {builder.Use(condition), builder.Use(pair.x), builder.Use(pair.y)}, {}},
      pair.dims, PlainOf(*pair.x));
}

Result<void> ConvertClamp(Builder& builder, const Call& call, const Operator&) {
  QTX_ASSIGN_OR_RETURN(GraphTensor * x, builder.Operand(call, "x"));
  QTX_ASSIGN_OR_RETURN(GraphTensor * low, builder.Operand(call, "a"));
  QTX_ASSIGN_OR_RETURN(GraphTensor * high, builder.Operand(call, "b"));
  low = Like(builder, low, *x);
  high = Like(builder, high, *x);
  const bool scalars = low->dims.empty() && high->dims.empty();
  if (scalars)
    return builder.Emit(call, {"Clip", {builder.Use(x), builder.Use(low), builder.Use(high)}, {}},
                        x->dims, PlainOf(*x));
  QTX_ASSIGN_OR_RETURN(const Pair least, PairOf(builder, call, x, high));
  GraphTensor* inner = builder.Inner(
      call, {"Min", {builder.Use(least.x), builder.Use(least.y)}, {}}, least.dims, PlainOf(*x));
  QTX_ASSIGN_OR_RETURN(const Pair most, PairOf(builder, call, inner, low));
  return builder.Emit(call, {"Max", {builder.Use(most.x), builder.Use(most.y)}, {}}, most.dims,
                      PlainOf(*x));
}

// sqr, rsqr, rsqrt, log2, round.
Result<void> ConvertPower(Builder& builder, const Call& call, const Operator& op) {
  QTX_ASSIGN_OR_RETURN(GraphTensor * x, builder.Operand(call, "x"));
  const std::string in = builder.Use(x);
  if (op.name == "sqr") return builder.Emit(call, {"Mul", {in, in}, {}}, x->dims);
  if (op.name == "rsqr") {
    GraphTensor* square = builder.Inner(call, {"Mul", {in, in}, {}}, x->dims);
    return builder.Emit(call, {"Reciprocal", {builder.Use(square)}, {}}, x->dims);
  }
  if (op.name == "rsqrt") {
    GraphTensor* root = builder.Inner(call, {"Sqrt", {in}, {}}, x->dims);
    return builder.Emit(call, {"Reciprocal", {builder.Use(root)}, {}}, x->dims);
  }
  if (op.name == "log2") {
    GraphTensor* natural = builder.Inner(call, {"Log", {in}, {}}, x->dims);
    const std::string ln2 = builder.Scalar(call, 0.693147180559945309F);
    return builder.Emit(call, {"Div", {builder.Use(natural), ln2}, {}}, x->dims);
  }
  // Half away from zero, where ONNX's Round is half to even: sign(x) * floor(|x| + 0.5).
  GraphTensor* magnitude = builder.Inner(call, {"Abs", {in}, {}}, x->dims);
  GraphTensor* sum = builder.Inner(
      call, {"Add", {builder.Use(magnitude), builder.Scalar(call, 0.5F)}, {}}, x->dims);
  GraphTensor* floor = builder.Inner(call, {"Floor", {builder.Use(sum)}, {}}, x->dims);
  GraphTensor* sign = builder.Inner(call, {"Sign", {in}, {}}, x->dims);
  return builder.Emit(call, {"Mul", {builder.Use(sign), builder.Use(floor)}, {}}, x->dims);
}

Result<void> ConvertAlpha(Builder& builder, const Call& call, const Operator& op) {
  QTX_ASSIGN_OR_RETURN(GraphTensor * x, builder.Operand(call, "x"));
  std::vector<format::Attribute> attributes;
  const bool selu = op.onnx == "Selu";
  std::optional<double> fallback;
  if (op.onnx != "LeakyRelu") fallback = selu ? 1.67326319 : 1.0;
  QTX_ASSIGN_OR_RETURN(const double alpha, call.Number("alpha", fallback));
  attributes.push_back(format::Attribute::Float("alpha", static_cast<float>(alpha)));
  if (selu) {
    QTX_ASSIGN_OR_RETURN(const double gamma, call.Number("lambda", 1.05070102));
    attributes.push_back(format::Attribute::Float("gamma", static_cast<float>(gamma)));
  }
  return builder.Emit(call, {std::string(op.onnx), {builder.Use(x)}, attributes}, x->dims);
}

// silu: x * sigmoid(x). gelu: x * sigmoid(1.702 * x), as the standard library writes it.
Result<void> ConvertSwish(Builder& builder, const Call& call, const Operator& op) {
  QTX_ASSIGN_OR_RETURN(GraphTensor * x, builder.Operand(call, "x"));
  GraphTensor* inner = x;
  if (op.name == "gelu") {
    inner =
        builder.Inner(call, {"Mul", {builder.Use(x), builder.Scalar(call, 1.702F)}, {}}, x->dims);
  }
  GraphTensor* gate = builder.Inner(call, {"Sigmoid", {builder.Use(inner)}, {}}, x->dims);
  return builder.Emit(call, {"Mul", {builder.Use(x), builder.Use(gate)}, {}}, x->dims);
}

Result<void> ConvertAddN(Builder& builder, const Call& call, const Operator&) {
  QTX_ASSIGN_OR_RETURN(const auto tensors, builder.Operands(call, "x"));
  std::vector<std::string> inputs;
  for (GraphTensor* tensor : tensors) {
    if (tensor->dims != tensors[0]->dims) return call.Wrong("x", "tensors of one shape");
    inputs.push_back(builder.Use(tensor));
  }
  return builder.Emit(call, {"Sum", inputs, {}}, tensors[0]->dims);
}

// A copy without an entry in graph.quant is not quantized.
Result<void> ConvertCopy(Builder& builder, const Call& call, const Operator&) {
  QTX_ASSIGN_OR_RETURN(GraphTensor * x, builder.Operand(call, "x"));
  for (std::size_t i = 0; i < builder.ResultCount(call); ++i) {
    QTX_ASSIGN_OR_RETURN(const std::string name, builder.ResultName(call, i));
    GraphTensor* from = builder.HasEntry(name) ? x : builder.Reals(call, x);
    QTX_RETURN_IF_ERROR(builder.Bind(call, from, i));
  }
  return {};
}

}  // namespace qtx::convert::nnef
