#include "qtx/format/scopes.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "qtx/format/rename.h"

namespace qtx::format {
namespace {

constexpr char kSeparator = '\x1f';  // ASCII's unit separator

// The names in `type` of initializers.
template <typename Type, typename Visit>
void ForEachTensorName(Type& type, const Visit& visit) {
  if (!type.quantization) return;
  visit(type.quantization->scale_tensor);
  visit(type.quantization->offset_tensor);
  visit(type.quantization->code_book_tensor);
  for (auto* levels : {&type.quantization->scale_levels, &type.quantization->base_levels}) {
    for (auto& level : *levels) visit(level.tensor);
  }
}

std::size_t LongestRun(std::string_view name) {
  std::size_t longest = 0, run = 0;
  for (const char c : name) {
    run = c == kSeparator ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest;
}

// The longest run of separators in a name of the graph and of bodies below.
std::size_t LongestRun(const Graph& graph) {
  std::size_t longest = 0;
  const auto visit = [&longest](const std::string& name) {
    longest = std::max(longest, LongestRun(name));
  };
  visit(graph.name);
  for (const auto* list : {&graph.inputs, &graph.outputs, &graph.values}) {
    for (const ValueInfo& value : *list) {
      visit(value.name);
      if (value.type) ForEachTensorName(*value.type, visit);
    }
  }
  for (const TensorData& data : graph.initializers) visit(data.name);
  for (const TensorAnnotation& annotation : graph.quantization_annotations) {
    visit(annotation.tensor);
    for (const auto& [key, name] : annotation.parameters) visit(name);
  }
  for (const Node& node : graph.nodes) {
    visit(node.name);
    std::ranges::for_each(node.inputs, visit);
    std::ranges::for_each(node.outputs, visit);
    for (const Attribute& attribute : node.attributes) {
      for (const Graph& body : attribute.graphs) longest = std::max(longest, LongestRun(body));
    }
  }
  return longest;
}

// "" for a name without one. `run`: separators on each side of the number; 0 for as many as there
// are.
std::string_view PrefixOf(std::string_view name, std::size_t run = 0) {
  const std::size_t before = std::min(name.find_first_not_of(kSeparator), name.size());
  if (before == 0 || (run != 0 && before != run)) return {};
  const std::size_t after = name.find_first_not_of("0123456789", before);
  if (after == before || after == std::string_view::npos) return {};
  const std::size_t end = after + before;
  const bool is = end <= name.size() && name.substr(after, before) == name.substr(0, before);
  return is ? name.substr(0, end) : std::string_view();
}

// As FlatModel leaves a body.
bool IsHollow(const Graph& graph) {
  return graph.nodes.empty() && graph.outputs.empty() && IsOfBody(graph.name);
}

using Names = std::set<std::string>;

Names NamesDefinedIn(const Graph& graph) {
  Names names;
  for (const ValueInfo& value : graph.inputs) names.insert(value.name);
  for (const TensorData& data : graph.initializers) names.insert(data.name);
  for (const Node& node : graph.nodes) names.insert(node.outputs.begin(), node.outputs.end());
  return names;
}

bool WritesNothing(const Node& node) {
  return std::ranges::all_of(node.outputs, &std::string::empty);
}

// The name that says which graph a flat node is in.
const std::string& OwnerName(const Node& node) {
  const auto written =
      std::ranges::find_if(node.outputs, [](const std::string& name) { return !name.empty(); });
  return written == node.outputs.end() ? node.name : *written;
}

// Moves what the bodies of flat nodes hold to where they are, in the order of the flat graph.
class Nesting {
 public:
  explicit Nesting(const FlatModel& flat) : flat_(flat), graphs_(flat.scopes().size()) {}

  Result<Graph> Run(Graph from) {
    for (Node& node : from.nodes) {
      const std::size_t scope = flat_.ScopeOf(OwnerName(node));
      graphs_[scope].nodes.push_back(std::move(node));
    }
    for (TensorData& data : from.initializers) {
      const std::size_t scope = flat_.ScopeOf(data.name);
      graphs_[scope].initializers.push_back(std::move(data));
    }
    for (auto list : {&Graph::inputs, &Graph::outputs, &Graph::values}) {
      for (ValueInfo& value : from.*list) {
        const std::size_t scope = flat_.ScopeOf(value.name);
        (graphs_[scope].*list).push_back(std::move(value));
      }
    }
    for (TensorAnnotation& annotation : from.quantization_annotations) {
      const std::size_t scope = flat_.ScopeOf(annotation.tensor);
      graphs_[scope].quantization_annotations.push_back(std::move(annotation));
    }
    return Fill(std::move(from), 0);
  }

 private:
  void Strip(std::string& name) const { name = std::string(flat_.Bare(name)); }

  void Strip(ValueInfo& value) const {
    Strip(value.name);
    if (value.type) ForEachTensorName(*value.type, [this](std::string& name) { Strip(name); });
  }

  Result<void> FillBodies(Node& node, std::size_t scope) {
    for (Attribute& attribute : node.attributes) {
      for (Graph& body : attribute.graphs) {
        const std::size_t below = flat_.ScopeOf(body.name);
        // Else it was hollow in the model, too, or is of another graph, which might be its own.
        if (below == 0 || flat_.scopes()[below].parent != scope) continue;
        if (!filled_.insert(below).second) continue;
        Strip(body.name);
        QTX_ASSIGN_OR_RETURN(body, Fill(std::move(body), below));
      }
    }
    return {};
  }

  // `hollow` with the contents of the scope.
  Result<Graph> Fill(Graph hollow, std::size_t scope) {
    Graph& graph = graphs_[scope];
    for (Node& node : graph.nodes) {
      Strip(node.name);
      for (auto* names : {&node.inputs, &node.outputs}) {
        for (std::string& name : *names) Strip(name);
      }
      QTX_RETURN_IF_ERROR(FillBodies(node, scope));
    }
    for (TensorData& data : graph.initializers) {
      if (scope == 0) continue;
      const std::string name(flat_.Bare(data.name));
      QTX_ASSIGN_OR_RETURN(data, Renamed(std::move(data), name));
    }
    for (auto* list : {&graph.inputs, &graph.outputs, &graph.values}) {
      for (ValueInfo& value : *list) Strip(value);
    }
    for (TensorAnnotation& annotation : graph.quantization_annotations) {
      Strip(annotation.tensor);
      for (auto& [key, name] : annotation.parameters) Strip(name);
    }
    hollow.nodes = std::move(graph.nodes);
    hollow.initializers = std::move(graph.initializers);
    hollow.inputs = std::move(graph.inputs);
    hollow.outputs = std::move(graph.outputs);
    hollow.values = std::move(graph.values);
    hollow.quantization_annotations = std::move(graph.quantization_annotations);
    return hollow;
  }

  const FlatModel& flat_;
  std::vector<Graph> graphs_;  // by scope, named as in the flat form
  std::set<std::size_t> filled_;
};

}  // namespace

bool HasBodies(const Node& node) {
  return std::ranges::any_of(node.attributes, [](const Attribute& attribute) {
    return !std::ranges::all_of(attribute.graphs, IsHollow);
  });
}

bool HasBodies(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) { return HasBodies(node); });
}

bool IsOfBody(std::string_view flat_name) { return !PrefixOf(flat_name).empty(); }

std::string_view BareName(std::string_view flat_name) {
  return flat_name.substr(PrefixOf(flat_name).size());
}

bool AreOfOneGraph(std::string_view flat_name, std::string_view other) {
  return PrefixOf(flat_name) == PrefixOf(other);
}

bool IsControlFlow(const Node& node) {
  return IsStock(node, "If") || IsStock(node, "Loop") || IsStock(node, "Scan") ||
         IsStock(node, "SequenceMap");
}

// A graph on the way to the one that is flattened.
struct FlatModel::Level {
  std::size_t scope;
  const Names& defined;
  const Level* outer;
};

FlatModel::FlatModel(const Model& model) : source_(&model), scopes_(1) {
  for (const char* list : {"node", "initializer", "input", "output", "value_info"})
    positions_.emplace_back(list, std::vector<Position>());
  if (!HasBodies(model.graph)) return;
  marker_.assign(LongestRun(model.graph) + 1, kSeparator);
  flat_ = std::make_unique<Model>(model);
  Add(std::exchange(flat_->graph, {}), 0, nullptr);
}

std::string FlatModel::Resolve(const std::string& name, const Level& level) const {
  if (name.empty()) return name;
  for (const Level* at = &level; at != nullptr; at = at->outer) {
    if (at->defined.contains(name)) return scopes_[at->scope].prefix + name;
  }
  return scopes_[level.scope].prefix + name;  // which nothing defines
}

void FlatModel::AddValues(std::string_view list, std::vector<ValueInfo>& from,
                          std::vector<ValueInfo>& to, const Level& level) {
  auto& positions =
      std::ranges::find(positions_, list, [](const auto& p) { return p.first; })->second;
  for (std::size_t i = 0; i < from.size(); ++i) {
    ValueInfo& value = from[i];
    value.name.insert(0, scopes_[level.scope].prefix);
    if (value.type) {
      ForEachTensorName(*value.type, [&](std::string& name) { name = Resolve(name, level); });
    }
    positions.push_back({level.scope, i});
    to.push_back(std::move(value));
  }
}

void FlatModel::TakeBodies(Node& node, std::size_t index, const Level& level) {
  const std::string& called =
      node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name;
  for (Attribute& attribute : node.attributes) {
    for (std::size_t k = 0; k < attribute.graphs.size(); ++k) {
      const std::string suffix =
          attribute.graphs.size() > 1 ? "[" + std::to_string(k) + "]" : std::string();
      const std::size_t id = scopes_.size();
      Scope& scope = scopes_.emplace_back();
      scope.parent = level.scope;
      scope.prefix = marker_ + std::to_string(id) + marker_;
      scope.place = scopes_[level.scope].place + "graph.node[" + std::to_string(index) + "] '" +
                    node.name + "': " + attribute.name + suffix + ": ";
      scope.path = scopes_[level.scope].path;
      scope.path.append(called).append(".").append(attribute.name).append(suffix).append("/");
      scope.attribute = attribute.name + suffix;
      Graph body = std::exchange(attribute.graphs[k], {});
      Graph& hollow = attribute.graphs[k];
      hollow.name = scope.prefix + body.name;
      hollow.doc_string = std::move(body.doc_string);
      hollow.metadata = std::move(body.metadata);
      hollow.unknown_fields = std::move(body.unknown_fields);
      Add(std::move(body), id, &level);
    }
  }
}

void FlatModel::AddNode(Node node, const Level& level) {
  const std::string& prefix = scopes_[level.scope].prefix;
  if (!node.name.empty() || WritesNothing(node)) node.name.insert(0, prefix);
  for (std::string& input : node.inputs) input = Resolve(input, level);
  for (std::string& output : node.outputs) {
    if (!output.empty()) output.insert(0, prefix);
  }
  flat_->graph.nodes.push_back(std::move(node));
}

void FlatModel::Add(Graph graph, std::size_t scope, const Level* outer) {
  const Names defined = NamesDefinedIn(graph);
  const Level level{scope, defined, outer};
  Graph& flat = flat_->graph;
  scopes_[scope].begin = flat.nodes.size();
  for (const ValueInfo& value : graph.inputs)
    scopes_[scope].inputs.push_back(scopes_[scope].prefix + value.name);
  for (const ValueInfo& value : graph.outputs)
    scopes_[scope].outputs.push_back(scopes_[scope].prefix + value.name);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    Node& node = graph.nodes[i];
    const std::size_t first = scopes_.size();
    TakeBodies(node, i, level);
    for (std::size_t below = first; below < scopes_.size(); ++below) {
      if (scopes_[below].parent == scope) scopes_[below].node = flat.nodes.size();
    }
    positions_[0].second.push_back({scope, i});
    AddNode(std::move(node), level);
  }
  scopes_[scope].end = flat.nodes.size();
  for (std::size_t i = 0; i < graph.initializers.size(); ++i) {
    graph.initializers[i].name.insert(0, scopes_[scope].prefix);
    positions_[1].second.push_back({scope, i});
    flat.initializers.push_back(std::move(graph.initializers[i]));
  }
  AddValues("input", graph.inputs, flat.inputs, level);
  AddValues("output", graph.outputs, flat.outputs, level);
  AddValues("value_info", graph.values, flat.values, level);
  for (TensorAnnotation& annotation : graph.quantization_annotations) {
    annotation.tensor = Resolve(annotation.tensor, level);
    for (auto& [key, name] : annotation.parameters) name = Resolve(name, level);
    flat.quantization_annotations.push_back(std::move(annotation));
  }
  if (scope != 0) return;
  flat.name = std::move(graph.name);
  flat.doc_string = std::move(graph.doc_string);
  flat.metadata = std::move(graph.metadata);
  flat.unknown_fields = std::move(graph.unknown_fields);
}

std::size_t FlatModel::ScopeOf(std::string_view name) const {
  if (marker_.empty()) return 0;
  const std::string_view prefix = PrefixOf(name, marker_.size());
  if (prefix.empty()) return 0;
  std::size_t scope = 0;
  std::from_chars(prefix.data() + marker_.size(), prefix.data() + prefix.size(), scope);
  return scope < scopes_.size() && scopes_[scope].prefix == prefix ? scope : 0;
}

std::string_view FlatModel::Bare(std::string_view name) const {
  return name.substr(scopes_[ScopeOf(name)].prefix.size());
}

std::string FlatModel::PlaceOf(std::string_view list, std::size_t i) const {
  const auto& positions =
      std::ranges::find(positions_, list, [](const auto& p) { return p.first; })->second;
  const Position at = positions.empty() ? Position{0, i} : positions[i];
  return scopes_[at.scope].place + "graph." + std::string(list) + "[" + std::to_string(at.index) +
         "]";
}

std::string FlatModel::Readable(std::string_view text) const {
  std::string readable;
  while (!marker_.empty()) {
    const std::size_t at = text.find(marker_);
    if (at == std::string_view::npos) break;
    const std::size_t scope = ScopeOf(text.substr(at));
    readable += text.substr(0, at);
    readable += scopes_[scope].path;
    text.remove_prefix(at + (scope == 0 ? marker_ : scopes_[scope].prefix).size());
  }
  return readable += text;
}

Error FlatModel::Readable(Error error) const {
  error.where = Readable(error.where);
  error.message = Readable(error.message);
  return error;
}

Result<Model> FlatModel::Nest(Model flat) const {
  if (flat_ == nullptr) return flat;
  QTX_ASSIGN_OR_RETURN(flat.graph, Nesting(*this).Run(std::move(flat.graph)));
  return flat;
}

}  // namespace qtx::format
