#include "fold.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "initializers.h"
#include "operators.h"
#include "qtx/format/accumulator.h"
#include "qtx/format/attributes.h"
#include "qtx/format/scopes.h"
#include "qtx/graph/graph_builder.h"

namespace qtx::quantize {
namespace {

using format::ElementType;
using format::Node;
using format::Tensor;

// Files before IR version 4 name every initializer as an input.
void FoldDefaults(format::Model& model, Ledger& ledger) {
  std::set<std::string> constants;
  for (const format::TensorData& data : model.graph.initializers) {
    // The inputs of a body are what its node moves there.
    if (data.data_type == ElementType::kFloat && !format::IsOfBody(data.name))
      constants.insert(data.name);
  }
  auto& inputs = model.graph.inputs;
  for (format::ValueInfo& info : inputs) {
    if (!constants.contains(info.name)) continue;
    ledger.Changed(info.name, "input", "its default became a constant");
    model.graph.values.push_back(info);
  }
  std::erase_if(inputs, [&constants](const auto& info) { return constants.contains(info.name); });
}

void FoldConstants(format::Model& model, Ledger& ledger) {
  for (Node& node : model.graph.nodes) {
    if (!IsStock(node, "Constant") || node.outputs.size() != 1) continue;
    const format::Attribute* value = node.Find("value");
    if (value == nullptr || !value->t || value->t->data_type != ElementType::kFloat) continue;
    const auto tensor = format::Decode(*value->t, model.folder);
    if (!tensor.has_value()) continue;  // errors are reported where it is used
    model.graph.initializers.push_back(format::ToTensorData(node.outputs[0], *tensor));
    ledger.Changed(node.outputs[0], "producer", "the Constant became an initializer");
    node.op_type.clear();
  }
  Compact(model.graph);
}

// Exporters store equal constants once, and give the others by Identity nodes.
void FoldIdentities(format::Model& model, Ledger& ledger) {
  std::set<std::string> constants, ends, gone;
  for (const format::TensorData& data : model.graph.initializers) {
    if (data.data_type == ElementType::kFloat) constants.insert(data.name);
  }
  for (const auto* list : {&model.graph.inputs, &model.graph.outputs}) {
    for (const format::ValueInfo& info : *list) ends.insert(info.name);
  }
  std::map<std::string, std::string> aliases;
  for (Node& node : model.graph.nodes) {
    for (std::string& input : node.inputs) {
      if (const auto alias = aliases.find(input); alias != aliases.end()) input = alias->second;
    }
    if (!IsStock(node, "Identity") || node.inputs.size() != 1 || node.outputs.size() != 1) continue;
    const std::string& from = node.inputs[0];
    const std::string& to = node.outputs[0];
    if (!constants.contains(from) || ends.contains(from) || ends.contains(to)) continue;
    ledger.Changed(to, "producer", "the Identity went: '" + from + "' is read itself");
    aliases.emplace(to, from);
    gone.insert(to);
    node.op_type.clear();
  }
  Undeclare(model.graph, gone);
  Compact(model.graph);
}

class ProductFolder {
 public:
  ProductFolder(format::Model& model, Ledger& ledger)
      : model_(model), source_(model), index_(source_), names_(source_.graph), ledger_(ledger) {}

  Result<void> Run();

 private:
  bool AddBias(std::size_t add);
  Result<void> FoldNormalization(std::size_t normalization);
  bool CanFold(const Node& normalization, const Node& product) const;
  std::string AddConstant(const std::string& from, const Tensor& tensor);
  void Join(std::size_t product, std::size_t after);

  format::Model& model_;
  const format::Model source_;
  const GraphIndex index_;
  graph::Names names_;
  Ledger& ledger_;
  std::set<std::string> gone_;  // values that are no longer read
};

// Replaces the product's output by that of `after` and removes `after`.
void ProductFolder::Join(std::size_t product, std::size_t after) {
  Node& node = model_.graph.nodes[product];
  Node& gone = model_.graph.nodes[after];
  ledger_.Changed(gone.outputs[0], "producer",
                  "the " + gone.op_type + " went into " + PlaceOf(node));
  ledger_.Dropped(node.outputs[0], "value", "it is no longer read");
  gone_.insert(node.outputs[0]);
  node.outputs[0] = gone.outputs[0];
  gone.op_type.clear();
}

// MatMul equals Gemm only if A and B are matrices.
bool ProductFolder::AddBias(std::size_t add) {
  const Node& node = index_.node(add);
  if (!IsStock(node, "Add") || node.inputs.size() != 2 || node.outputs.size() != 1) return false;
  for (std::size_t side = 0; side < 2; ++side) {
    const auto at = index_.Producer(node.inputs[side]);
    const std::string& bias = node.inputs[1 - side];
    if (!at || !index_.OnlyUseBeside(node.inputs[side]) || !index_.IsFloatConstant(bias)) continue;
    const Node& product = index_.node(*at);
    if (!IsStock(product, "MatMul") || product.inputs.size() != 2) continue;
    const format::TensorType* a = index_.TypeOf(product.inputs[0]);
    const format::TensorData* b = index_.Initializer(product.inputs[1]);
    if (a == nullptr || !a->shape || a->shape->size() != 2 || b == nullptr || b->dims.size() != 2)
      continue;
    const format::Dims& dims = index_.Initializer(bias)->dims;
    if (dims != format::Dims{b->dims[1]} && dims != format::Dims{1, b->dims[1]}) continue;
    Node& gemm = model_.graph.nodes[*at];
    gemm.op_type = "Gemm";
    gemm.inputs.push_back(bias);
    Join(*at, add);
    return true;
  }
  return false;
}

bool ProductFolder::CanFold(const Node& normalization, const Node& product) const {
  const bool fits = IsStock(product, "Conv") || IsStock(product, "ConvTranspose") ||
                    (IsStock(product, "Gemm") && !format::IsScaledGemm(product));
  if (!fits || product.inputs.size() < 2 || !index_.IsFloatConstant(product.inputs[1]))
    return false;
  const bool bias = product.inputs.size() > 2 && !product.inputs[2].empty();
  if (bias && (!index_.IsFloatConstant(product.inputs[2]) ||
               index_.Initializer(product.inputs[2])->dims.size() != 1))
    return false;
  return AxesOf(product, index_.Initializer(product.inputs[1])->dims).output &&
         std::ranges::all_of(std::span(normalization.inputs).subspan(1),
                             [this](const auto& name) { return index_.IsFloatConstant(name); });
}

std::string ProductFolder::AddConstant(const std::string& from, const Tensor& tensor) {
  std::string name = names_.Unique(from + "/folded");
  model_.graph.initializers.push_back(format::ToTensorData(name, tensor));
  return name;
}

Result<void> ProductFolder::FoldNormalization(std::size_t normalization) {
  const Node& node = index_.node(normalization);
  if (!IsStock(node, "BatchNormalization") || node.inputs.size() != 5 || node.outputs.size() != 1 ||
      format::Attributes(node).Int("training_mode") != 0)
    return {};
  const auto at = index_.Producer(node.inputs[0]);
  if (!at || !index_.OnlyUseBeside(node.inputs[0]) || !CanFold(node, index_.node(*at))) return {};
  const Node& product = index_.node(*at);
  QTX_ASSIGN_OR_RETURN(Tensor w, LoadInitializer(index_, product.inputs[1]));
  const std::int64_t axis = *AxesOf(product, w.dims).output;
  const std::int64_t channels = w.dims[static_cast<std::size_t>(axis)];
  std::vector<Tensor> vectors;
  for (std::size_t i = 1; i < 5; ++i) {
    QTX_ASSIGN_OR_RETURN(Tensor vector, LoadInitializer(index_, node.inputs[i]));
    if (vector.dims != format::Dims{channels}) {
      return Error{ErrorCode::kInvalid, PlaceOf(node) + ": input '" + node.inputs[i] + "'",
                   "found shape " + format::ToString(vector.dims) + ", expected [" +
                       std::to_string(channels) + "]"};
    }
    vectors.push_back(std::move(vector));
  }
  QTX_ASSIGN_OR_RETURN(Tensor b, format::MakeTensor(ElementType::kFloat, {channels}));
  const bool biased = product.inputs.size() > 2 && !product.inputs[2].empty();
  if (biased) {
    QTX_ASSIGN_OR_RETURN(b, LoadInitializer(index_, product.inputs[2]));
    if (b.dims != format::Dims{channels}) return {};
  }
  const auto epsilon = static_cast<double>(format::Attributes(node).Float("epsilon"));
  std::vector<double> factors;
  for (std::size_t i = 0; i < static_cast<std::size_t>(channels); ++i) {
    const auto value = [&vectors, i](std::size_t k) {
      return static_cast<double>(vectors[k].As<float>()[i]);  // 0 gamma, 1 beta, 2 mean, 3 variance
    };
    factors.push_back(value(0) / std::sqrt(value(3) + epsilon));
    float& bias = b.As<float>()[i];
    bias = static_cast<float>((static_cast<double>(bias) - value(2)) * factors.back() + value(1));
  }
  const std::int64_t stride = format::RowMajorStrides(w.dims)[static_cast<std::size_t>(axis)];
  const auto weights = w.As<float>();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto channel = static_cast<std::int64_t>(i) / stride % channels;
    weights[i] = static_cast<float>(static_cast<double>(weights[i]) *
                                    factors[static_cast<std::size_t>(channel)]);
  }
  Node& folded = model_.graph.nodes[*at];
  folded.inputs.resize(3);
  folded.inputs[1] = AddConstant(product.inputs[1], w);
  folded.inputs[2] = AddConstant(biased ? product.inputs[2] : node.outputs[0] + "/bias", b);
  Join(*at, normalization);
  return {};
}

Result<void> ProductFolder::Run() {
  for (std::size_t i = 0; i < source_.graph.nodes.size(); ++i) {
    if (AddBias(i)) continue;
    QTX_RETURN_IF_ERROR(FoldNormalization(i));
  }
  Undeclare(model_.graph, gone_);
  Compact(model_.graph);
  return {};
}

}  // namespace

void Undeclare(format::Graph& graph, const std::set<std::string>& values) {
  std::erase_if(graph.values, [&values](const auto& info) { return values.contains(info.name); });
}

void Compact(format::Graph& graph) {
  std::erase_if(graph.nodes, [](const Node& node) { return node.op_type.empty(); });
}

void DropUnused(const format::Model& before, format::Model& model, Ledger& ledger) {
  const GraphIndex then(before), now(model);
  std::set<std::string> unused;
  std::erase_if(model.graph.initializers, [&](const format::TensorData& data) {
    const bool gone =
        now.Uses(data.name).empty() && !then.Uses(data.name).empty() && !now.IsOutput(data.name);
    if (gone) unused.insert(data.name);
    return gone;
  });
  Undeclare(model.graph, unused);
  for (const std::string& name : unused)
    ledger.Dropped(name, "initializer", "it is no longer read");
}

Result<void> Fold(format::Model& model, Ledger& ledger) {
  FoldDefaults(model, ledger);
  FoldConstants(model, ledger);
  FoldIdentities(model, ledger);
  return ProductFolder(model, ledger).Run();
}

}  // namespace qtx::quantize
