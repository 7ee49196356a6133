#include "tflite/nodes_out.h"

#include <algorithm>
#include <array>

#include "tflite/custom.h"
#include "tflite/rules.h"

namespace qtx::convert {
namespace {

struct WriterEntry {
  std::string_view op_type;
  Result<void> (*write)(TfliteWriter&, const Job&);
};

constexpr std::array kNodes = {
    WriterEntry{"Abs", WriteUnary},
    WriterEntry{"Add", WriteBinary},
    WriterEntry{"And", WriteBinary},
    WriterEntry{"ArgMax", WriteArg},
    WriterEntry{"ArgMin", WriteArg},
    WriterEntry{"AveragePool", WritePool},
    WriterEntry{"Cast", WriteCast},
    WriterEntry{"Ceil", WriteUnary},
    WriterEntry{"Clip", WriteActivation},
    WriterEntry{"Concat", WriteConcat},
    WriterEntry{"Conv", WriteConv},
    WriterEntry{"ConvTranspose", WriteConvTranspose},
    WriterEntry{"Cos", WriteUnary},
    WriterEntry{"CumSum", WriteCumSum},
    WriterEntry{"DepthToSpace", WriteBlocks},
    WriterEntry{"Div", WriteBinary},
    WriterEntry{"Elu", WriteUnary},
    WriterEntry{"Equal", WriteBinary},
    WriterEntry{"Exp", WriteUnary},
    WriterEntry{"Expand", WriteExpand},
    WriterEntry{"Flatten", WriteReshape},
    WriterEntry{"Floor", WriteUnary},
    WriterEntry{"Gather", WriteGather},
    WriterEntry{"GatherND", WriteGatherNd},
    WriterEntry{"Gelu", WriteUnary},
    WriterEntry{"Gemm", WriteMatMul},
    WriterEntry{"GlobalAveragePool", WriteGlobalPool},
    WriterEntry{"GlobalMaxPool", WriteGlobalPool},
    WriterEntry{"Greater", WriteBinary},
    WriterEntry{"GreaterOrEqual", WriteBinary},
    WriterEntry{"HardSwish", WriteUnary},
    WriterEntry{"Identity", WriteCast},
    WriterEntry{"LeakyRelu", WriteUnary},
    WriterEntry{"Less", WriteBinary},
    WriterEntry{"LessOrEqual", WriteBinary},
    WriterEntry{"Log", WriteUnary},
    WriterEntry{"LogSoftmax", WriteSoftmax},
    WriterEntry{"LpNormalization", WriteLpNormalization},
    WriterEntry{"MatMul", WriteMatMul},
    WriterEntry{"Max", WriteBinary},
    WriterEntry{"MaxPool", WritePool},
    WriterEntry{"Min", WriteBinary},
    WriterEntry{"Mul", WriteBinary},
    WriterEntry{"Neg", WriteUnary},
    WriterEntry{"Not", WriteUnary},
    WriterEntry{"Or", WriteBinary},
    WriterEntry{"PRelu", WriteBinary},
    WriterEntry{"Pad", WritePad},
    WriterEntry{"Pow", WriteBinary},
    WriterEntry{"ReduceMax", WriteReduce},
    WriterEntry{"ReduceMean", WriteReduce},
    WriterEntry{"ReduceMin", WriteReduce},
    WriterEntry{"ReduceProd", WriteReduce},
    WriterEntry{"ReduceSum", WriteReduce},
    WriterEntry{"Relu", WriteActivation},
    WriterEntry{"Reshape", WriteReshape},
    WriterEntry{"Resize", WriteResize},
    WriterEntry{"Round", WriteUnary},
    WriterEntry{"Shape", WriteShape},
    WriterEntry{"Sigmoid", WriteUnary},
    WriterEntry{"Sign", WriteUnary},
    WriterEntry{"Sin", WriteUnary},
    WriterEntry{"Slice", WriteSlice},
    WriterEntry{"Softmax", WriteSoftmax},
    WriterEntry{"SpaceToDepth", WriteBlocks},
    WriterEntry{"Split", WriteSlice},
    WriterEntry{"Sqrt", WriteUnary},
    WriterEntry{"Squeeze", WriteReshape},
    WriterEntry{"Sub", WriteBinary},
    WriterEntry{"Sum", WriteSum},
    WriterEntry{"Tanh", WriteUnary},
    WriterEntry{"Tile", WriteTile},
    WriterEntry{"TopK", WriteTopK},
    WriterEntry{"Transpose", WriteTranspose},
    WriterEntry{"Unsqueeze", WriteReshape},
    WriterEntry{"Where", WriteWhere},
};

// Nodes of which only the first output is written.
bool HasOneOutput(const format::Node& node) {
  const auto used =
      std::ranges::count_if(node.outputs, [](const auto& name) { return !name.empty(); });
  return used == 1 || node.op_type == "Split" || node.op_type == "TopK";
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
  if (job.node.domain == kCustomDomain) {
    auto written = WriteCustom(writer, job);
    return written.has_value() ? written : At(place, written.error());
  }
  const auto* entry = std::ranges::find(kNodes, job.node.op_type, &WriterEntry::op_type);
  if (entry == kNodes.end() || !format::IsOnnxDomain(job.node.domain)) {
    return Error{ErrorCode::kUnsupported, place, "TFLite has no operator for it"};
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
