// Elementwise operators, products and reductions.  Source: the operators' attributes and their
// defaults in paddle/fluid/operators (activation_op.cc, elementwise, matmul_v2_op.cc, reduce_ops).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "paddle/ops.h"

namespace qtx::convert::paddle {
namespace {

using A = format::Attribute;
using format::ElementType;

// Y's axes lie along X's from `axis` on, and the rest of X's are broadcast.
// Source: elementwise_op_function.h.
Result<std::string> Broadcast(Builder& builder, const Op& op) {
  QTX_ASSIGN_OR_RETURN(std::string y, builder.In(op, "Y"));
  const std::int64_t axis = op.Int("axis", -1);
  if (axis == -1) return y;
  QTX_ASSIGN_OR_RETURN(const std::int64_t x_rank, builder.Rank(op, "X"));
  QTX_ASSIGN_OR_RETURN(const std::int64_t y_rank, builder.Rank(op, "Y"));
  if (x_rank == y_rank || axis + y_rank == x_rank) return y;
  if (axis < 0 || axis > x_rank - y_rank)
    return Unsupported(op, "axis " + std::to_string(axis) + " of ranks " + std::to_string(x_rank) +
                               " and " + std::to_string(y_rank));
  std::vector<std::int64_t> axes(static_cast<std::size_t>(x_rank - axis - y_rank));
  std::iota(axes.begin(), axes.end(), y_rank);
  const std::string wide = builder.Between(y, "wide");
  builder.Node("Unsqueeze", {y, builder.Ints(wide + "/axes", axes)}, {wide});
  return wide;
}

Result<void> Elementwise(Builder& builder, const Op& op) {
  static const std::map<std::string_view, const char*> kOnnx = {
      {"elementwise_add", "Add"}, {"elementwise_sub", "Sub"}, {"elementwise_mul", "Mul"},
      {"elementwise_div", "Div"}, {"elementwise_max", "Max"}, {"elementwise_min", "Min"},
      {"elementwise_pow", "Pow"}};
  if (!op.String("fuse_activation", "").empty()) return Unsupported(op, "a fused activation");
  QTX_ASSIGN_OR_RETURN(const std::string x, builder.In(op, "X"));
  QTX_ASSIGN_OR_RETURN(const std::string y, Broadcast(builder, op));
  QTX_ASSIGN_OR_RETURN(const std::string out, builder.Out(op, "Out"));
  builder.Node(kOnnx.at(op.type), {x, y}, {out});
  return {};
}

Result<std::string> Transposed(Builder& builder, const Op& op, std::string_view parameter,
                               std::string value, bool wanted) {
  QTX_ASSIGN_OR_RETURN(const std::int64_t rank, builder.Rank(op, parameter));
  if (!wanted || rank < 2) return value;
  std::vector<std::int64_t> perm(static_cast<std::size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  const std::string turned = builder.Between(value, "transposed");
  builder.Node("Transpose", {std::move(value)}, {turned}, {A::Ints("perm", perm)});
  return turned;
}

// `y` is the product; alpha multiplies it.
Result<void> Product(Builder& builder, const Op& op, std::vector<std::string> inputs, float alpha) {
  QTX_ASSIGN_OR_RETURN(const std::string out, builder.Out(op, "Out"));
  if (alpha == 1.0F) {
    builder.Node("MatMul", std::move(inputs), {out});
    return {};
  }
  const std::string product = builder.Between(out, "product");
  builder.Node("MatMul", std::move(inputs), {product});
  builder.Node("Mul", {product, builder.Scalar(out + "/alpha", alpha)}, {out});
  return {};
}

Result<void> MatMul(Builder& builder, const Op& op) {
  for (const char* fused : {"fused_reshape_X", "fused_reshape_Y", "fused_reshape_Out",
                            "fused_transpose_X", "fused_transpose_Y", "fused_transpose_Out"})
    QTX_RETURN_IF_ERROR(RefuseSet(op, fused));
  const bool second = op.type == "matmul_v2";
  QTX_ASSIGN_OR_RETURN(std::string x, builder.In(op, "X"));
  QTX_ASSIGN_OR_RETURN(auto whole, WholeWeights(builder, op, "X", "Y", "Out"));
  if (!whole) {
    QTX_ASSIGN_OR_RETURN(whole, builder.In(op, "Y"));
  }
  QTX_ASSIGN_OR_RETURN(
      x, Transposed(builder, op, "X", x, op.Bool(second ? "trans_x" : "transpose_X", false)));
  QTX_ASSIGN_OR_RETURN(
      const std::string y,
      Transposed(builder, op, "Y", *whole, op.Bool(second ? "trans_y" : "transpose_Y", false)));
  return Product(builder, op, {x, y}, second ? 1.0F : op.Float("alpha", 1.0F));
}

// mul: X as a matrix whose rows are its first x_num_col_dims axes.
Result<void> Mul(Builder& builder, const Op& op) {
  QTX_ASSIGN_OR_RETURN(std::string x, builder.In(op, "X"));
  QTX_ASSIGN_OR_RETURN(auto y, WholeWeights(builder, op, "X", "Y", "Out"));
  if (!y) {
    QTX_ASSIGN_OR_RETURN(y, builder.In(op, "Y"));
  }
  QTX_ASSIGN_OR_RETURN(const std::int64_t x_rank, builder.Rank(op, "X"));
  QTX_ASSIGN_OR_RETURN(const std::int64_t y_rank, builder.Rank(op, "Y"));
  const std::int64_t rows = op.Int("x_num_col_dims", 1);
  if (y_rank != 2 || op.Int("y_num_col_dims", 1) != 1) return Unsupported(op, "Y is no matrix");
  if (rows != x_rank - 1) {
    if (rows != 1) return Unsupported(op, "x_num_col_dims " + std::to_string(rows));
    const std::string flat = builder.Between(x, "flat");
    builder.Node("Flatten", {x}, {flat}, {A::Int("axis", 1)});
    x = flat;
  }
  return Product(builder, op, {x, *y}, 1.0F);
}

Result<void> Plain(Builder& builder, const Op& op) {
  static const std::map<std::string_view, const char*> kOnnx = {{"relu", "Relu"},
                                                                {"sigmoid", "Sigmoid"},
                                                                {"tanh", "Tanh"},
                                                                {"sqrt", "Sqrt"},
                                                                {"exp", "Exp"},
                                                                {"abs", "Abs"},
                                                                {"log", "Log"},
                                                                {"erf", "Erf"},
                                                                {"mish", "Mish"},
                                                                {"assign", "Identity"},
                                                                {"reciprocal", "Reciprocal"}};
  if (op.type == "mish" && op.Float("threshold", 20) != 20)
    return Unsupported(op, "threshold is not 20");
  return Unary(builder, op, kOnnx.at(op.type));
}

Result<void> Clipped(Builder& builder, const Op& op, float low, float high) {
  QTX_ASSIGN_OR_RETURN(const std::string x, builder.In(op, "X"));
  QTX_ASSIGN_OR_RETURN(const std::string y, builder.Out(op, "Out"));
  builder.Node("Clip", {x, builder.Scalar(y + "/min", low), builder.Scalar(y + "/max", high)}, {y});
  return {};
}

Result<void> Clip(Builder& builder, const Op& op) {
  if (op.type == "relu6") return Clipped(builder, op, 0, op.Float("threshold", 6));
  for (const char* parameter : {"Min", "Max"})
    QTX_RETURN_IF_ERROR(RefuseInput(builder, op, parameter));
  if (op.Find("min") == nullptr || op.Find("max") == nullptr)
    return Invalid(op, "has no min and max");
  return Clipped(builder, op, op.Float("min", 0), op.Float("max", 0));
}

Result<void> HardSwish(Builder& builder, const Op& op) {
  if (op.Float("threshold", 6) != 6 || op.Float("scale", 6) != 6 || op.Float("offset", 3) != 3)
    return Unsupported(op, "threshold, scale and offset other than 6, 6 and 3");
  return Unary(builder, op, "HardSwish");
}

Result<void> HardSigmoid(Builder& builder, const Op& op) {
  return Unary(
      builder, op, "HardSigmoid",
      {A::Float("alpha", op.Float("slope", 0.2F)), A::Float("beta", op.Float("offset", 0.5F))});
}

Result<void> WithAlpha(Builder& builder, const Op& op) {
  const bool leaky = op.type == "leaky_relu";
  return Unary(builder, op, leaky ? "LeakyRelu" : "Elu",
               {A::Float("alpha", op.Float("alpha", leaky ? 0.02F : 1.0F))});
}

Result<void> Gelu(Builder& builder, const Op& op) {
  return Unary(builder, op, "Gelu",
               {A::String("approximate", op.Bool("approximate", false) ? "tanh" : "none")});
}

// x * sigmoid(beta * x)
Result<void> Swish(Builder& builder, const Op& op) {
  if (op.Float("beta", 1.0F) != 1.0F) return Unsupported(op, "beta is not 1");
  QTX_ASSIGN_OR_RETURN(const std::string x, builder.In(op, "X"));
  QTX_ASSIGN_OR_RETURN(const std::string y, builder.Out(op, "Out"));
  const std::string gate = builder.Between(y, "sigmoid");
  builder.Node("Sigmoid", {x}, {gate});
  builder.Node("Mul", {x, gate}, {y});
  return {};
}

Result<void> Softmax(Builder& builder, const Op& op) {
  return Unary(builder, op, op.type == "softmax" ? "Softmax" : "LogSoftmax",
               {A::Int("axis", op.Int("axis", -1))});
}

// scale * x + bias, or scale * (x + bias).
Result<void> Scale(Builder& builder, const Op& op) {
  QTX_RETURN_IF_ERROR(RefuseInput(builder, op, "ScaleTensor"));
  QTX_ASSIGN_OR_RETURN(const Var declared, builder.Declared(op, "X"));
  const float scale = op.Float("scale", 1), bias = op.Float("bias", 0);
  if (scale == 1 && bias == 0) return Unary(builder, op, "Identity");
  if (declared.elem_type != ElementType::kFloat)
    return Unsupported(op, std::string(format::Name(declared.elem_type)) + ", not FLOAT");
  QTX_ASSIGN_OR_RETURN(std::string x, builder.In(op, "X"));
  QTX_ASSIGN_OR_RETURN(const std::string y, builder.Out(op, "Out"));
  const bool after = op.Bool("bias_after_scale", true);
  std::vector<std::pair<const char*, float>> steps = {{"Mul", scale}, {"Add", bias}};
  if (!after) std::swap(steps[0], steps[1]);
  std::erase_if(
      steps, [](const auto& step) { return step.second == (step.first[0] == 'M' ? 1.0F : 0.0F); });
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::string out = i + 1 == steps.size() ? y : builder.Between(y, steps[i].first);
    builder.Node(
        steps[i].first,
        {x, builder.Scalar(y + (steps[i].first[0] == 'M' ? "/scale" : "/bias"), steps[i].second)},
        {out});
    x = out;
  }
  return {};
}

Result<void> Dropout(Builder& builder, const Op& op) {
  const std::string how = op.String("dropout_implementation", "downgrade_in_infer");
  if (how == "upscale_in_train") return Unary(builder, op, "Identity");
  if (how != "downgrade_in_infer") return Unsupported(op, "'" + how + "'");
  QTX_ASSIGN_OR_RETURN(const std::string x, builder.In(op, "X"));
  QTX_ASSIGN_OR_RETURN(const std::string y, builder.Out(op, "Out"));
  builder.Node("Mul", {x, builder.Scalar(y + "/keep", 1.0F - op.Float("dropout_prob", 0.5F))}, {y});
  return {};
}

// A full reduction without keep_dim has one dimension of 1 in older programs, none in newer ones:
// the declaration says.
Result<void> Reduce(Builder& builder, const Op& op) {
  static const std::map<std::string_view, const char*> kOnnx = {{"reduce_mean", "ReduceMean"},
                                                                {"reduce_sum", "ReduceSum"},
                                                                {"reduce_max", "ReduceMax"},
                                                                {"reduce_min", "ReduceMin"}};
  QTX_ASSIGN_OR_RETURN(const std::string x, builder.In(op, "X"));
  QTX_ASSIGN_OR_RETURN(const std::int64_t rank, builder.Rank(op, "X"));
  QTX_ASSIGN_OR_RETURN(const Var out, builder.Declared(op, "Out", true));
  QTX_ASSIGN_OR_RETURN(const std::string y, builder.Out(op, "Out"));
  const auto axes = op.Ints("dim");
  const bool keep = op.Bool("keep_dim", false);
  const bool all =
      op.Bool("reduce_all", false) || axes.empty() || axes.size() == static_cast<std::size_t>(rank);
  const bool reshaped = all && !keep && out.shape.size() == 1;
  const std::string reduced = reshaped ? builder.Between(y, "scalar") : y;
  std::vector<std::string> inputs = {x};
  if (!all) inputs.push_back(builder.Ints(y + "/axes", axes));
  builder.Node(kOnnx.at(op.type), inputs, {reduced}, {A::Int("keepdims", keep ? 1 : 0)});
  if (reshaped) builder.Node("Reshape", {reduced, builder.Ints(y + "/shape", {1})}, {y});
  return {};
}

Result<void> ArgMax(Builder& builder, const Op& op) {
  QTX_RETURN_IF_ERROR(RefuseSet(op, "flatten"));
  QTX_ASSIGN_OR_RETURN(const std::string x, builder.In(op, "X"));
  QTX_ASSIGN_OR_RETURN(const Var out, builder.Declared(op, "Out", true));
  QTX_ASSIGN_OR_RETURN(const std::string y, builder.Out(op, "Out"));
  const bool wide = out.elem_type == ElementType::kInt64;
  const std::string index = wide ? y : builder.Between(y, "int64");
  builder.Node(op.type == "arg_max" ? "ArgMax" : "ArgMin", {x}, {index},
               {A::Int("axis", op.Int("axis", -1)), A::Int("keepdims", op.Int("keepdims", 0))});
  if (!wide)
    builder.Node("Cast", {index}, {y}, {A::Int("to", static_cast<std::int64_t>(out.elem_type))});
  return {};
}

Result<void> Cast(Builder& builder, const Op& op) {
  const ElementType to = ElementTypeOf(op.Int("out_dtype", -1));
  if (to == ElementType::kUndefined) return Unsupported(op, "out_dtype");
  return Unary(builder, op, "Cast", {A::Int("to", static_cast<std::int64_t>(to))});
}

using W = Operator::Whole;
constexpr Operator kMathOperators[] = {
    {"elementwise_add", Elementwise},
    {"elementwise_sub", Elementwise},
    {"elementwise_mul", Elementwise},
    {"elementwise_div", Elementwise},
    {"elementwise_max", Elementwise},
    {"elementwise_min", Elementwise},
    {"elementwise_pow", Elementwise},
    {"matmul", MatMul, W::kTaken},
    {"matmul_v2", MatMul, W::kTaken},
    {"mul", Mul, W::kTaken},
    {"relu", Plain, W::kCarried},
    {"sigmoid", Plain},
    {"tanh", Plain},
    {"sqrt", Plain},
    {"exp", Plain},
    {"abs", Plain},
    {"log", Plain},
    {"erf", Plain},
    {"mish", Plain},
    {"assign", Plain, W::kCarried},
    {"reciprocal", Plain},
    {"relu6", Clip},
    {"clip", Clip},
    {"hard_swish", HardSwish},
    {"hard_sigmoid", HardSigmoid},
    {"leaky_relu", WithAlpha},
    {"elu", WithAlpha},
    {"gelu", Gelu},
    {"swish", Swish},
    {"silu", Swish},
    {"softmax", Softmax},
    {"log_softmax", Softmax},
    {"scale", Scale},
    {"dropout", Dropout},
    {"reduce_mean", Reduce},
    {"reduce_sum", Reduce},
    {"reduce_max", Reduce},
    {"reduce_min", Reduce},
    {"arg_max", ArgMax},
    {"arg_min", ArgMax},
    {"cast", Cast},
};

}  // namespace

std::span<const Operator> MathOperators() { return kMathOperators; }

}  // namespace qtx::convert::paddle
