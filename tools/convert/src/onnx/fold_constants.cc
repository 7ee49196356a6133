#include "onnx/fold_constants.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "onnx/evaluate.h"
#include "onnx/graph_index.h"
#include "onnx/quantized_types.h"
#include "qonnx/dialect.h"
#include "qoperator/annotations.h"
#include "qoperator/operators.h"

namespace qtx::convert {
namespace {

using format::ElementType;
using format::Node;
using format::Tensor;

bool IsPair(const Node& node) { return IsQuantizeLinear(node) || IsDequantizeLinear(node); }

class Folder {
 public:
  Folder(const GraphIndex& index, Ledger& ledger) : index_(index), ledger_(ledger) {}

  Result<format::Model> Run();

 private:
  bool IsRange(const Node& node) const;
  bool IsKept(const Node& node) const;
  bool FindWanted();
  void FindBudget();
  Result<void> Visit(std::size_t i);
  Result<std::optional<Tensor>> ValueOf(const std::string& name, bool shape) const;
  void FindUnread();
  format::Model Apply();

  const GraphIndex& index_;
  Ledger& ledger_;
  std::set<std::string> roots_;   // read by a quantizer
  std::set<std::string> wanted_;  // `roots_` and what they may be computed from
  std::map<std::string, Tensor> computed_;
  std::set<std::size_t> folded_, unread_;  // nodes
  std::set<std::string> dropped_;          // values
  std::int64_t budget_ = 0;                // bytes
};

// A Clip of integers that NormalizePairs brings into a type as its range: of what a QuantizeLinear
// gives, or of a constant that is read in one way.
bool Folder::IsRange(const Node& node) const {
  if (!IsStock(node, "Clip") || node.inputs.empty() || node.outputs.size() != 1) return false;
  const auto producer = index_.Producer(node.inputs[0]);
  if (producer && IsQuantizeLinear(index_.node(*producer))) return true;
  const auto& readers = index_.Uses(node.outputs[0]);
  if (readers.empty() || index_.Uses(node.inputs[0]).size() != 1) return false;
  const Node& first = index_.node(readers[0].node);
  return IsDequantizeLinear(first) && std::ranges::all_of(readers, [&](const Use& use) {
           const Node& read = index_.node(use.node);
           return IsDequantizeLinear(read) && read.inputs == first.inputs &&
                  read.attributes == first.attributes;
         });
}

// A node that is not computed.
bool Folder::IsKept(const Node& node) const {
  return !CanEvaluate(node) || node.outputs.size() != 1 || index_.IsOutput(node.outputs[0]) ||
         IsRange(node);
}

// From the last node to the first.  False: there is nothing to fold.
bool Folder::FindWanted() {
  bool any = false;
  for (std::size_t i = index_.model().graph.nodes.size(); i-- > 0;) {
    const Node& node = index_.node(i);
    const bool quantizer = IsPair(node) || IsQOperator(node) || IsQonnxDomain(node.domain);
    if (quantizer || IsRange(node)) {
      for (std::size_t k = 0; k < node.inputs.size(); ++k) {
        const auto producer = index_.Producer(node.inputs[k]);
        if (!producer) continue;
        // GraphIndex::Constant reads a Constant; only as data it must be an initializer.
        const Node& from = index_.node(*producer);
        const bool constant = IsStock(from, "Constant") && from.Find("value") != nullptr;
        const bool data = k == 0 && (IsPair(node) || IsStock(node, "Clip"));
        if (constant && !data) continue;
        roots_.insert(node.inputs[k]);
        wanted_.insert(node.inputs[k]);
      }
    }
    if (IsKept(node) || !wanted_.contains(node.outputs[0])) continue;
    any = true;
    wanted_.insert(node.inputs.begin(), node.inputs.end());
  }
  return any;
}

void Folder::FindBudget() {
  constexpr std::int64_t kLeast = std::int64_t{1} << 20;
  budget_ = kLeast;
  const auto add = [&](const format::TensorData& data) {
    if (!format::CheckCarrier(data, index_.model().folder).has_value()) return;
    const auto count = format::ElementCount(data.dims);
    if (!count.has_value()) return;
    const auto bytes = format::PackedBytes(data.data_type, *count);
    if (bytes.has_value()) budget_ += *bytes;
  };
  for (const format::TensorData& data : index_.model().graph.initializers) add(data);
  for (const Node& node : index_.model().graph.nodes) {
    const format::Attribute* value = IsStock(node, "Constant") ? node.Find("value") : nullptr;
    if (value != nullptr && value->t) add(*value->t);
  }
}

// `shape`: the elements are not asked for.
Result<std::optional<Tensor>> Folder::ValueOf(const std::string& name, bool shape) const {
  if (const auto found = computed_.find(name); found != computed_.end())
    return std::optional(found->second);
  const format::TensorData* data = index_.IsInput(name) ? nullptr : index_.Initializer(name);
  if (shape && data != nullptr) return std::optional(Tensor{data->data_type, data->dims, {}, {}});
  return index_.Constant(name);
}

// Computes the node if its inputs are constants.
Result<void> Folder::Visit(std::size_t i) {
  const Node& node = index_.node(i);
  if (IsKept(node) || !wanted_.contains(node.outputs[0])) return {};
  std::vector<Tensor> values(node.inputs.size());
  std::vector<const Tensor*> inputs(node.inputs.size(), nullptr);
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    if (node.inputs[k].empty()) continue;
    QTX_ASSIGN_OR_RETURN(auto value, ValueOf(node.inputs[k], IsStock(node, "Shape")));
    if (!value) return {};
    values[k] = *std::move(value);
    inputs[k] = &values[k];
  }
  auto result = Evaluate(node, inputs, budget_);
  if (!result) return {};
  budget_ = std::max<std::int64_t>(budget_ - std::ssize(result->bytes), 0);
  computed_.emplace(node.outputs[0], *std::move(result));
  folded_.insert(i);
  return {};
}

// Of the computed values only `roots_` become initializers; finds what nothing reads any longer.
void Folder::FindUnread() {
  std::map<std::string, std::size_t> reads;
  const auto is_read = [&](const std::string& value) {
    const auto found = reads.find(value);
    const std::size_t gone = found == reads.end() ? 0 : found->second;
    return index_.IsOutput(value) || gone < index_.Uses(value).size();
  };
  for (std::size_t i = index_.model().graph.nodes.size(); i-- > 0;) {
    const Node& node = index_.node(i);
    const bool folded = folded_.contains(i);
    const bool constant = IsStock(node, "Constant") && node.outputs.size() == 1 &&
                          reads.contains(node.outputs[0]) && !is_read(node.outputs[0]);
    if (!folded && !constant) continue;
    const std::string& value = node.outputs[0];
    if (folded && !roots_.contains(value) && is_read(value)) continue;  // an ordinary node reads it
    unread_.insert(i);
    for (const std::string& input : node.inputs) ++reads[input];
    if (!roots_.contains(value)) dropped_.insert(value);
  }
  if (HasAnnotations(index_.model().graph)) return;  // they name initializers, too
  const std::set<std::string> named = NamedParameters(index_.model().graph);
  for (const auto& [value, count] : reads) {
    if (index_.Initializer(value) != nullptr && !index_.IsInput(value) && !is_read(value) &&
        !named.contains(value))
      dropped_.insert(value);
  }
}

format::Model Folder::Apply() {
  format::Model model = index_.model();
  format::Graph& graph = model.graph;
  graph.nodes.clear();
  for (std::size_t i = 0; i < index_.model().graph.nodes.size(); ++i) {
    const Node& node = index_.node(i);
    if (!unread_.contains(i)) {
      graph.nodes.push_back(node);
      continue;
    }
    const std::string& value = node.outputs[0];
    if (dropped_.contains(value)) {
      ledger_.Dropped(value, "value", "only folded nodes read it");
      continue;
    }
    ledger_.Changed(value, "producer", "the " + node.op_type + " of constants is an initializer");
    graph.initializers.push_back(format::ToTensorData(value, computed_.at(value)));
  }
  for (const format::TensorData& data : index_.model().graph.initializers) {
    if (dropped_.contains(data.name))
      ledger_.Dropped(data.name, "initializer", "only folded nodes read it");
  }
  const auto dropped = [&](const auto& entry) { return dropped_.contains(entry.name); };
  std::erase_if(graph.initializers, dropped);
  std::erase_if(graph.values, dropped);
  return model;
}

Result<format::Model> Folder::Run() {
  if (!FindWanted()) return index_.model();
  FindBudget();
  for (std::size_t i = 0; i < index_.model().graph.nodes.size(); ++i) QTX_RETURN_IF_ERROR(Visit(i));
  FindUnread();
  return Apply();
}

}  // namespace

Result<format::Model> FoldConstants(const format::Model& model, Ledger& ledger) {
  QTX_ASSIGN_OR_RETURN(const GraphIndex index, GraphIndex::Of(model));
  return Folder(index, ledger).Run();
}

}  // namespace qtx::convert
