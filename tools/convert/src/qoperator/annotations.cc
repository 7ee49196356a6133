#include "qoperator/annotations.h"

#include "qoperator/constants.h"
#include "schema/quantization_annotation.pb.h"

namespace qtx::convert {
namespace {

constexpr const char* kScaleKey = "SCALE_TENSOR";
constexpr const char* kZeroPointKey = "ZERO_POINT_TENSOR";

TensorAnnotation Names(const onnx::TensorAnnotation& annotation) {
  TensorAnnotation names{annotation.tensor_name(), "", ""};
  for (const onnx::Entry& entry : annotation.quant_parameter_tensor_names()) {
    if (entry.key() == kScaleKey) names.scale = entry.value();
    if (entry.key() == kZeroPointKey) names.zero_point = entry.value();
  }
  return names;
}

bool IsReal(const GraphIndex& index, const std::string& value) {
  const format::TensorType* type = index.TypeOf(value);
  return type != nullptr && type->elem_type == format::ElementType::kFloat;
}

// The parameters of a value, read as if they were inputs of a node. Several lie along axis 1, the
// default of QuantizeLinear.
Result<std::optional<QdqParameters>> ParametersIn(const GraphIndex& index,
                                                  const TensorAnnotation& names) {
  if (names.scale.empty()) return std::optional<QdqParameters>();
  format::Node node;
  node.inputs = {names.tensor, names.scale, names.zero_point};
  const OperandQuery query{
      {0, 1, 2}, IsReal(index, names.tensor) ? "" : names.tensor, 1, format::ElementType::kUint8};
  std::string why;
  return ConstantParameters(index, node, query, why);
}

}  // namespace

bool HasAnnotations(const format::Graph& graph) {
  onnx::AnnotatedGraph message;
  return !graph.unknown_fields.empty() && message.ParseFromString(graph.unknown_fields) &&
         message.quantization_annotation_size() > 0;
}

Result<Annotations> ReadAnnotations(const GraphIndex& index) {
  Annotations annotations;
  onnx::AnnotatedGraph message;
  if (!message.ParseFromString(index.model().graph.unknown_fields))
    return Error{ErrorCode::kInvalid, "graph", "malformed quantization_annotation"};
  for (const onnx::TensorAnnotation& annotation : message.quantization_annotation()) {
    const TensorAnnotation names = Names(annotation);
    auto parameters = ParametersIn(index, names);
    if (!parameters.has_value())
      return At("quantization_annotation of '" + names.tensor + "'", parameters.error());
    if (!*parameters) continue;
    const bool real = IsReal(index, names.tensor);
    (real ? annotations.reals : annotations.integers).emplace(names.tensor, **parameters);
    annotations.names[names.tensor] = {names.scale, names.zero_point};
  }
  return annotations;
}

void EraseAnnotations(const std::set<std::string>& tensors, format::Graph& graph) {
  onnx::AnnotatedGraph message;
  if (tensors.empty() || !message.ParseFromString(graph.unknown_fields)) return;
  onnx::AnnotatedGraph rest;
  for (const onnx::TensorAnnotation& annotation : message.quantization_annotation()) {
    if (!tensors.contains(annotation.tensor_name()))
      *rest.add_quantization_annotation() = annotation;
  }
  *message.mutable_quantization_annotation() = rest.quantization_annotation();
  graph.unknown_fields = message.SerializeAsString();
}

void AddAnnotations(const std::vector<TensorAnnotation>& annotations, format::Graph& graph) {
  onnx::AnnotatedGraph message;
  for (const TensorAnnotation& names : annotations) {
    onnx::TensorAnnotation& annotation = *message.add_quantization_annotation();
    annotation.set_tensor_name(names.tensor);
    const auto add = [&](const char* key, const std::string& value) {
      if (value.empty()) return;
      onnx::Entry& entry = *annotation.add_quant_parameter_tensor_names();
      entry.set_key(key);
      entry.set_value(value);
    };
    add(kScaleKey, names.scale);
    add(kZeroPointKey, names.zero_point);
  }
  graph.unknown_fields += message.SerializeAsString();
}

}  // namespace qtx::convert
