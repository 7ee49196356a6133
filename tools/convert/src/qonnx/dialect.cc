#include "qonnx/dialect.h"

#include "onnx/nodes.h"

namespace qtx::convert {

bool IsQonnxDomain(std::string_view domain) {
  return domain == "onnx.brevitas" || domain.starts_with("qonnx.") || domain.starts_with("finn.");
}

bool IsQonnxQuantizer(const format::Node& node) {
  return IsQonnxDomain(node.domain) &&
         (node.op_type == "Quant" || node.op_type == "IntQuant" || node.op_type == "BipolarQuant" ||
          node.op_type == "FloatQuant");
}

bool IsQonnx(const Source& source) {
  return source.onnx &&
         AnyNode(*source.onnx, [](const format::Node& node) { return IsQonnxDomain(node.domain); });
}

}  // namespace qtx::convert
