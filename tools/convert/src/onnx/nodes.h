// The nodes of a graph, of the bodies of its nodes, and of a model's functions.
#pragma once

#include <functional>
#include <vector>

#include "qtx/format/model.h"

namespace qtx::convert {

/// Nodes, and those of the bodies below them, each before what its bodies have.
template <typename Visit>
void ForEachNode(const std::vector<format::Node>& nodes, const Visit& visit) {
  for (const format::Node& node : nodes) {
    visit(node);
    for (const format::Attribute& attribute : node.attributes) {
      for (const format::Graph& body : attribute.graphs) ForEachNode(body.nodes, visit);
    }
  }
}

/// True if `holds` for a node of the model's graph, of a body or of a function.
bool AnyNode(const format::Model& model, const std::function<bool(const format::Node&)>& holds);

}  // namespace qtx::convert
