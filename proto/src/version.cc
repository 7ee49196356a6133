#include "qtx/format/version.h"

#include <algorithm>

#include "qtx/format/levels.h"

namespace qtx::format {
namespace {

constexpr std::int64_t kHalvesVersion = 3;

void Raise(NeededVersion needed, NeededVersion& to) {
  if (needed.version > to.version) to = std::move(needed);
}

NeededVersion NeededIn(const Graph& graph) {
  NeededVersion needed;
  for (const auto* list : {&graph.inputs, &graph.outputs, &graph.values}) {
    for (const ValueInfo& value : *list) {
      if (value.type) Raise(VersionNeeded(*value.type), needed);
    }
  }
  for (const Node& node : graph.nodes) {
    for (const Attribute& attribute : node.attributes) {
      for (const Graph& body : attribute.graphs) Raise(NeededIn(body), needed);
    }
  }
  return needed;
}

}  // namespace

NeededVersion VersionNeeded(const TensorType& type) {
  NeededVersion needed;
  if (type.quantization && HasLevels(*type.quantization)) {
    Raise({kLevelsVersion, "scale_levels or base_levels"}, needed);
  }
  if (type.quantization && type.quantization->real_type != ElementType::kUndefined) {
    Raise({kHalvesVersion, "real_type"}, needed);
  }
  if (IsHalf(type.elem_type) && (type.quantization || type.statistics)) {
    Raise({kHalvesVersion, "what is said of a " + std::string(Name(type.elem_type))}, needed);
  }
  return needed;
}

NeededVersion VersionNeeded(const Model& model) { return NeededIn(model.graph); }

}  // namespace qtx::format
