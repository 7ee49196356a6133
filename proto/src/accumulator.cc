#include "qtx/format/accumulator.h"

#include "qtx/format/attributes.h"

namespace qtx::format {

bool HasAccumulator(const Node& node) {
  return node.inputs.size() >= 2 &&
         (IsStock(node, "Conv") || IsStock(node, "Gemm") || IsStock(node, "MatMul"));
}

std::int64_t OutputAxis(const Node& node, std::int64_t rank) {
  if (node.op_type == "Conv") return 0;
  if (node.op_type == "ConvTranspose") return 1;
  if (node.op_type == "Gemm") return Attributes(node).Int("transB") != 0 ? 0 : 1;
  return rank - 1;
}

bool IsScaledGemm(const Node& node) {
  const Attributes attributes(node);
  return IsStock(node, "Gemm") && (attributes.Float("alpha") != 1 || attributes.Float("beta") != 1);
}

}  // namespace qtx::format
