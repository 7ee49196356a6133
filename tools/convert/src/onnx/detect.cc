#include "onnx/detect.h"

#include <algorithm>

#include "onnx/nodes.h"

namespace qtx::convert {
namespace {

bool IsQuantized(const format::ValueInfo& info) {
  return info.type.has_value() && format::IsQuantized(info.type->elem_type);
}

}  // namespace

bool IsOnnx(const Source& source) { return source.onnx.has_value(); }

bool IsExtended(const Source& source) {
  if (!source.onnx) return false;
  const format::Graph& graph = source.onnx->graph;
  return source.onnx->OpsetVersion(format::kDomain) != 0 ||
         std::ranges::any_of(graph.inputs, IsQuantized) ||
         std::ranges::any_of(graph.outputs, IsQuantized) ||
         std::ranges::any_of(graph.values, IsQuantized);
}

bool HasQuantizer(const Source& source) {
  return source.onnx && AnyNode(*source.onnx, [](const format::Node& node) {
           return node.op_type == "QuantizeLinear" || node.op_type == "DequantizeLinear";
         });
}

}  // namespace qtx::convert
