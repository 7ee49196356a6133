#include "qoperator/annotations.h"

#include <string_view>
#include <utility>

#include "qoperator/constants.h"

namespace qtx::convert {
namespace {

constexpr const char* kScaleKey = "SCALE_TENSOR";
constexpr const char* kZeroPointKey = "ZERO_POINT_TENSOR";

struct ParameterNames {
  std::string scale, zero_point;
};

ParameterNames NamesIn(const format::TensorAnnotation& annotation) {
  ParameterNames names;
  for (const auto& [key, name] : annotation.parameters) {
    if (key == kScaleKey) names.scale = name;
    if (key == kZeroPointKey) names.zero_point = name;
  }
  return names;
}

// What no QuantizeLinear or DequantizeLinear says of the same tensor: a lowered model has both.
std::vector<const format::TensorAnnotation*> News(const format::Graph& graph) {
  std::vector<const format::TensorAnnotation*> news;
  if (graph.quantization_annotations.empty()) return news;
  std::set<std::pair<std::string_view, std::string_view>> said;  // tensor and scale
  for (const format::Node& node : graph.nodes) {
    if (node.inputs.size() < 2 || node.outputs.empty()) continue;
    if (IsStock(node, "QuantizeLinear")) said.emplace(node.inputs[0], node.inputs[1]);
    if (IsStock(node, "DequantizeLinear")) said.emplace(node.outputs[0], node.inputs[1]);
  }
  for (const format::TensorAnnotation& annotation : graph.quantization_annotations) {
    if (!said.contains({annotation.tensor, NamesIn(annotation).scale})) news.push_back(&annotation);
  }
  return news;
}

bool IsReal(const GraphIndex& index, const std::string& value) {
  const format::TensorType* type = index.TypeOf(value);
  return type != nullptr && type->elem_type == format::ElementType::kFloat;
}

// The parameters of a value, read as if they were inputs of a node. Several lie along axis 1, the
// default of QuantizeLinear.
Result<std::optional<QdqParameters>> ParametersIn(const GraphIndex& index,
                                                  const std::string& tensor,
                                                  const ParameterNames& names) {
  if (names.scale.empty()) return std::optional<QdqParameters>();
  format::Node node;
  node.inputs = {tensor, names.scale, names.zero_point};
  const OperandQuery query{
      {0, 1, 2}, IsReal(index, tensor) ? "" : tensor, 1, format::ElementType::kUint8};
  std::string why;
  return ConstantParameters(index, node, query, why);
}

}  // namespace

bool HasAnnotations(const format::Graph& graph) { return !News(graph).empty(); }

Result<Annotations> ReadAnnotations(const GraphIndex& index) {
  Annotations annotations;
  for (const format::TensorAnnotation* annotation : News(index.model().graph)) {
    const std::string& tensor = annotation->tensor;
    const ParameterNames names = NamesIn(*annotation);
    auto parameters = ParametersIn(index, tensor, names);
    if (!parameters.has_value())
      return At("quantization_annotation of '" + tensor + "'", parameters.error());
    if (!*parameters) continue;
    const bool real = IsReal(index, tensor);
    (real ? annotations.reals : annotations.integers).emplace(tensor, **parameters);
    annotations.names[tensor] = {names.scale, names.zero_point};
  }
  return annotations;
}

void EraseAnnotations(const std::set<std::string>& tensors, format::Graph& graph) {
  std::erase_if(graph.quantization_annotations, [&](const format::TensorAnnotation& annotation) {
    return tensors.contains(annotation.tensor);
  });
}

void AddAnnotation(const std::string& tensor, const std::vector<std::string>& parameters,
                   format::Graph& graph) {
  format::TensorAnnotation& annotation = graph.quantization_annotations.emplace_back();
  annotation.tensor = tensor;
  annotation.parameters.emplace_back(kScaleKey, parameters[0]);
  if (parameters.size() > 1) annotation.parameters.emplace_back(kZeroPointKey, parameters[1]);
}

}  // namespace qtx::convert
