#include "tflite/nodes_out.h"

#include <algorithm>
#include <array>

#include "tflite/rules.h"

namespace qtx::convert {
namespace {

struct Entry {
  std::string_view op_type;
  Result<void> (*write)(TfliteWriter&, const Job&);
};

constexpr std::array kNodes = {
    Entry{"Abs", WriteUnary},
    Entry{"Add", WriteBinary},
    Entry{"And", WriteBinary},
    Entry{"ArgMax", WriteArg},
    Entry{"ArgMin", WriteArg},
    Entry{"AveragePool", WritePool},
    Entry{"Cast", WriteCast},
    Entry{"Ceil", WriteUnary},
    Entry{"Clip", WriteActivation},
    Entry{"Concat", WriteConcat},
    Entry{"Conv", WriteConv},
    Entry{"ConvTranspose", WriteConvTranspose},
    Entry{"Cos", WriteUnary},
    Entry{"DepthToSpace", WriteBlocks},
    Entry{"Div", WriteBinary},
    Entry{"Elu", WriteUnary},
    Entry{"Equal", WriteBinary},
    Entry{"Exp", WriteUnary},
    Entry{"Flatten", WriteReshape},
    Entry{"Floor", WriteUnary},
    Entry{"Gather", WriteGather},
    Entry{"Gelu", WriteUnary},
    Entry{"Gemm", WriteMatMul},
    Entry{"GlobalAveragePool", WriteGlobalPool},
    Entry{"GlobalMaxPool", WriteGlobalPool},
    Entry{"Greater", WriteBinary},
    Entry{"GreaterOrEqual", WriteBinary},
    Entry{"HardSwish", WriteUnary},
    Entry{"Identity", WriteCast},
    Entry{"LeakyRelu", WriteUnary},
    Entry{"Less", WriteBinary},
    Entry{"LessOrEqual", WriteBinary},
    Entry{"Log", WriteUnary},
    Entry{"LogSoftmax", WriteSoftmax},
    Entry{"MatMul", WriteMatMul},
    Entry{"Max", WriteBinary},
    Entry{"MaxPool", WritePool},
    Entry{"Min", WriteBinary},
    Entry{"Mul", WriteBinary},
    Entry{"Neg", WriteUnary},
    Entry{"Not", WriteUnary},
    Entry{"Or", WriteBinary},
    Entry{"PRelu", WriteBinary},
    Entry{"Pad", WritePad},
    Entry{"Pow", WriteBinary},
    Entry{"ReduceMax", WriteReduce},
    Entry{"ReduceMean", WriteReduce},
    Entry{"ReduceMin", WriteReduce},
    Entry{"ReduceProd", WriteReduce},
    Entry{"ReduceSum", WriteReduce},
    Entry{"Relu", WriteActivation},
    Entry{"Reshape", WriteReshape},
    Entry{"Resize", WriteResize},
    Entry{"Round", WriteUnary},
    Entry{"Sigmoid", WriteUnary},
    Entry{"Sign", WriteUnary},
    Entry{"Sin", WriteUnary},
    Entry{"Slice", WriteSlice},
    Entry{"Softmax", WriteSoftmax},
    Entry{"SpaceToDepth", WriteBlocks},
    Entry{"Split", WriteSlice},
    Entry{"Sqrt", WriteUnary},
    Entry{"Squeeze", WriteReshape},
    Entry{"Sub", WriteBinary},
    Entry{"Tanh", WriteUnary},
    Entry{"Transpose", WriteTranspose},
    Entry{"Unsqueeze", WriteReshape},
};

// Nodes whose first output is all that is written.
bool HasOneOutput(const format::Node& node) {
  const auto used =
      std::ranges::count_if(node.outputs, [](const auto& name) { return !name.empty(); });
  return used == 1 || node.op_type == "Split";
}

Result<void> CheckActivations(const TfliteWriter& writer, const Job& job) {
  std::vector<std::string> values = {job.output};
  for (const std::string& input : job.node.inputs) {
    if (!input.empty() && !writer.IsConstant(input)) values.push_back(input);
  }
  QTX_RETURN_IF_ERROR(KernelFor(writer, values));
  return {};
}

}  // namespace

const std::string& Job::Input(std::size_t i) const {
  static const std::string kAbsent;
  return i < node.inputs.size() ? node.inputs[i] : kAbsent;
}

Result<void> WriteNode(TfliteWriter& writer, const Job& job) {
  const std::string place = job.node.op_type + " '" + job.node.name + "'";
  const auto* entry = std::ranges::find(kNodes, job.node.op_type, &Entry::op_type);
  if (entry == kNodes.end() || !(job.node.domain.empty() || job.node.domain == "ai.onnx")) {
    return Error{ErrorCode::kUnsupported, place, "no operator of TFLite is written for it"};
  }
  if (!HasOneOutput(job.node)) {
    return Error{ErrorCode::kUnsupported, place, "a second output"};
  }
  if (auto fit = CheckActivations(writer, job); !fit.has_value()) return At(place, fit.error());
  auto written = entry->write(writer, job);
  if (!written.has_value()) return At(place, written.error());
  return {};
}

bool TakesActivation(const TfliteWriter& writer, const format::Node& node) {
  static constexpr std::array kTaking = {"Add",  "AveragePool", "Conv",    "Div",
                                         "Gemm", "Mul",         "MaxPool", "Sub"};
  if (!node.domain.empty()) return false;
  if (node.op_type == "MatMul") {
    return node.inputs.size() > 1 && writer.IsConstant(node.inputs[1]);
  }
  return std::ranges::find(kTaking, node.op_type) != kTaking.end();
}

}  // namespace qtx::convert
