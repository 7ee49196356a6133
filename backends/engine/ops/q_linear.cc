// QLinearConv, QLinearMatMul and the others of their kind, MatMulInteger, ConvInteger, QGemm.
#include <algorithm>
#include <string>
#include <utility>

#include "engine/ops/indexing.h"
#include "engine/ops/operators.h"
#include "engine/ops/quantized_call.h"
#include "qtx/format/catalogue.h"

namespace qtx::backend::engine {
namespace {

using format::Dims;
using format::ElementType;

// The number of products of bytes whose sum certainly fits 32 bits.
constexpr std::int64_t kLongestByteSum = ((std::int64_t{1} << 31) - 1) / (std::int64_t{255} * 255);

// Tensor `value` with its scale and zero point in the two inputs after it; a vector of them varies
// along `channel_axis`.
Result<CallInput> Triple(const NodePlan& node, std::size_t value, std::int64_t channel_axis = 0) {
  CallInput input;
  QTX_ASSIGN_OR_RETURN(input.value, node.Input(value));
  QTX_ASSIGN_OR_RETURN(input.parameters, ReadParameters(node, value + 1, value + 2, channel_axis));
  return input;
}

// Scale and zero point of the output at `scale` and after it. Its type is that of the zero point,
// else `type`.
Result<void> SetOutput(const NodePlan& node, std::size_t scale, ElementType type,
                       QuantizedCall& call) {
  call.type = type;
  QTX_ASSIGN_OR_RETURN(call.output, ReadParameters(node, scale, scale + 1));
  if (call.output.zero_point != nullptr) call.type = call.output.zero_point->tensor.elem_type;
  return {};
}

// The node's attributes except `names`.
std::vector<format::Attribute> AttributesWithout(const NodePlan& node,
                                                 std::initializer_list<std::string_view> names) {
  std::vector<format::Attribute> kept;
  for (const format::Attribute& attribute : node.node().attributes) {
    if (std::ranges::find(names, attribute.name) == names.end()) kept.push_back(attribute);
  }
  return kept;
}

// Operators of one or two tensors of one type that the ordinary operator is called on.
StepResult MakeByteCall(const NodePlan& node, std::string op_type, std::size_t tensors,
                        std::int64_t opset = 0) {
  QuantizedCall call{.op_type = std::move(op_type),
                     .attributes = AttributesWithout(node, {"channels_last", "opset"}),
                     .opset = opset};
  for (std::size_t i = 0; i < tensors; ++i) {
    QTX_ASSIGN_OR_RETURN(CallInput input, Triple(node, 3 * i));
    call.inputs.push_back(std::move(input));
  }
  const ElementType type = call.inputs[0].value->tensor.elem_type;
  QTX_RETURN_IF_ERROR(SetOutput(node, 3 * tensors, type, call));
  return MakeCall(node, std::move(call));
}

std::int64_t RowAxis(const Dims& dims) {
  return dims.size() < 2 ? -1 : static_cast<std::int64_t>(dims.size()) - 2;
}
std::int64_t ColumnAxis(const Dims& dims) {
  return dims.size() < 2 ? -1 : static_cast<std::int64_t>(dims.size()) - 1;
}

// Tensor `value` and its zero point at `zero_point`, in units of 1.
Result<CallInput> PairedInput(const NodePlan& node, std::size_t value, std::size_t zero_point,
                              std::int64_t (*axis)(const Dims&)) {
  CallInput input;
  QTX_ASSIGN_OR_RETURN(input.value, node.Input(value));
  QTX_ASSIGN_OR_RETURN(input.parameters, ReadParameters(node, zero_point, zero_point,
                                                        axis(input.value->tensor.dims)));
  return input;
}

std::int64_t FirstAxis(const Dims&) { return 0; }

// The accumulator itself. The sums are not to wrap: what INT32Q would clamp.
StepResult MakeIntegerCall(const NodePlan& node, std::string op_type, CallInput a, CallInput b,
                           std::int64_t products) {
  if (products > kLongestByteSum) {
    return node.Unsupported("sums of " + std::to_string(products) + " products, which may wrap");
  }
  QuantizedCall call{.op_type = std::move(op_type), .attributes = node.node().attributes};
  call.inputs = {std::move(a), std::move(b)};
  call.type = ElementType::kInt32;
  return MakeCall(node, std::move(call));
}

// C of QGemm with the columns that b's scales are for.
Result<CallInput> ColumnsOf(const NodePlan& node, CallInput bias, const CallParameters& b,
                            std::int64_t rows, std::int64_t columns) {
  bias.parameters.scale = b.scale;
  if (b.axis.empty()) return bias;
  const format::Tensor& own = bias.value->tensor;
  if (own.dims.empty() || own.dims.back() != columns) {
    if (!bias.value->constant) return node.Unsupported("a computed C without columns");
    const Dims dims{rows, columns};
    QTX_ASSIGN_OR_RETURN(format::Tensor wide, format::MakeTensor(own.elem_type, dims));
    const auto index = BroadcastIndex(own.dims, dims);
    for (std::size_t i = 0; i < index.size(); ++i) {
      wide.As<std::int32_t>()[i] = own.As<std::int32_t>()[static_cast<std::size_t>(index[i])];
    }
    bias.value = node.Keep(std::move(wide));
  }
  bias.parameters.axis = {static_cast<std::int64_t>(bias.value->tensor.dims.size()) - 1};
  return bias;
}

}  // namespace

StepResult PrepareQLinear(const NodePlan& node) {
  const std::string name = node.node().op_type.substr(std::string_view("QLinear").size());
  if (name != "Softmax") return MakeByteCall(node, name, name == "Add" || name == "Mul" ? 2 : 1);
  // q_linear_softmax.S2 takes any later version for the newest form.
  return MakeByteCall(node, name, 1, std::min(node.Int("opset"), format::NewestOpset()));
}

StepResult PrepareQLinearConcat(const NodePlan& node) {
  QuantizedCall call{.op_type = "Concat", .attributes = node.node().attributes};
  for (std::size_t i = 2; i < node.node().inputs.size(); i += 3) {
    QTX_ASSIGN_OR_RETURN(CallInput input, Triple(node, i));
    call.inputs.push_back(std::move(input));
  }
  QTX_RETURN_IF_ERROR(SetOutput(node, 0, ElementType::kUint8, call));
  return MakeCall(node, std::move(call));
}

StepResult PrepareQLinearMatMul(const NodePlan& node) {
  QuantizedCall call{.op_type = "MatMul"};
  QTX_ASSIGN_OR_RETURN(const Value* a, node.Input(0));
  QTX_ASSIGN_OR_RETURN(const Value* b, node.Input(3));
  QTX_ASSIGN_OR_RETURN(CallInput left, Triple(node, 0, RowAxis(a->tensor.dims)));
  QTX_ASSIGN_OR_RETURN(CallInput right, Triple(node, 3, ColumnAxis(b->tensor.dims)));
  call.inputs = {std::move(left), std::move(right)};
  QTX_RETURN_IF_ERROR(SetOutput(node, 6, ElementType::kUint8, call));
  return MakeCall(node, std::move(call));
}

StepResult PrepareQLinearConv(const NodePlan& node) {
  QuantizedCall call{.op_type = "Conv", .attributes = node.node().attributes};
  QTX_ASSIGN_OR_RETURN(CallInput x, Triple(node, 0));
  QTX_ASSIGN_OR_RETURN(CallInput w, Triple(node, 3));
  if (node.HasInput(8)) {
    QTX_ASSIGN_OR_RETURN(call.bias.emplace().value, node.Input(8));
    call.bias->parameters = {.scale = w.parameters.scale, .axis = w.parameters.axis};
    call.bias_scales = {x.parameters.scale};
  }
  call.inputs = {std::move(x), std::move(w)};
  QTX_RETURN_IF_ERROR(SetOutput(node, 6, ElementType::kUint8, call));
  return MakeCall(node, std::move(call));
}

StepResult PrepareQGemm(const NodePlan& node) {
  const bool transposed = node.Int("transB") != 0;
  QuantizedCall call{.op_type = "Gemm", .attributes = node.node().attributes};
  QTX_ASSIGN_OR_RETURN(CallInput a, Triple(node, 0));
  QTX_ASSIGN_OR_RETURN(CallInput b, Triple(node, 3, transposed ? 0 : 1));
  const Dims& left = a.value->tensor.dims;
  const Dims& right = b.value->tensor.dims;
  if (node.HasInput(6)) {
    CallInput bias;
    QTX_ASSIGN_OR_RETURN(bias.value, node.Input(6));
    const std::int64_t rows = left[node.Int("transA") != 0 ? 1 : 0];
    const std::int64_t columns = right[transposed ? 0 : 1];
    QTX_ASSIGN_OR_RETURN(call.bias, ColumnsOf(node, bias, b.parameters, rows, columns));
    call.bias_scales = {a.parameters.scale};
  }
  call.inputs = {std::move(a), std::move(b)};
  if (node.HasInput(7)) {
    QTX_RETURN_IF_ERROR(SetOutput(node, 7, ElementType::kUint8, call));
  } else {
    call.real_output = true;
    call.type = ElementType::kFloat;
  }
  return MakeCall(node, std::move(call));
}

StepResult PrepareMatMulInteger(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(CallInput a, PairedInput(node, 0, 2, RowAxis));
  QTX_ASSIGN_OR_RETURN(CallInput b, PairedInput(node, 1, 3, ColumnAxis));
  const std::int64_t depth = a.value->tensor.dims.back();
  return MakeIntegerCall(node, "MatMul", std::move(a), std::move(b), depth);
}

StepResult PrepareConvInteger(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(CallInput x, PairedInput(node, 0, 2, FirstAxis));
  QTX_ASSIGN_OR_RETURN(CallInput w, PairedInput(node, 1, 3, FirstAxis));
  const Dims& kernel = w.value->tensor.dims;
  const std::int64_t depth = format::ElementCount(w.value->tensor) / kernel[0];
  return MakeIntegerCall(node, "Conv", std::move(x), std::move(w), depth);
}

}  // namespace qtx::backend::engine
