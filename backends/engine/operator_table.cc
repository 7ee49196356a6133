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
  StepResult (*general)(const NodePlan&) = nullptr;  // where `prepare` answers unsupported
};

// Operators of the domain com.microsoft.
constexpr std::array kContributed{
    Operator{"DequantizeLinear", PrepareDequantizeLinear},
    Operator{"QGemm", PrepareQGemm},
    Operator{"QLinearAdd", PrepareQLinear},
    Operator{"QLinearAveragePool", PrepareQLinear},
    Operator{"QLinearConcat", PrepareQLinearConcat},
    Operator{"QLinearGlobalAveragePool", PrepareQLinear},
    Operator{"QLinearLeakyRelu", PrepareQLinear},
    Operator{"QLinearMul", PrepareQLinear},
    Operator{"QLinearSigmoid", PrepareQLinear},
    Operator{"QLinearSoftmax", PrepareQLinear},
    Operator{"QuantizeLinear", PrepareQuantizeLinear},
};

constexpr std::array kOperators{
    Operator{"Abs", PrepareFunction},
    Operator{"Add", PrepareAdd, PrepareArithmetic},
    Operator{"And", PrepareCondition},
    Operator{"ArgMax", PrepareArgExtreme},
    Operator{"ArgMin", PrepareArgExtreme},
    Operator{"Attention", PrepareAttention},
    Operator{"AveragePool", PrepareAveragePool, PrepareGeneralAveragePool},
    Operator{"BatchNormalization", PrepareBatchNormalization},
    Operator{"Cast", PrepareConversion, PrepareGeneralCast},
    Operator{"Clip", PrepareConversion, PrepareGeneralClip},
    Operator{"Concat", PrepareConcat},
    Operator{"Constant", PrepareConstant},
    Operator{"Conv", PrepareConv, PrepareGeneralConv},
    Operator{"ConvInteger", PrepareConvInteger},
    Operator{"ConvTranspose", PrepareConvTranspose},
    Operator{"DepthToSpace", PrepareDepthAndSpace},
    Operator{"DequantizeLinear", PrepareDequantizeLinear},
    Operator{"Div", PrepareArithmetic},
    Operator{"DynamicQuantizeLinear", PrepareDynamicQuantizeLinear},
    Operator{"Elu", PrepareFunction},
    Operator{"Erf", PrepareFunction},
    Operator{"Exp", PrepareFunction},
    Operator{"Expand", PrepareExpand},
    Operator{"Flatten", PrepareReshapedNames, PrepareReshape},
    Operator{"GRU", PrepareGru},
    Operator{"Gather", PrepareGather},
    Operator{"GatherND", PrepareGatherNd},
    Operator{"Gelu", PrepareFunction},
    Operator{"Gemm", PrepareGemm, PrepareGeneralGemm},
    Operator{"GlobalAveragePool", PrepareGlobalAveragePool, PrepareGeneralGlobalAveragePool},
    Operator{"GlobalMaxPool", PrepareGlobalMaxPool},
    Operator{"HardSigmoid", PrepareFunction},
    Operator{"HardSwish", PrepareFunction},
    Operator{"Identity", PrepareConversion},
    Operator{"InstanceNormalization", PrepareInstanceNormalization},
    Operator{"IsNaN", PrepareIsNan},
    Operator{"LSTM", PrepareLstm},
    Operator{"LayerNormalization", PrepareLayerNormalization},
    Operator{"LeakyRelu", PrepareFunction},
    Operator{"Log", PrepareFunction},
    Operator{"LogSoftmax", PrepareLogSoftmax},
    Operator{"LpPool", PrepareLpPool},
    Operator{"MatMul", PrepareMatMul, PrepareGeneralMatMul},
    Operator{"MatMulInteger", PrepareMatMulInteger},
    Operator{"Max", PrepareArithmetic},
    Operator{"MaxPool", PrepareMaxPool, PrepareGeneralMaxPool},
    Operator{"Mean", PrepareArithmetic},
    Operator{"Min", PrepareArithmetic},
    Operator{"Mish", PrepareFunction},
    Operator{"Mul", PrepareMul, PrepareArithmetic},
    Operator{"Neg", PrepareFunction},
    Operator{"Not", PrepareCondition},
    Operator{"Or", PrepareCondition},
    Operator{"PRelu", PrepareArithmetic},
    Operator{"Pad", PreparePad},
    Operator{"Pow", PreparePow},
    Operator{"QLinearConv", PrepareQLinearConv},
    Operator{"QLinearMatMul", PrepareQLinearMatMul},
    Operator{"QuantizeLinear", PrepareQuantizeLinear},
    Operator{"RMSNormalization", PrepareLayerNormalization},
    Operator{"Reciprocal", PrepareFunction},
    Operator{"ReduceL2", PrepareReduce},
    Operator{"ReduceMax", PrepareReduce},
    Operator{"ReduceMean", PrepareReduce},
    Operator{"ReduceMin", PrepareReduce},
    Operator{"ReduceSum", PrepareReduce},
    Operator{"ReduceSumSquare", PrepareReduce},
    Operator{"Relu", PrepareConversion, PrepareFunction},
    Operator{"Reshape", PrepareReshapedNames, PrepareReshape},
    Operator{"Resize", PrepareResize},
    Operator{"ScatterND", PrepareScatterNd},
    Operator{"Shape", PrepareConstant},
    Operator{"Sigmoid", PrepareFunction},
    Operator{"Slice", PrepareSlice},
    Operator{"Softmax", PrepareSoftmax, PrepareGeneralSoftmax},
    Operator{"Softplus", PrepareFunction},
    Operator{"SpaceToDepth", PrepareDepthAndSpace},
    Operator{"Split", PrepareSplit},
    Operator{"Sqrt", PrepareFunction},
    Operator{"Squeeze", PrepareReshapedNames, PrepareReshape},
    Operator{"Sub", PrepareSub, PrepareArithmetic},
    Operator{"Sum", PrepareArithmetic},
    Operator{"Tanh", PrepareFunction},
    Operator{"Tile", PrepareTile},
    Operator{"TopK", PrepareTopK},
    Operator{"Transpose", PrepareTransposedNames, PrepareTranspose},
    Operator{"Unsqueeze", PrepareReshapedNames, PrepareReshape},
    Operator{"Where", PrepareWhere},
    Operator{"Xor", PrepareCondition},
};

// True for general paths that compute `exact` only.
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

StepResult PrepareNode(const NodePlan& plan, Path path) {
  const Operator* found = FindOperator(plan.node());
  if (found == nullptr) {
    return plan.Unsupported("no such operator here, domain '" + plan.node().domain + "'");
  }
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
