// The float twin of a quantized model: the same nodes over FLOAT.
#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "qtx/bench/workload.h"
#include "qtx/format/levels.h"

namespace qtx::bench {
namespace {

using format::ElementType;
using format::Graph;
using format::Model;
using format::Node;
using format::Quantization;
using format::Tensor;

// Operators whose quantized output range may contain an activation.
constexpr std::array<std::string_view, 4> kActivated = {"Conv", "Gemm", "MatMul", "Add"};
// Operators that mean the same on FLOAT.
constexpr std::array<std::string_view, 20> kAnyType = {
    "AveragePool", "Clip",       "Concat",  "Flatten", "GlobalAveragePool",
    "Identity",    "LeakyRelu",  "MaxPool", "Mul",     "Pad",
    "Relu",        "ReduceMean", "Reshape", "Sigmoid", "Slice",
    "Softmax",     "Squeeze",    "Sub",     "Tanh",    "Transpose"};

bool Contains(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

Tensor Reals(const Tensor& tensor) {
  Tensor real = *format::MakeTensor(ElementType::kFloat, tensor.dims);
  const Quantization& q = *tensor.quantization;
  const format::ParameterMap parameter(q, tensor.dims);
  const std::vector<std::int64_t> stored = format::UnpackIntegers(tensor);
  const std::span<float> values = real.As<float>();
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const std::int64_t at = parameter(static_cast<std::int64_t>(i));
    values[i] = static_cast<float>(stored[i] - format::OffsetAt(q, at)) * format::ScaleAt(q, at) +
                format::BaseAt(q, at);
  }
  return real;
}

enum class Activation { kNone, kRelu, kRelu6 };

// The activation that an output type's range implies.
Activation ActivationOf(const Graph& graph, const Node& node) {
  if (!Contains(kActivated, node.op_type) || node.outputs.empty()) return Activation::kNone;
  const format::ValueInfo* y = graph.FindValue(node.outputs[0]);
  if (y == nullptr || !y->type || !y->type->quantization ||
      y->type->quantization->scale.size() != 1 || !format::IsIntegerStorage(y->type->elem_type)) {
    return Activation::kNone;
  }
  const Quantization& q = *y->type->quantization;
  const format::IntegerRange range = format::StoredRange(y->type->elem_type, q);
  if (range.min != format::OffsetAt(q, 0)) return Activation::kNone;
  const double high = static_cast<double>(range.max - range.min) * static_cast<double>(q.scale[0]);
  return std::abs(high - 6) < 0.05 ? Activation::kRelu6 : Activation::kRelu;
}

void AddScalar(const std::string& name, float value, Graph& graph) {
  Tensor tensor = *format::MakeTensor(ElementType::kFloat, {});
  tensor.As<float>()[0] = value;
  graph.initializers.push_back(format::ToTensorData(name, tensor));
}

// The node followed by its activation, which gets the output's name.
void AddNode(const Model& model, Node node, Graph& graph) {
  node.origin.reset();
  const Activation activation = ActivationOf(model.graph, node);
  if (activation == Activation::kNone) {
    graph.nodes.push_back(std::move(node));
    return;
  }
  Node clamp;
  clamp.op_type = activation == Activation::kRelu ? "Relu" : "Clip";
  clamp.name = node.outputs[0] + "/activation";
  const std::string before = node.outputs[0] + "/linear";
  clamp.outputs = {std::exchange(node.outputs[0], before)};
  clamp.inputs = {before};
  if (activation == Activation::kRelu6) {
    AddScalar(clamp.name + "/min", 0, graph);
    AddScalar(clamp.name + "/max", 6, graph);
    clamp.inputs.insert(clamp.inputs.end(), {clamp.name + "/min", clamp.name + "/max"});
  }
  format::ValueInfo info = *model.graph.FindValue(clamp.outputs[0]);
  info.name = before;
  graph.values.push_back(std::move(info));
  graph.nodes.push_back(std::move(node));
  graph.nodes.push_back(std::move(clamp));
}

void MakeFloat(format::ValueInfo& info) {
  if (!info.type || !format::IsQuantized(info.type->elem_type)) return;
  info.type->elem_type = ElementType::kFloat;
  info.type->quantization.reset();
  info.type->statistics.reset();
}

Result<void> AddConstants(const Model& model, Graph& graph) {
  for (const format::TensorData& data : model.graph.initializers) {
    const format::ValueInfo* value = model.graph.FindValue(data.name);
    if (value == nullptr || !value->type || !format::IsQuantized(value->type->elem_type)) {
      graph.initializers.push_back(data);
      continue;
    }
    if (!format::IsIntegerStorage(value->type->elem_type)) {
      return Error{ErrorCode::kUnsupported, "initializer '" + data.name + "'",
                   "expected integers for a float twin"};
    }
    QTX_ASSIGN_OR_RETURN(const Tensor tensor, format::LoadInitializer(model, data.name));
    graph.initializers.push_back(format::ToTensorData(data.name, Reals(tensor)));
  }
  return {};
}

}  // namespace

bool IsFloat(const Model& model) {
  const auto quantized = [](const format::ValueInfo& value) {
    return value.type && format::IsQuantized(value.type->elem_type);
  };
  return std::ranges::none_of(model.graph.inputs, quantized) &&
         std::ranges::none_of(model.graph.outputs, quantized) &&
         std::ranges::none_of(model.graph.values, quantized);
}

Result<Model> FloatTwin(const Model& model) {
  if (IsFloat(model)) {
    return Error{ErrorCode::kUnsupported, "graph", "the model has no quantized value"};
  }
  for (const Node& node : model.graph.nodes) {
    const bool known = Contains(kActivated, node.op_type) || Contains(kAnyType, node.op_type);
    if (known && node.domain.empty()) continue;
    return Error{ErrorCode::kUnsupported, "node '" + node.name + "'",
                 node.op_type + " has no float twin"};
  }
  Model twin;
  twin.ir_version = model.ir_version;
  twin.opset_imports = {{"", model.OpsetVersion(""), ""}};
  twin.producer_name = model.producer_name;
  twin.graph.name = model.graph.name;
  twin.graph.inputs = model.graph.inputs;
  twin.graph.outputs = model.graph.outputs;
  twin.graph.values = model.graph.values;
  QTX_RETURN_IF_ERROR(AddConstants(model, twin.graph));
  for (const Node& node : model.graph.nodes) AddNode(model, node, twin.graph);
  for (auto* values : {&twin.graph.inputs, &twin.graph.outputs, &twin.graph.values}) {
    for (format::ValueInfo& info : *values) MakeFloat(info);
  }
  return twin;
}

}  // namespace qtx::bench
