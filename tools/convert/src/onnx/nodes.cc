#include "onnx/nodes.h"

#include "qtx/format/functions.h"

namespace qtx::convert {

bool AnyNode(const format::Model& model, const std::function<bool(const format::Node&)>& holds) {
  bool found = false;
  const auto visit = [&](const format::Node& node) { found = found || holds(node); };
  ForEachNode(model.graph.nodes, visit);
  if (found) return true;
  const auto functions = format::FunctionsOf(model);  // the reader says what is wrong with them
  if (!functions.has_value()) return false;
  for (const format::Function& function : *functions) ForEachNode(function.nodes, visit);
  return found;
}

}  // namespace qtx::convert
