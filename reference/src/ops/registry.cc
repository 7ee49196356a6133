#include "ops/registry.h"

#include <algorithm>
#include <array>
#include <string>

#include "arithmetic/ggml_kernels.h"
#include "arithmetic/requirement.h"
#include "arithmetic/tflite_kernels.h"
#include "parameters.h"
#include "qtx/reference/interpreter.h"

namespace qtx::reference {
namespace {

// Sorted by domain, then op_type.
constexpr std::array kOperators = {
    &ops::kAbs,
    &ops::kAcos,
    &ops::kAcosh,
    &ops::kAdd,
    &ops::kAnd,
    &ops::kArgMax,
    &ops::kArgMin,
    &ops::kAsin,
    &ops::kAsinh,
    &ops::kAtan,
    &ops::kAtanh,
    &ops::kAttention,
    &ops::kAveragePool,
    &ops::kBatchNormalization,
    &ops::kBitShift,
    &ops::kBitwiseAnd,
    &ops::kBitwiseNot,
    &ops::kBitwiseOr,
    &ops::kBitwiseXor,
    &ops::kCast,
    &ops::kCastLike,
    &ops::kCeil,
    &ops::kCelu,
    &ops::kClip,
    &ops::kCompress,
    &ops::kConcat,
    &ops::kConstant,
    &ops::kConstantOfShape,
    &ops::kConv,
    &ops::kConvInteger,
    &ops::kConvTranspose,
    &ops::kCos,
    &ops::kCosh,
    &ops::kCumProd,
    &ops::kCumSum,
    &ops::kDepthToSpace,
    &ops::kDequantizeLinear,
    &ops::kDiv,
    &ops::kDropout,
    &ops::kDynamicQuantizeLinear,
    &ops::kEinsum,
    &ops::kElu,
    &ops::kEqual,
    &ops::kErf,
    &ops::kExp,
    &ops::kExpand,
    &ops::kEyeLike,
    &ops::kFlatten,
    &ops::kFloor,
    &ops::kGRU,
    &ops::kGather,
    &ops::kGatherElements,
    &ops::kGatherND,
    &ops::kGelu,
    &ops::kGemm,
    &ops::kGlobalAveragePool,
    &ops::kGlobalMaxPool,
    &ops::kGreater,
    &ops::kGreaterOrEqual,
    &ops::kGridSample,
    &ops::kGroupNormalization,
    &ops::kHardSigmoid,
    &ops::kHardSwish,
    &ops::kHardmax,
    &ops::kIdentity,
    &ops::kInstanceNormalization,
    &ops::kIsInf,
    &ops::kIsNaN,
    &ops::kLRN,
    &ops::kLSTM,
    &ops::kLayerNormalization,
    &ops::kLeakyRelu,
    &ops::kLess,
    &ops::kLessOrEqual,
    &ops::kLog,
    &ops::kLogSoftmax,
    &ops::kLpNormalization,
    &ops::kLpPool,
    &ops::kMatMul,
    &ops::kMatMulInteger,
    &ops::kMax,
    &ops::kMaxPool,
    &ops::kMean,
    &ops::kMin,
    &ops::kMish,
    &ops::kMod,
    &ops::kMul,
    &ops::kNeg,
    &ops::kNonMaxSuppression,
    &ops::kNonZero,
    &ops::kNot,
    &ops::kOneHot,
    &ops::kOr,
    &ops::kPRelu,
    &ops::kPad,
    &ops::kPow,
    &ops::kQLinearConv,
    &ops::kQLinearMatMul,
    &ops::kQuantizeLinear,
    &ops::kRMSNormalization,
    &ops::kRange,
    &ops::kReciprocal,
    &ops::kReduceL1,
    &ops::kReduceL2,
    &ops::kReduceLogSum,
    &ops::kReduceLogSumExp,
    &ops::kReduceMax,
    &ops::kReduceMean,
    &ops::kReduceMin,
    &ops::kReduceProd,
    &ops::kReduceSum,
    &ops::kReduceSumSquare,
    &ops::kRelu,
    &ops::kReshape,
    &ops::kResize,
    &ops::kReverseSequence,
    &ops::kRotaryEmbedding,
    &ops::kRound,
    &ops::kScatterElements,
    &ops::kScatterND,
    &ops::kSelu,
    &ops::kShape,
    &ops::kShrink,
    &ops::kSigmoid,
    &ops::kSign,
    &ops::kSin,
    &ops::kSinh,
    &ops::kSize,
    &ops::kSlice,
    &ops::kSoftmax,
    &ops::kSoftplus,
    &ops::kSoftsign,
    &ops::kSpaceToDepth,
    &ops::kSplit,
    &ops::kSqrt,
    &ops::kSqueeze,
    &ops::kSub,
    &ops::kSum,
    &ops::kSwish,
    &ops::kTan,
    &ops::kTanh,
    &ops::kThresholdedRelu,
    &ops::kTile,
    &ops::kTopK,
    &ops::kTranspose,
    &ops::kTrilu,
    &ops::kUnsqueeze,
    &ops::kWhere,
    &ops::kXor,
    &ops::kMicrosoftDequantizeLinear,
    &ops::kQGemm,
    &ops::kQLinearAdd,
    &ops::kQLinearAveragePool,
    &ops::kQLinearConcat,
    &ops::kQLinearGlobalAveragePool,
    &ops::kQLinearLeakyRelu,
    &ops::kQLinearMul,
    &ops::kQLinearSigmoid,
    &ops::kQLinearSoftmax,
    &ops::kMicrosoftQuantizeLinear,
};

}  // namespace

Result<format::Dims> Call::OutputDims(std::size_t i) const {
  const std::optional<format::Dims>& dims = facts->Output(i).dims;
  const auto is_known = [](std::int64_t size) { return size >= 0; };
  const std::string place = "output[" + std::to_string(i) + "]";
  if (!dims || !std::ranges::all_of(*dims, is_known)) {
    return Error{ErrorCode::kTooLarge, place, "has a size that 64 bits do not hold"};
  }
  auto fits = CheckComputable(*dims);
  if (!fits.has_value()) return At(place, std::move(fits).error());
  return *dims;
}

std::span<const Operator* const> Operators() { return kOperators; }

const Operator* FindOperator(std::string_view domain, std::string_view op_type) {
  if (domain == "ai.onnx") domain = "";
  const auto found = std::ranges::find_if(kOperators, [domain, op_type](const Operator* op) {
    return op->domain == domain && op->op_type == op_type;
  });
  return found == kOperators.end() ? nullptr : *found;
}

namespace {

// Parameters of quantized inputs are part of their types; their elements no clause speaks of.
format::Application FactsOf(const format::OpSchema& schema, const Call& call) {
  format::Application facts{schema, call.node, call.opset, {}, {}};
  if (facts.opset == 0) facts.opset = format::NewestOpset();
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const format::Tensor* input = call.inputs[i];
    format::ValueFacts& value = facts.inputs.emplace_back();
    if (input == nullptr) continue;
    value = {.given = true, .type = input->elem_type, .dims = input->dims};
    if (!input->quantization) value.constant = input;
    value.is_initializer = call.IsInitializer(i);
  }
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    facts.outputs.push_back({.given = call.Wants(i), .type = call.outputs[i].elem_type});
  }
  return facts;
}

Result<format::Tensor> RunSingle(const Operator& op, const Call& call) {
  if (call.arithmetic.kernels == Arithmetic::Kernels::kTflite) {
    QTX_ASSIGN_OR_RETURN(std::optional<format::Tensor> stored, RunTfliteKernel(call));
    if (stored) return *std::move(stored);
  } else if (call.arithmetic.kernels == Arithmetic::Kernels::kXnnpack) {
    QTX_ASSIGN_OR_RETURN(std::optional<format::Tensor> stored, RunXnnpackKernel(call));
    if (stored) return *std::move(stored);
  } else if (IsGgml(call.arithmetic)) {
    QTX_ASSIGN_OR_RETURN(std::optional<format::Tensor> product, RunGgmlProduct(call));
    if (product) return *std::move(product);
  }
  return op.run(call);
}

}  // namespace

Result<std::vector<format::Tensor>> RunOperator(const Operator& op, const Call& unchecked) {
  const format::OpSchema* schema = format::FindSchema(op.domain, op.op_type);
  if (schema == nullptr) {
    return Error{ErrorCode::kUnsupported, "", std::string(op.op_type) + " is not in the catalogue"};
  }
  format::Application facts = FactsOf(*schema, unchecked);
  QTX_RETURN_IF_ERROR(format::CheckApplication(facts));
  if (op.supports != nullptr) QTX_RETURN_IF_ERROR(op.supports(unchecked.node, facts.opset));
  Call call = unchecked;
  call.opset = facts.opset;
  call.facts = &facts;
  QTX_RETURN_IF_ERROR(CheckRequirement(call));
  const std::uint64_t refusals = call.counters == nullptr ? 0 : call.counters->refusals;
  std::vector<format::Tensor> outputs;
  if (op.run_all != nullptr) {
    QTX_ASSIGN_OR_RETURN(outputs, op.run_all(call));
  } else {
    QTX_ASSIGN_OR_RETURN(format::Tensor only, RunSingle(op, call));
    outputs.push_back(std::move(only));
  }
  QTX_RETURN_IF_ERROR(CheckRefusals(call, refusals));
  return outputs;
}

std::vector<std::string> SupportedOperators() {
  std::vector<std::string> names;
  names.reserve(std::size(kOperators));
  for (const Operator* op : kOperators) names.emplace_back(op->op_type);
  std::ranges::sort(names);
  return names;
}

}  // namespace qtx::reference
