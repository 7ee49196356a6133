// The index of a graph, and which of its nodes quantize.
#pragma once

#include "qtx/graph/graph_index.h"

namespace qtx::convert {

using graph::GraphIndex;
using graph::PlaceOf;
using graph::Use;

inline bool IsQuantizeLinear(const format::Node& node) {
  return IsStock(node, "QuantizeLinear") ||
         (node.op_type == "QuantizeLinear" && node.domain == "com.microsoft");
}
inline bool IsDequantizeLinear(const format::Node& node) {
  return IsStock(node, "DequantizeLinear") ||
         (node.op_type == "DequantizeLinear" && node.domain == "com.microsoft");
}

}  // namespace qtx::convert
