// DetectKind: by TFLite's identifier, else by what an ONNX model holds.
#include <algorithm>

#include "qtx/convert/convert.h"
#include "tflite_file.h"

namespace qtx::convert {
namespace {

bool IsExtended(const format::Model& model) {
  const auto quantized = [](const format::ValueInfo& info) {
    return info.type.has_value() && format::IsQuantized(info.type->elem_type);
  };
  const format::Graph& graph = model.graph;
  return model.OpsetVersion(format::kDomain) != 0 ||
         std::any_of(graph.inputs.begin(), graph.inputs.end(), quantized) ||
         std::any_of(graph.outputs.begin(), graph.outputs.end(), quantized) ||
         std::any_of(graph.values.begin(), graph.values.end(), quantized);
}

bool HasQuantizer(const format::Model& model) {
  return std::any_of(
      model.graph.nodes.begin(), model.graph.nodes.end(), [](const format::Node& node) {
        return node.op_type == "QuantizeLinear" || node.op_type == "DequantizeLinear";
      });
}

}  // namespace

Result<std::string> DetectKind(std::string_view bytes, const std::string& where) {
  if (LooksLikeTflite(bytes)) return std::string("tflite");
  if (bytes.empty())
    return Error{ErrorCode::kInvalid, where, "empty; expected a TFLite or ONNX model"};
  const auto model = format::Model::Parse(bytes, where);
  if (!model.has_value() || (model->graph.nodes.empty() && model->opset_imports.empty())) {
    return Error{ErrorCode::kInvalid, where,
                 "neither a TFLite model (no identifier 'TFL3') nor an ONNX model"};
  }
  if (IsExtended(*model)) return std::string("qtx");
  return std::string(HasQuantizer(*model) ? "qdq" : "onnx");
}

}  // namespace qtx::convert
