#include "awq.h"

#include <algorithm>
#include <map>
#include <set>

#include "awq_search.h"
#include "divide.h"
#include "operators.h"
#include "qtx/format/scopes.h"
#include "qtx/graph/graph_builder.h"
#include "qtx/graph/product_rows.h"
#include "settings.h"

namespace qtx::quantize {
namespace {

using format::Node;
using format::Tensor;

// A value and the products that read it.
struct Group {
  std::string value;
  Channels channels;
  std::vector<std::size_t> products;
  bool read_by_others = false;
};

class Scaler {
 public:
  Scaler(format::Model& model, Options& options, Ledger& ledger)
      : model_(model),
        source_(model),
        index_(source_),
        names_(source_.graph),
        options_(options),
        ledger_(ledger) {}

  Result<void> Run();

 private:
  std::optional<graph::ProductRows> RowsOf(std::size_t node) const;
  Channels ChannelsOf(std::size_t node) const;
  Group GroupOf(std::size_t first) const;
  Result<void> Scale(const Group& group);
  Result<std::vector<ScaledProduct>> Load(const Group& group);
  Result<std::optional<Gram>> GramFor(std::size_t node);
  Result<const Tensor*> Load(std::size_t node, std::size_t input);
  void Store(std::size_t node, std::size_t input, Tensor tensor);
  Result<void> Divide(const Division& division, const std::vector<float>& factors);
  void Multiply(const Group& group, const std::vector<float>& factors);
  void ScaleGrams(const Group& group, const std::vector<float>& factors);
  Result<void> Finish();

  format::Model& model_;
  const format::Model source_;
  const GraphIndex index_;
  graph::Names names_;
  Options& options_;
  Ledger& ledger_;
  std::vector<NodeSettings> settings_;
  std::map<std::string, Tensor> tensors_;  // as they are by now, by the names in `model`
  std::map<std::size_t, Node> before_;     // nodes to be put before that place
  std::set<std::string> changed_;          // values
};

// Of a product whose weights no other node reads.
std::optional<graph::ProductRows> Scaler::RowsOf(std::size_t node) const {
  const Node& product = index_.node(node);
  if (product.inputs.size() < 2 || product.outputs.size() != 1) return std::nullopt;
  const std::string& weights = product.inputs[1];
  if (!index_.IsFloatConstant(weights) || index_.Uses(weights).size() != 1 ||
      index_.IsOutput(weights))
    return std::nullopt;
  const format::Dims& dims = index_.Initializer(weights)->dims;
  auto rows = graph::RowsOf(product, dims);
  const WeightAxes axes = AxesOf(product, dims);
  if (!rows || rows->size < 1 || !axes.reduced || dims[static_cast<std::size_t>(*axes.output)] < 1)
    return std::nullopt;
  return rows;
}

Channels Scaler::ChannelsOf(std::size_t node) const {
  const auto rows = RowsOf(node);
  const format::Dims& dims = index_.Initializer(index_.node(node).inputs[1])->dims;
  if (!IsStock(index_.node(node), "Conv")) return {rows->size, 0};
  return {dims[1] * rows->groups, std::ssize(dims) - 2};
}

Group Scaler::GroupOf(std::size_t first) const {
  Group group{.value = index_.node(first).inputs[0], .channels = ChannelsOf(first)};
  for (const Use& use : index_.Uses(group.value)) {
    const bool same = use.input == 0 && RowsOf(use.node) &&
                      !format::IsOfBody(index_.node(use.node).outputs[0]) &&
                      ChannelsOf(use.node).count == group.channels.count &&
                      ChannelsOf(use.node).from_end == group.channels.from_end;
    if (same) group.products.push_back(use.node);
    group.read_by_others |= !same;
  }
  return group;
}

Result<std::optional<Gram>> Scaler::GramFor(std::size_t node) {
  const auto rows = *RowsOf(node);
  std::optional<Gram> gram;
  if (options_.measure_sums) {
    QTX_ASSIGN_OR_RETURN(gram, options_.measure_sums(source_, source_, source_.graph.nodes[node]));
  } else if (const auto at = options_.grams.find(rows.name); at != options_.grams.end()) {
    gram = at->second;
  }
  if (gram && (gram->size != rows.size || gram->Groups() != rows.groups)) gram.reset();
  return gram;
}

// The products of the group whose weights will be quantized; empty: without sums.
Result<std::vector<ScaledProduct>> Scaler::Load(const Group& group) {
  std::vector<ScaledProduct> products;
  for (const std::size_t node : group.products) {
    if (!settings_[node].settings.weights.quantized || settings_[node].keep_float) continue;
    QTX_ASSIGN_OR_RETURN(std::optional<Gram> gram, GramFor(node));
    if (!gram) return std::vector<ScaledProduct>();
    QTX_ASSIGN_OR_RETURN(const Tensor* weights, Load(node, 1));
    ScaledProduct product{*weights, settings_[node].settings,
                          AxesOf(index_.node(node), weights->dims), *std::move(gram),
                          RowsOf(node)->groups};
    for (std::size_t i = 2; i < weights->dims.size(); ++i) product.elements *= weights->dims[i];
    products.push_back(std::move(product));
  }
  return products;
}

Result<const Tensor*> Scaler::Load(std::size_t node, std::size_t input) {
  const std::string& name = model_.graph.nodes[node].inputs[input];
  if (const auto at = tensors_.find(name); at != tensors_.end()) return &at->second;
  QTX_ASSIGN_OR_RETURN(Tensor tensor, LoadInitializer(index_, name));
  return &tensors_.emplace(name, std::move(tensor)).first->second;
}

// A constant that others read, too, gets another name.
void Scaler::Store(std::size_t node, std::size_t input, Tensor tensor) {
  std::string& name = model_.graph.nodes[node].inputs[input];
  const bool own = index_.Initializer(name) == nullptr ||
                   (index_.Uses(name).size() == 1 && !index_.IsOutput(name));
  if (!own) name = names_.Unique(name + "/scaled");
  tensors_.insert_or_assign(name, std::move(tensor));
}

Result<void> Scaler::Divide(const Division& division, const std::vector<float>& factors) {
  for (const ConstantChange& change : division.constants) {
    QTX_ASSIGN_OR_RETURN(const Tensor* constant, Load(change.node, change.input));
    Store(change.node, change.input, Changed(*constant, factors, change));
  }
  changed_.insert(division.values.begin(), division.values.end());
  return {};
}

// A Mul by the inverses before the first of the products.
void Scaler::Multiply(const Group& group, const std::vector<float>& factors) {
  Tensor inverses{.elem_type = format::ElementType::kFloat, .dims = {group.channels.count}};
  inverses.dims.resize(static_cast<std::size_t>(group.channels.from_end) + 1, 1);
  inverses.bytes.resize(factors.size() * sizeof(float));
  std::ranges::transform(factors, inverses.As<float>().begin(), [](float s) { return 1 / s; });
  Node node;
  node.op_type = "Mul";
  node.inputs = {group.value, names_.Unique(group.value + "/inverses")};
  node.outputs = {names_.Unique(group.value + "/scaled")};
  node.name = node.outputs[0] + "/Mul";
  format::ValueInfo info{.name = node.outputs[0]};
  if (const auto* type = index_.TypeOf(group.value)) info.type = *type;
  if (info.type) info.type->statistics.reset();
  if (info.type) model_.graph.values.push_back(std::move(info));
  for (const std::size_t product : group.products)
    model_.graph.nodes[product].inputs[0] = node.outputs[0];
  tensors_.emplace(node.inputs[1], std::move(inverses));
  ledger_.Changed(node.outputs[0], "producer", "a Mul of '" + group.value + "'");
  before_.emplace(group.products.front(), std::move(node));
}

void Scaler::ScaleGrams(const Group& group, const std::vector<float>& factors) {
  std::set<std::string> done;
  for (const std::size_t node : group.products) {
    const auto rows = *RowsOf(node);
    const auto at = options_.grams.find(rows.name);
    if (at == options_.grams.end() || !done.insert(rows.name).second) continue;
    const Node& product = model_.graph.nodes[node];
    const format::Dims& dims = index_.Initializer(index_.node(node).inputs[1])->dims;
    const std::int64_t elements = at->second.size * rows.groups / group.channels.count;
    Gram gram = at->second;
    std::size_t next = 0;
    const auto factor = [&](std::int64_t of_group, std::int64_t k) {
      return static_cast<double>(
          factors[static_cast<std::size_t>(of_group * (gram.size / elements) + k / elements)]);
    };
    for (std::int64_t g = 0; g < gram.Groups(); ++g) {
      for (std::int64_t i = 0; i < gram.size; ++i) {
        for (std::int64_t j = i; j < gram.size; ++j)
          gram.sums[next++] /= factor(g, i) * factor(g, j);
      }
    }
    options_.grams.insert_or_assign(graph::RowsOf(product, dims)->name, std::move(gram));
  }
}

std::string TextOf(const ChannelFactors& found) {
  const auto number = [](double x) { return std::to_string(x).substr(0, 4); };
  return std::string("channels divided by AWQ's factors, alpha ") + number(found.alpha) +
         (found.by_weights ? ", over those of the weights" : "") + "; they leave " +
         number(found.left) + " of the error to nearest";
}

Result<void> Scaler::Scale(const Group& group) {
  const bool quantized = std::ranges::any_of(group.products, [this](std::size_t node) {
    return settings_[node].settings.weights.quantized && !settings_[node].keep_float;
  });
  if (!quantized) return {};
  const bool own = !group.read_by_others && !index_.IsOutput(group.value);
  const auto division =
      own ? DivisionOf(index_, group.value, group.channels) : std::optional<Division>();
  if (!division && options_.awq != Awq::kMultiply) {
    ledger_.Kept(group.value, "values",
                 own ? "no constants before it could be divided by AWQ's factors"
                     : "not only products read it, so that AWQ's factors had no place before it");
    return {};
  }
  QTX_ASSIGN_OR_RETURN(const std::vector<ScaledProduct> products, Load(group));
  if (products.empty()) {
    ledger_.Kept(group.value, "values", "AWQ had no sums of it");
    return {};
  }
  auto found = SearchFactors(products);
  if (!found.has_value()) return At(PlaceOf(index_.node(group.products[0])), found.error());
  if (std::ranges::all_of(found->factors, [](float factor) { return factor == 1; })) {
    ledger_.Kept(group.value, "values", "no factors of AWQ left less error");
    return {};
  }
  ledger_.Changed(group.value, "values", TextOf(*found));
  for (const std::size_t node : group.products) {
    QTX_ASSIGN_OR_RETURN(const Tensor* weights, Load(node, 1));
    ScaledProduct product{*weights, {}, AxesOf(index_.node(node), weights->dims)};
    const auto rows = *RowsOf(node);
    product.gram.size = rows.size;
    product.groups = rows.groups;
    product.elements = rows.size * rows.groups / group.channels.count;
    Store(node, 1, Scaled(product, found->factors));
  }
  if (division) {
    QTX_RETURN_IF_ERROR(Divide(*division, found->factors));
  } else {
    Multiply(group, found->factors);
  }
  ScaleGrams(group, found->factors);
  return {};
}

// Statistics of what has changed are void.
Result<void> Scaler::Finish() {
  format::Graph& graph = model_.graph;
  std::set<std::string> stored;
  for (format::TensorData& data : graph.initializers) {
    if (const auto at = tensors_.find(data.name); at != tensors_.end()) {
      data = format::ToTensorData(data.name, at->second);
      stored.insert(data.name);
    }
  }
  for (const auto& [name, tensor] : tensors_) {
    if (!stored.contains(name)) graph.initializers.push_back(format::ToTensorData(name, tensor));
  }
  for (format::ValueInfo& info : graph.values) {
    if (info.type && (changed_.contains(info.name) || tensors_.contains(info.name)))
      info.type->statistics.reset();
    if (const auto at = tensors_.find(info.name); at != tensors_.end() && info.type)
      info.type->shape = format::ToShape(at->second.dims);
  }
  for (auto at = before_.rbegin(); at != before_.rend(); ++at)
    graph.nodes.insert(graph.nodes.begin() + static_cast<std::ptrdiff_t>(at->first), at->second);
  if (changed_.empty() && before_.empty()) return {};
  if (options_.measure) {
    QTX_ASSIGN_OR_RETURN(model_, options_.measure(model_));
    return {};
  }
  const bool needed = std::ranges::any_of(
      settings_, [](const NodeSettings& node) { return node.settings.activations.quantized; });
  if (!needed) return {};
  return Error{
      ErrorCode::kInvalid,
      "value '" + (changed_.empty() ? before_.begin()->second.outputs[0] : *changed_.begin()) + "'",
      "found no statistics once it has AWQ's factors, expected data to measure them, or "
      "FLOAT activations"};
}

Result<void> Scaler::Run() {
  QTX_ASSIGN_OR_RETURN(settings_, SettingsOf(source_.graph, options_));
  std::set<std::string> seen;
  for (std::size_t i = 0; i < source_.graph.nodes.size(); ++i) {
    if (!RowsOf(i)) continue;
    const std::string& value = index_.node(i).inputs[0];
    if (index_.Initializer(value) != nullptr || format::IsOfBody(value) ||
        format::IsOfBody(index_.node(i).outputs[0]) || !seen.insert(value).second)
      continue;
    QTX_RETURN_IF_ERROR(Scale(GroupOf(i)));
  }
  return Finish();
}

}  // namespace

Result<void> ScaleInputs(format::Model& model, Options& options, Ledger& ledger) {
  return Scaler(model, options, ledger).Run();
}

}  // namespace qtx::quantize
