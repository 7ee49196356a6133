#include "engine/operator_table.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "engine/ops/operators.h"

namespace qtx::backend::engine {
namespace {

struct Operator {
  std::string_view op_type;
  StepResult (*prepare)(const NodePlan&);
  std::string_view attributes;  // all that it understands, each between two spaces
  StepResult (*general)(const NodePlan&) = nullptr;  // where `prepare` answers unsupported
};

// Domain com.microsoft.
constexpr std::array kContributed{
    Operator{"DequantizeLinear", PrepareDequantizeLinear, " axis block_size "},
    Operator{"QGemm", PrepareQGemm, " alpha transA transB "},
    Operator{"QLinearAdd", PrepareQLinear, ""},
    Operator{"QLinearAveragePool", PrepareQLinear,
             " auto_pad ceil_mode channels_last count_include_pad kernel_shape pads strides "},
    Operator{"QLinearConcat", PrepareQLinearConcat, " axis "},
    Operator{"QLinearGlobalAveragePool", PrepareQLinear, " channels_last "},
    Operator{"QLinearLeakyRelu", PrepareQLinear, " alpha "},
    Operator{"QLinearMul", PrepareQLinear, ""},
    Operator{"QLinearSigmoid", PrepareQLinear, ""},
    Operator{"QLinearSoftmax", PrepareQLinear, " axis opset "},
    Operator{"QuantizeLinear", PrepareQuantizeLinear, " axis block_size "},
};

constexpr std::array kOperators{
    Operator{"Abs", PrepareFunction, ""},
    Operator{"Add", PrepareAdd, "", PrepareArithmetic},
    Operator{"ArgMax", PrepareArgExtreme, " axis keepdims select_last_index "},
    Operator{"ArgMin", PrepareArgExtreme, " axis keepdims select_last_index "},
    Operator{"Attention", PrepareAttention,
             " is_causal kv_num_heads q_num_heads qk_matmul_output_mode scale softcap "
             "softmax_precision "},
    Operator{"AveragePool", PrepareAveragePool,
             " auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides ",
             PrepareGeneralAveragePool},
    Operator{"BatchNormalization", PrepareBatchNormalization, " epsilon momentum training_mode "},
    Operator{"Cast", PrepareConversion, " round_mode saturate to ", PrepareGeneralCast},
    Operator{"Clip", PrepareConversion, " max min ", PrepareGeneralClip},
    Operator{"Concat", PrepareConcat, " axis "},
    Operator{"Constant", PrepareConstant, " value value_float value_floats value_int value_ints "},
    Operator{"Conv", PrepareConv, " auto_pad dilations group kernel_shape pads strides ",
             PrepareGeneralConv},
    Operator{"ConvInteger", PrepareConvInteger,
             " auto_pad dilations group kernel_shape pads strides "},
    Operator{"ConvTranspose", PrepareConvTranspose,
             " auto_pad dilations group kernel_shape output_padding output_shape pads strides "},
    Operator{"DepthToSpace", PrepareDepthAndSpace, " blocksize mode "},
    Operator{"DequantizeLinear", PrepareDequantizeLinear, " axis block_size output_dtype "},
    Operator{"Div", PrepareArithmetic, ""},
    Operator{"DynamicQuantizeLinear", PrepareDynamicQuantizeLinear, ""},
    Operator{"Elu", PrepareFunction, " alpha "},
    Operator{"Erf", PrepareFunction, ""},
    Operator{"Exp", PrepareFunction, ""},
    Operator{"Expand", PrepareExpand, ""},
    Operator{"Flatten", PrepareReshapedNames, " axis ", PrepareReshape},
    Operator{"GRU", PrepareGru,
             " activation_alpha activation_beta activations clip direction hidden_size layout "
             "linear_before_reset "},
    Operator{"Gather", PrepareGather, " axis "},
    Operator{"GatherND", PrepareGatherNd, " batch_dims "},
    Operator{"Gelu", PrepareFunction, " approximate "},
    Operator{"Gemm", PrepareGemm, " alpha beta transA transB ", PrepareGeneralGemm},
    Operator{"GlobalAveragePool", PrepareGlobalAveragePool, "", PrepareGeneralGlobalAveragePool},
    Operator{"GlobalMaxPool", PrepareGlobalMaxPool, ""},
    Operator{"HardSigmoid", PrepareFunction, " alpha beta "},
    Operator{"HardSwish", PrepareFunction, ""},
    Operator{"Identity", PrepareConversion, ""},
    Operator{"InstanceNormalization", PrepareInstanceNormalization, " epsilon "},
    Operator{"LSTM", PrepareLstm,
             " activation_alpha activation_beta activations clip direction hidden_size "
             "input_forget layout "},
    Operator{"LayerNormalization", PrepareLayerNormalization, " axis epsilon stash_type "},
    Operator{"LeakyRelu", PrepareFunction, " alpha "},
    Operator{"Log", PrepareFunction, ""},
    Operator{"LogSoftmax", PrepareLogSoftmax, " axis "},
    Operator{"LpPool", PrepareLpPool, " auto_pad ceil_mode dilations kernel_shape p pads strides "},
    Operator{"MatMul", PrepareMatMul, "", PrepareGeneralMatMul},
    Operator{"MatMulInteger", PrepareMatMulInteger, ""},
    Operator{"Max", PrepareArithmetic, ""},
    Operator{"MaxPool", PrepareMaxPool,
             " auto_pad ceil_mode dilations kernel_shape pads storage_order strides ",
             PrepareGeneralMaxPool},
    Operator{"Mean", PrepareArithmetic, ""},
    Operator{"Min", PrepareArithmetic, ""},
    Operator{"Mish", PrepareFunction, ""},
    Operator{"Mul", PrepareMul, "", PrepareArithmetic},
    Operator{"Neg", PrepareFunction, ""},
    Operator{"PRelu", PrepareArithmetic, ""},
    Operator{"Pad", PreparePad, " mode "},
    Operator{"Pow", PreparePow, ""},
    Operator{"QLinearConv", PrepareQLinearConv,
             " auto_pad dilations group kernel_shape pads strides "},
    Operator{"QLinearMatMul", PrepareQLinearMatMul, ""},
    Operator{"QuantizeLinear", PrepareQuantizeLinear,
             " axis block_size output_dtype precision saturate "},
    Operator{"RMSNormalization", PrepareLayerNormalization, " axis epsilon stash_type "},
    Operator{"Reciprocal", PrepareFunction, ""},
    Operator{"ReduceL2", PrepareReduce, " axes keepdims noop_with_empty_axes "},
    Operator{"ReduceMax", PrepareReduce, " axes keepdims noop_with_empty_axes "},
    Operator{"ReduceMean", PrepareReduce, " axes keepdims noop_with_empty_axes "},
    Operator{"ReduceMin", PrepareReduce, " axes keepdims noop_with_empty_axes "},
    Operator{"ReduceSum", PrepareReduce, " axes keepdims noop_with_empty_axes "},
    Operator{"ReduceSumSquare", PrepareReduce, " axes keepdims noop_with_empty_axes "},
    Operator{"Relu", PrepareConversion, "", PrepareFunction},
    Operator{"Reshape", PrepareReshapedNames, " allowzero shape ", PrepareReshape},
    Operator{"Resize", PrepareResize,
             " antialias axes coordinate_transformation_mode cubic_coeff_a exclude_outside "
             "extrapolation_value keep_aspect_ratio_policy mode nearest_mode "},
    Operator{"ScatterND", PrepareScatterNd, " reduction "},
    Operator{"Shape", PrepareConstant, " end start "},
    Operator{"Sigmoid", PrepareFunction, ""},
    Operator{"Slice", PrepareSlice, ""},
    Operator{"Softmax", PrepareSoftmax, " axis ", PrepareGeneralSoftmax},
    Operator{"Softplus", PrepareFunction, ""},
    Operator{"SpaceToDepth", PrepareDepthAndSpace, " blocksize "},
    Operator{"Split", PrepareSplit, " axis num_outputs "},
    Operator{"Sqrt", PrepareFunction, ""},
    Operator{"Squeeze", PrepareReshapedNames, " axes ", PrepareReshape},
    Operator{"Sub", PrepareSub, "", PrepareArithmetic},
    Operator{"Sum", PrepareArithmetic, ""},
    Operator{"Tanh", PrepareFunction, ""},
    Operator{"Tile", PrepareTile, ""},
    Operator{"TopK", PrepareTopK, " axis largest sorted "},
    Operator{"Transpose", PrepareTransposedNames, " perm ", PrepareTranspose},
    Operator{"Unsqueeze", PrepareReshapedNames, " axes ", PrepareReshape},
    Operator{"Where", PrepareWhere, ""},
};

// An attribute that nobody reads might say that something else is meant.
Result<void> CheckAttributes(const NodePlan& plan, const Operator& op, bool inner) {
  for (const format::Attribute& attribute : plan.node().attributes) {
    if (inner && attribute.name == "bias_factor") continue;
    const bool known = op.attributes.find(" " + attribute.name + " ") != std::string_view::npos;
    if (!known) return plan.Unsupported("attribute '" + attribute.name + "'");
  }
  return {};
}

// The general paths that round as exact does, whatever is asked for.
bool OnlyExact(StepResult (*general)(const NodePlan&)) {
  return general == PrepareArithmetic || general == PrepareFunction ||
         general == PrepareGeneralCast || general == PrepareGeneralClip;
}

StepResult PrepareKnown(const NodePlan& plan, const Operator& op, Path path) {
  if (op.general == nullptr) return op.prepare(plan);
  if (path == Path::kGeneral) return op.general(plan);
  StepResult step = op.prepare(plan);
  if (step.has_value() || step.error().code != ErrorCode::kUnsupported) return step;
  if (plan.arithmetic() != Arithmetic::kExact && OnlyExact(op.general)) return step;
  return op.general(plan);
}

const Operator* FindOperator(const format::Node& node) {
  const auto in = [&node](std::span<const Operator> operators) -> const Operator* {
    const auto found = std::ranges::find(operators, node.op_type, &Operator::op_type);
    return found == operators.end() ? nullptr : &*found;
  };
  if (node.domain.empty() || node.domain == "ai.onnx") return in(kOperators);
  return node.domain == "com.microsoft" ? in(kContributed) : nullptr;
}

}  // namespace

StepResult PrepareNode(const NodePlan& plan, Path path, bool inner) {
  const Operator* found = FindOperator(plan.node());
  if (found == nullptr) {
    return plan.Unsupported("no such operator here, domain '" + plan.node().domain + "'");
  }
  QTX_RETURN_IF_ERROR(CheckAttributes(plan, *found, inner));
  return PrepareKnown(plan, *found, path);
}

std::vector<std::string_view> SupportedOperators() {
  std::vector<std::string_view> names;
  names.reserve(kOperators.size() + kContributed.size());
  for (const Operator& entry : kOperators) names.push_back(entry.op_type);
  for (const Operator& entry : kContributed) {
    if (std::ranges::find(names, entry.op_type) == names.end()) names.push_back(entry.op_type);
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace qtx::backend::engine
