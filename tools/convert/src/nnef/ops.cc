#include "nnef/ops.h"

#include <algorithm>
#include <array>

#include "errors.h"

namespace qtx::convert::nnef {
namespace {

constexpr std::string_view kWindow = "input size border padding stride dilation";

constexpr std::array kOperators = {
    Operator{"abs", "x", ConvertUnary, "Abs"},
    Operator{"acos", "x", ConvertUnary, "Acos"},
    Operator{"acosh", "x", ConvertUnary, "Acosh"},
    Operator{"add", "x y", ConvertBinary, "Add"},
    Operator{"add_n", "x", ConvertAddN},
    Operator{"all_reduce", "input axes", ConvertReduce, "ReduceMin"},
    Operator{"and", "x y", ConvertBinary, "And"},
    Operator{"any_reduce", "input axes", ConvertReduce, "ReduceMax"},
    Operator{"area_downsample", "input factor", ConvertPool},
    Operator{"argmax_reduce", "input axes", ConvertArgReduce, "ArgMax"},
    Operator{"argmin_reduce", "input axes", ConvertArgReduce, "ArgMin"},
    Operator{"asin", "x", ConvertUnary, "Asin"},
    Operator{"asinh", "x", ConvertUnary, "Asinh"},
    Operator{"atan", "x", ConvertUnary, "Atan"},
    Operator{"atanh", "x", ConvertUnary, "Atanh"},
    Operator{"avg_pool", kWindow, ConvertPool},
    Operator{"batch_normalization", "input mean variance offset scale epsilon",
             ConvertBatchNormalization},
    Operator{"box", "input size border padding stride dilation normalize", ConvertPool},
    Operator{"cast", "input", ConvertCast},
    Operator{"ceil", "x", ConvertUnary, "Ceil"},
    Operator{"clamp", "x a b", ConvertClamp},
    Operator{"concat", "values axis", ConvertConcat},
    Operator{"constant", "shape value", ConvertConstant},
    Operator{"conv", "input filter bias border padding stride dilation groups", ConvertConv},
    Operator{"copy", "x", ConvertCopy},
    Operator{"copy_n", "x times", ConvertCopy},
    Operator{"cos", "x", ConvertUnary, "Cos"},
    Operator{"cosh", "x", ConvertUnary, "Cosh"},
    Operator{"deconv", "input filter bias border padding stride dilation output_shape groups",
             ConvertDeconv},
    Operator{"div", "x y", ConvertBinary, "Div"},
    Operator{"elu", "x alpha", ConvertAlpha, "Elu"},
    Operator{"eq", "x y", ConvertCompare, "Equal"},
    Operator{"exp", "x", ConvertUnary, "Exp"},
    Operator{"external", "shape", ConvertExternal},
    Operator{"floor", "x", ConvertUnary, "Floor"},
    Operator{"gather", "input indices axis", ConvertGather},
    Operator{"ge", "x y", ConvertCompare, "GreaterOrEqual"},
    Operator{"gelu", "x", ConvertSwish},
    Operator{"gt", "x y", ConvertCompare, "Greater"},
    Operator{"l1_normalization", "input axes bias epsilon", ConvertNormalization, "ReduceL1"},
    Operator{"l2_normalization", "input axes bias epsilon", ConvertNormalization, "ReduceL2"},
    Operator{"le", "x y", ConvertCompare, "LessOrEqual"},
    Operator{"leaky_relu", "x alpha", ConvertAlpha, "LeakyRelu"},
    Operator{"linear", "input filter bias", ConvertLinear},
    Operator{"local_response_normalization", "input size alpha beta bias", ConvertLocalResponse},
    Operator{"log", "x", ConvertUnary, "Log"},
    Operator{"log2", "x", ConvertPower},
    Operator{"lt", "x y", ConvertCompare, "Less"},
    Operator{"matmul", "A B transposeA transposeB", ConvertMatmul},
    Operator{"max", "x y", ConvertBinary, "Max"},
    Operator{"max_pool", kWindow, ConvertPool},
    Operator{"max_reduce", "input axes", ConvertReduce, "ReduceMax"},
    Operator{"mean_reduce", "input axes", ConvertReduce, "ReduceMean"},
    Operator{"min", "x y", ConvertBinary, "Min"},
    Operator{"min_reduce", "input axes", ConvertReduce, "ReduceMin"},
    Operator{"mul", "x y", ConvertBinary, "Mul"},
    Operator{"multilinear_upsample", "input factor method border", ConvertUpsample},
    Operator{"ne", "x y", ConvertCompare},
    Operator{"nearest_upsample", "input factor", ConvertUpsample},
    Operator{"neg", "x", ConvertUnary, "Neg"},
    Operator{"not", "x", ConvertUnary, "Not"},
    Operator{"or", "x y", ConvertBinary, "Or"},
    Operator{"pad", "input padding border value", ConvertPad},
    Operator{"pow", "x y", ConvertBinary, "Pow"},
    Operator{"prelu", "x alpha", ConvertBinary, "PRelu"},
    Operator{"rcp", "x", ConvertUnary, "Reciprocal"},
    Operator{"relu", "x", ConvertUnary, "Relu"},
    Operator{"reshape", "input shape axis_start axis_count", ConvertReshape},
    Operator{"round", "x", ConvertPower},
    Operator{"rsqr", "x", ConvertPower},
    Operator{"rsqrt", "x", ConvertPower},
    Operator{"select", "condition true_value false_value", ConvertSelect},
    Operator{"selu", "x alpha lambda", ConvertAlpha, "Selu"},
    Operator{"sigmoid", "x", ConvertUnary, "Sigmoid"},
    Operator{"sign", "x", ConvertUnary, "Sign"},
    Operator{"silu", "x", ConvertSwish},
    Operator{"sin", "x", ConvertUnary, "Sin"},
    Operator{"sinh", "x", ConvertUnary, "Sinh"},
    Operator{"slice", "input axes begin end stride", ConvertSlice},
    Operator{"softmax", "x axes", ConvertSoftmax},
    Operator{"softplus", "x", ConvertUnary, "Softplus"},
    Operator{"split", "value axis ratios", ConvertSplit},
    Operator{"sqr", "x", ConvertPower},
    Operator{"sqrt", "x", ConvertUnary, "Sqrt"},
    Operator{"squeeze", "input axes", ConvertSqueeze},
    Operator{"stack", "values axis", ConvertStack},
    Operator{"sub", "x y", ConvertBinary, "Sub"},
    Operator{"sum_reduce", "input axes normalize", ConvertReduce, "ReduceSum"},
    Operator{"tan", "x", ConvertUnary, "Tan"},
    Operator{"tanh", "x", ConvertUnary, "Tanh"},
    Operator{"tile", "input repeats", ConvertTile},
    Operator{"tract_core_cast", "input to", ConvertCast},
    Operator{"transpose", "input axes", ConvertTranspose},
    Operator{"unsqueeze", "input axes", ConvertSqueeze},
    Operator{"unstack", "value axis", ConvertUnstack},
    Operator{"variable", "shape label", ConvertVariable},
};

}  // namespace

bool IsOperator(std::string_view name) {
  return std::ranges::find(kOperators, name, &Operator::name) != kOperators.end();
}

Result<void> ConvertOperator(Builder& builder, const Invocation& invocation) {
  const auto* row = std::ranges::find(kOperators, invocation.op, &Operator::name);
  if (row == kOperators.end()) {
    return Unsupported("line " + std::to_string(invocation.line),
                       "operator '" + invocation.op.substr(0, 64) +
                           "', expected one of NNEF that has a form in ONNX");
  }
  QTX_ASSIGN_OR_RETURN(const Call call, Call::Bind(invocation, row->parameters));
  auto converted = row->convert(builder, call, *row);
  if (converted.has_value()) return converted;
  const bool placed = converted.error().where.starts_with("line ") ||
                      converted.error().where.find(": line ") != std::string::npos;
  return placed ? converted : At(invocation.Place(), converted.error());
}

}  // namespace qtx::convert::nnef
