#include "qtx/graph/widen.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "qtx/format/inference.h"
#include "qtx/format/scopes.h"
#include "qtx/format/tensor.h"
#include "qtx/graph/graph_builder.h"

namespace qtx::graph {
namespace {

using format::ElementType;
using format::Node;
using format::Tensor;

// A FLOAT holds every half.
Tensor FloatOf(const Tensor& halves) {
  Tensor floats{ElementType::kFloat, halves.dims, std::nullopt, {}};
  floats.bytes.resize(halves.bytes.size() * 2);
  const auto out = floats.As<float>();
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto code = std::to_integer<std::uint32_t>(halves.bytes[2 * i]) |
                      std::to_integer<std::uint32_t>(halves.bytes[2 * i + 1]) << 8U;
    out[i] = static_cast<float>(format::DecodeSmallFloat(halves.elem_type, code));
  }
  return floats;
}

Node CastNode(const std::string& from, const std::string& to, const std::string& stem,
              ElementType type) {
  Node cast;
  cast.name = stem + "/Cast";
  cast.op_type = "Cast";
  cast.inputs = {from};
  cast.outputs = {to};
  cast.attributes = {format::Attribute::Int("to", static_cast<std::int64_t>(type))};
  return cast;
}

// Works on a flat form.
class Widener {
 public:
  Widener(const format::FlatModel& flat, format::Model& model)
      : inference_(flat), model_(model), names_(model.graph) {}

  Result<std::size_t> Run() {
    RenameEnds();
    for (format::TensorData& data : model_.graph.initializers)
      QTX_RETURN_IF_ERROR(WidenData(data, "initializer '" + data.name + "'"));
    for (auto* list : {&model_.graph.inputs, &model_.graph.outputs, &model_.graph.values}) {
      for (format::ValueInfo& info : *list) WidenDeclaration(info);
    }
    for (Node& node : model_.graph.nodes) QTX_RETURN_IF_ERROR(WidenNode(node));
    auto& values = model_.graph.values;
    values.insert(values.end(), declared_.begin(), declared_.end());
    auto& nodes = model_.graph.nodes;
    nodes.insert(nodes.begin(), before_.begin(), before_.end());
    nodes.insert(nodes.end(), after_.begin(), after_.end());
    return count_;
  }

 private:
  // Within the graph, inputs and outputs of halves have FLOAT twins, but those that have Casts
  // already, which then stay.
  void RenameEnds() {
    std::set<std::string> floats;  // read by other nodes than a Cast to FLOAT
    std::map<std::string, const Node*> producers;
    for (const Node& node : model_.graph.nodes) {
      for (const std::string& input : node.inputs) {
        if (!IsCastTo(node, ElementType::kFloat)) floats.insert(input);
      }
      for (const std::string& output : node.outputs) producers.emplace(output, &node);
    }
    for (const format::ValueInfo& info : model_.graph.inputs) {
      if (!IsHalfEnd(info)) continue;
      ends_.insert(info.name);
      if (!floats.contains(info.name)) continue;
      const std::string& twin = TwinOf(info);
      before_.push_back(CastNode(info.name, twin, twin, ElementType::kFloat));
    }
    for (const format::ValueInfo& info : model_.graph.outputs) {
      const auto producer = producers.find(info.name);
      if (!IsHalfEnd(info) || producer == producers.end() || !ends_.insert(info.name).second)
        continue;
      const Node& node = *producer->second;
      if (IsCastTo(node, info.type->elem_type) && TypeOf(node.inputs[0]) == ElementType::kFloat)
        continue;
      after_.push_back(CastNode(TwinOf(info), info.name, info.name, info.type->elem_type));
    }
  }

  static bool IsHalfEnd(const format::ValueInfo& info) {
    return info.type && IsHalf(info.type->elem_type) && !format::IsOfBody(info.name);
  }

  static bool IsCastTo(const Node& node, ElementType type) {
    return IsStock(node, "Cast") && node.inputs.size() == 1 &&
           node.IntOr("to", 0) == static_cast<std::int64_t>(type);
  }

  ElementType TypeOf(const std::string& value) const {
    const format::ValueFacts* facts = inference_.Find(value);
    return facts == nullptr ? ElementType::kUndefined : facts->type;
  }

  const std::string& TwinOf(const format::ValueInfo& end) {
    std::string& twin = twins_[end.name];
    twin = names_.Unique(end.name + "/float");
    format::ValueInfo& info = declared_.emplace_back();
    info.name = twin;
    info.type = end.type;
    info.type->elem_type = ElementType::kFloat;
    ++count_;
    return twin;
  }

  Result<void> WidenData(format::TensorData& data, const std::string& place) {
    if (!IsHalf(data.data_type)) return {};
    const auto halves = format::Decode(data, model_.folder);
    if (!halves.has_value()) return At(place, halves.error());
    data = format::ToTensorData(data.name, FloatOf(*halves));
    ++count_;
    return {};
  }

  void WidenDeclaration(format::ValueInfo& info) {
    if (!info.type || !IsHalf(info.type->elem_type) || ends_.contains(info.name)) return;
    info.type->elem_type = ElementType::kFloat;
    ++count_;
  }

  // The Casts between an end and the FLOAT within stay.
  bool IsBesideEnd(const Node& node) const {
    const auto is_end = [this](const std::string& value) {
      return ends_.contains(value) && !twins_.contains(value);
    };
    return IsStock(node, "Cast") &&
           (std::ranges::any_of(node.inputs, is_end) || std::ranges::any_of(node.outputs, is_end));
  }

  Result<void> WidenNode(Node& node) {
    if (IsBesideEnd(node)) return {};
    if (IsStock(node, "Cast") && HasNothingToDo(node)) {
      node.op_type = "Identity";
      node.attributes.clear();
      ++count_;
    }
    for (format::Attribute& attribute : node.attributes) {
      if (attribute.t) QTX_RETURN_IF_ERROR(WidenData(*attribute.t, attribute.name));
      if (!IsTypeAttribute(attribute)) continue;
      attribute.i = static_cast<std::int64_t>(ElementType::kFloat);
      ++count_;
    }
    for (auto* names : {&node.inputs, &node.outputs}) {
      for (std::string& name : *names) {
        if (const auto twin = twins_.find(name); twin != twins_.end()) name = twin->second;
      }
    }
    return {};
  }

  // From a FLOAT, or what becomes one, to a half; or from a half to FLOAT.
  bool HasNothingToDo(const Node& cast) const {
    if (cast.inputs.size() != 1) return false;
    const auto to = static_cast<ElementType>(cast.IntOr("to", 0));
    const ElementType from = TypeOf(cast.inputs[0]);
    return (IsHalf(to) && (IsHalf(from) || from == ElementType::kFloat)) ||
           (IsHalf(from) && to == ElementType::kFloat);
  }

  static bool IsTypeAttribute(const format::Attribute& attribute) {
    constexpr std::array<std::string_view, 5> kNames = {"to", "dtype", "output_dtype", "stash_type",
                                                        "softmax_precision"};
    return attribute.type == format::AttributeType::kInt &&
           std::ranges::find(kNames, attribute.name) != kNames.end() &&
           IsHalf(static_cast<ElementType>(attribute.i));
  }

  const format::Inference inference_;  // of the model as it was
  format::Model& model_;
  Names names_;
  std::set<std::string> ends_;  // inputs and outputs of halves
  std::map<std::string, std::string> twins_;
  std::vector<format::ValueInfo> declared_;  // the twins
  std::vector<Node> before_, after_;
  std::size_t count_ = 0;
};

bool HasHalves(const format::Graph& graph) {
  const auto declared = [](const format::ValueInfo& info) {
    return info.type && IsHalf(info.type->elem_type);
  };
  const auto stored = [](const format::TensorData& data) { return IsHalf(data.data_type); };
  const auto computed = [](const Node& node) {
    return std::ranges::any_of(node.attributes, [](const format::Attribute& attribute) {
      return (attribute.name == "to" && IsHalf(static_cast<ElementType>(attribute.i))) ||
             (attribute.t && IsHalf(attribute.t->data_type));
    });
  };
  return std::ranges::any_of(graph.initializers, stored) ||
         std::ranges::any_of(graph.inputs, declared) ||
         std::ranges::any_of(graph.outputs, declared) ||
         std::ranges::any_of(graph.values, declared) || std::ranges::any_of(graph.nodes, computed);
}

}  // namespace

Result<Widened> WidenHalves(const format::Model& model) {
  const format::FlatModel flat(model);
  if (!HasHalves(flat.model().graph)) return Widened{model, 0};
  format::Model widened = flat.model();
  auto count = Widener(flat, widened).Run();
  if (!count.has_value()) return flat.Readable(std::move(count).error());
  if (*count == 0) return Widened{model, 0};
  QTX_ASSIGN_OR_RETURN(format::Model nested, flat.Nest(std::move(widened)));
  return Widened{std::move(nested), *count};
}

}  // namespace qtx::graph
