// An integer value v of one quantized type becomes
//
//   node -> v/real -> QuantizeLinear -> v/stored -> DequantizeLinear -> v      (of an output: v in
//   the place of v/stored)                  graph input v -> DequantizeLinear -> v/dequantized
//   initializer v/stored               ------------> DequantizeLinear -> v
//
// Readers of the integers read v/integers, a QuantizeLinear of v; readers with other parameters
// read a quantized copy. Quantizing scale * (stored - offset) gives the stored value back, so
// neither changes values.
#include "qoperator/qdq_pairs.h"

#include <algorithm>
#include <map>
#include <set>

#include "qoperator/annotations.h"
#include "qoperator/operators.h"
#include "qoperator/type_inference.h"
#include "qtx/format/annotation.h"
#include "qtx/format/rename.h"
#include "qtx/format/scopes.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::Node;

class PairWriter {
 public:
  PairWriter(const GraphIndex& index, Ledger& ledger)
      : index_(index), source_(index.model()), ledger_(ledger), names_(index.model().graph) {}

  Result<Pairs> Run();

 private:
  Result<void> FindLifts();
  Result<void> WriteInputs();
  Result<void> WriteNode(std::size_t i);
  Result<void> WriteLift(const Lift& lift);
  Result<void> WriteStock(const Node& node);
  Result<std::string> Read(const std::string& value, const QdqParameters& parameters);
  Result<std::string> ReadConstant(const std::string& value, const QdqParameters& parameters);
  Result<std::string> Recast(const std::string& value, const QdqParameters& parameters);
  Result<std::string> Integers(const std::string& value);
  std::string AddWeight(const NewWeight& weight);
  Result<void> AddNode(const char* op_type, const std::string& input, const std::string& output,
                       const QdqParameters& parameters, const std::string& typed);
  void Index();
  void AddInitializer(format::TensorData data);
  bool Replace(const std::string& name, format::TensorData data);
  const std::string* CopyOf(const std::string& value, const QdqParameters& parameters) const;
  void Annotate(const std::string& value, const QdqParameters& parameters);
  void Declare(const std::string& name, const format::TensorType& type);
  void DeclareReal(const Node& node, format::ElementType type);
  void DropUnread(std::set<std::string> candidates);
  std::set<std::string> DropAnnotations(const Annotations& annotations);

  const GraphIndex& index_;
  const format::Model& source_;
  Ledger& ledger_;
  graph::Names names_;
  std::map<std::size_t, Lift> lifts_;
  std::set<std::size_t> absorbed_;
  ParametersOfValues types_;
  std::map<std::string, std::string> stored_, real_;  // of typed values
  std::map<std::string, std::string> integers_;       // of typed values, for who reads integers
  std::map<std::string, std::vector<std::pair<QdqParameters, std::string>>> copies_;  // of values
  std::set<std::string> reals_;
  format::Model model_;
  // By name: where the source declares a value, and where the model has an initializer.
  std::map<std::string, std::vector<std::pair<std::vector<format::ValueInfo>*, std::size_t>>>
      declared_;
  std::map<std::string, std::size_t> initializers_;
  std::set<std::string> replaced_;  // Constants that became initializers
};

Result<void> PairWriter::FindLifts() {
  for (std::size_t i = 0; i < source_.graph.nodes.size(); ++i) {
    const Node& node = index_.node(i);
    if (!IsQOperator(node)) continue;
    std::string why;
    auto lift = LiftNode({index_, names_, why}, i);
    if (!lift.has_value()) return At(PlaceOf(node), lift.error());
    if (lift->has_value()) {
      absorbed_.insert((*lift)->absorbed.begin(), (*lift)->absorbed.end());
      lifts_.emplace(i, **std::move(lift));
      ledger_.Changed(node.outputs[0], "op_type",
                      node.op_type + " is " + lifts_.at(i).node.op_type);
    } else {
      ledger_.Changed(node.outputs.empty() ? node.name : node.outputs[0], "op_type",
                      node.op_type + " stays as it is: " + why);
    }
  }
  return {};
}

// A QuantizeLinear or DequantizeLinear with the parameters as initializers named for `typed`.
Result<void> PairWriter::AddNode(const char* op_type, const std::string& input,
                                 const std::string& output, const QdqParameters& parameters,
                                 const std::string& typed) {
  format::TensorType type{parameters.elem_type, std::nullopt, parameters.quantization, {}, ""};
  if (const format::TensorType* known = index_.TypeOf(typed)) type.shape = known->shape;
  if (const auto at = initializers_.find(input); at != initializers_.end())
    type.shape = format::ToShape(model_.graph.initializers[at->second].dims);
  auto stock = ToStock(type);
  if (!stock.has_value()) return At("value '" + typed + "'", stock.error());
  Node node;
  node.name = output + "/" + op_type;
  node.op_type = op_type;
  node.inputs = {input, names_.Unique(typed + "/scale")};
  node.outputs = {output};
  AddInitializer(format::ToTensorData(node.inputs[1], stock->scale));
  if (stock->zero_point) {
    node.inputs.push_back(names_.Unique(typed + "/zero_point"));
    AddInitializer(format::ToTensorData(node.inputs[2], *stock->zero_point));
  }
  if (stock->axis) node.attributes.push_back(Attribute::Int("axis", *stock->axis));
  if (stock->block_size)
    node.attributes.push_back(Attribute::Int("block_size", *stock->block_size));
  model_.graph.nodes.push_back(std::move(node));
  return {};
}

void PairWriter::Index() {
  format::Graph& graph = model_.graph;
  for (auto* list : {&graph.inputs, &graph.outputs, &graph.values}) {
    for (std::size_t i = 0; i < list->size(); ++i) declared_[(*list)[i].name].emplace_back(list, i);
  }
  for (std::size_t i = 0; i < graph.initializers.size(); ++i)
    initializers_.emplace(graph.initializers[i].name, i);
}

void PairWriter::AddInitializer(format::TensorData data) {
  initializers_.emplace(data.name, model_.graph.initializers.size());
  model_.graph.initializers.push_back(std::move(data));
}

// False: there is no initializer `name`.
bool PairWriter::Replace(const std::string& name, format::TensorData data) {
  const auto found = initializers_.find(name);
  if (found == initializers_.end()) return false;
  const std::size_t at = found->second;
  initializers_.erase(found);
  initializers_.emplace(data.name, at);
  model_.graph.initializers[at] = std::move(data);
  return true;
}

// The reals of `value` read with `parameters`, if they are there already.
const std::string* PairWriter::CopyOf(const std::string& value,
                                      const QdqParameters& parameters) const {
  const auto copies = copies_.find(value);
  if (copies == copies_.end()) return nullptr;
  const auto copy =
      std::ranges::find(copies->second, parameters, [](const auto& entry) { return entry.first; });
  return copy == copies->second.end() ? nullptr : &copy->second;
}

void PairWriter::Annotate(const std::string& value, const QdqParameters& parameters) {
  const auto declared = declared_.find(value);
  if (declared == declared_.end()) return;
  for (const auto& [list, at] : declared->second) {
    format::ValueInfo& info = (*list)[at];
    if (!info.type) continue;
    info.type->elem_type = parameters.elem_type;
    info.type->quantization = parameters.quantization;
    info.type = format::Annotated(*std::move(info.type));
  }
}

// The integers of a graph input are read through one DequantizeLinear.
Result<void> PairWriter::WriteInputs() {
  for (const auto& [value, parameters] : types_) {
    const bool input = index_.IsInput(value), output = index_.IsOutput(value);
    stored_[value] = input || output ? value : names_.Unique(value + "/stored");
    real_[value] = input || output ? names_.Unique(value + "/dequantized") : value;
  }
  for (const format::ValueInfo& info : source_.graph.inputs) {
    const auto type = types_.find(info.name);
    if (type == types_.end()) continue;
    QTX_RETURN_IF_ERROR(
        AddNode("DequantizeLinear", info.name, real_.at(info.name), type->second, info.name));
  }
  return {};
}

// The name of the reals of `value`, read with `parameters`.
Result<std::string> PairWriter::Read(const std::string& value, const QdqParameters& parameters) {
  const auto type = types_.find(value);
  if (type != types_.end() && type->second == parameters) return real_.at(value);
  if (const std::string* copy = CopyOf(value, parameters)) return *copy;
  QTX_ASSIGN_OR_RETURN(const auto constant, index_.Constant(value));
  std::string name;
  if (constant) {
    QTX_ASSIGN_OR_RETURN(name, ReadConstant(value, parameters));
  } else {
    QTX_ASSIGN_OR_RETURN(name, Recast(value, parameters));
  }
  copies_[value].emplace_back(parameters, name);
  return name;
}

// A constant becomes one initializer per set of parameters; the first keeps the name if nothing
// reads the integers.
Result<std::string> PairWriter::ReadConstant(const std::string& value,
                                             const QdqParameters& parameters) {
  const bool others = std::ranges::any_of(
      index_.Uses(value), [&](const Use& use) { return !lifts_.contains(use.node); });
  const bool keep = others || copies_.contains(value) || index_.IsOutput(value);
  const std::string name = keep ? names_.Unique(value + "/quantized") : value;
  const std::string stored = names_.Unique(name + "/stored");
  if (const format::TensorData* data = index_.Initializer(value)) {
    QTX_ASSIGN_OR_RETURN(format::TensorData renamed, Renamed(*data, stored));
    if (keep || !Replace(value, renamed)) AddInitializer(std::move(renamed));
  } else {
    QTX_ASSIGN_OR_RETURN(const auto constant, index_.Constant(value));
    AddInitializer(format::ToTensorData(stored, *constant));
    if (!keep) replaced_.insert(value);
  }
  if (!keep) Annotate(value, parameters);
  QTX_RETURN_IF_ERROR(AddNode("DequantizeLinear", stored, name, parameters, name));
  return name;
}

// Quantized value from integers without, or with another, type: DequantizeLinear, then Cast.
Result<std::string> PairWriter::Recast(const std::string& value, const QdqParameters& parameters) {
  if (parameters.elem_type == format::ElementType::kInt32Q)
    return Error{ErrorCode::kUnsupported, "value '" + value + "'", "INT32 read in two ways"};
  QTX_ASSIGN_OR_RETURN(const std::string integers, Integers(value));
  const std::string real = names_.Unique(value + "/dequantized");
  const std::string stored = names_.Unique(value + "/quantized/stored");
  std::string name = names_.Unique(value + "/quantized");
  QTX_RETURN_IF_ERROR(AddNode("DequantizeLinear", integers, real, parameters, name));
  QTX_RETURN_IF_ERROR(AddNode("QuantizeLinear", real, stored, parameters, name));
  QTX_RETURN_IF_ERROR(AddNode("DequantizeLinear", stored, name, parameters, name));
  return name;
}

// The name of the plain integers of `value`.
Result<std::string> PairWriter::Integers(const std::string& value) {
  const auto type = types_.find(value);
  if (type == types_.end()) return value;
  if (const auto found = integers_.find(value); found != integers_.end()) return found->second;
  std::string name = names_.Unique(value + "/integers");
  QTX_RETURN_IF_ERROR(AddNode("QuantizeLinear", real_.at(value), name, type->second, value));
  integers_.emplace(value, name);
  return name;
}

// A new weight takes name and place of a constant that only this node reads. Its type is declared,
// as QuantizeLinear and DequantizeLinear need not have it.
std::string PairWriter::AddWeight(const NewWeight& weight) {
  const bool sole = index_.OnlyUse(weight.name).has_value();
  std::string name = sole ? weight.name : names_.Unique(weight.name + "/quantized");
  if (!Replace(name, format::ToTensorData(name, weight.stored)))
    AddInitializer(format::ToTensorData(name, weight.stored));
  if (sole) replaced_.insert(name);
  format::TensorType type{weight.parameters.elem_type,
                          format::ToShape(weight.stored.dims),
                          weight.parameters.quantization,
                          {},
                          ""};
  Declare(name, type);
  return name;
}

// Gives the value its type, wherever it is declared.
void PairWriter::Declare(const std::string& name, const format::TensorType& type) {
  auto& places = declared_[name];
  if (places.empty()) {
    places.emplace_back(&model_.graph.values, model_.graph.values.size());
    model_.graph.values.emplace_back().name = name;
  }
  for (const auto& [list, at] : places) (*list)[at].type = type;
}

// Declares the result of a product or a gather of integers.
void PairWriter::DeclareReal(const Node& node, format::ElementType type) {
  const std::string& value = node.outputs[0];
  reals_.insert(value);
  if (index_.TypeOf(value) != nullptr) return;
  format::TensorType real;
  real.elem_type = type;
  Declare(value, real);
}

Result<void> PairWriter::WriteLift(const Lift& lift) {
  Node node = lift.node;
  for (const auto& [input, parameters] : lift.inputs) {
    QTX_ASSIGN_OR_RETURN(node.inputs[input], Read(node.inputs[input], parameters));
  }
  if (lift.weight) node.inputs[lift.weight->input] = AddWeight(*lift.weight);
  for (const format::TensorData& data : lift.constants) AddInitializer(data);
  model_.graph.nodes.insert(model_.graph.nodes.end(), lift.before.begin(), lift.before.end());
  for (const auto& [output, parameters] : lift.outputs)
    node.outputs[output] = names_.Unique(node.outputs[output] + "/real");
  const std::vector<std::string> reals = node.outputs;
  model_.graph.nodes.push_back(std::move(node));
  for (const auto& [output, parameters] : lift.outputs) {
    const std::string& value = lift.node.outputs[output];
    QTX_RETURN_IF_ERROR(
        AddNode("QuantizeLinear", reals[output], stored_.at(value), parameters, value));
    if (index_.IsOutput(value) && index_.Uses(value).empty()) continue;
    QTX_RETURN_IF_ERROR(
        AddNode("DequantizeLinear", stored_.at(value), real_.at(value), parameters, value));
  }
  model_.graph.nodes.insert(model_.graph.nodes.end(), lift.after.begin(), lift.after.end());
  if (!lift.outputs.empty()) return {};
  const format::ElementType real = lift.weight
                                       ? format::RealTypeOf(lift.weight->parameters.quantization)
                                       : format::ElementType::kFloat;
  DeclareReal(lift.node, real);
  for (const Node& added : lift.after) {
    const bool casts = added.op_type == "Cast";
    DeclareReal(added, casts ? static_cast<format::ElementType>(added.IntOr("to", 0)) : real);
  }
  return {};
}

// Keeps a node that is not lifted. It reads integers; a DequantizeLinear with the type's parameters
// reads the stored ones.
Result<void> PairWriter::WriteStock(const Node& source) {
  Node node = source;
  if (IsQOperator(node) && DomainOf(node.op_type) == kMicrosoft) node.domain = kMicrosoft;
  std::string dequantized;
  if (IsDequantizeLinear(node) && types_.contains(node.inputs[0])) {
    QTX_ASSIGN_OR_RETURN(const auto parameters, FromStock(index_, node));
    if (parameters && *parameters == types_.at(node.inputs[0])) dequantized = node.inputs[0];
  }
  for (std::string& input : node.inputs) {
    if (!types_.contains(input)) continue;
    if (input == dequantized) {
      input = stored_.at(input);
      continue;
    }
    QTX_ASSIGN_OR_RETURN(input, Integers(input));
  }
  const auto type = node.outputs.size() == 1 ? types_.find(node.outputs[0]) : types_.end();
  if (type == types_.end()) {
    model_.graph.nodes.push_back(std::move(node));
    return {};
  }
  const std::string value = type->first;  // of a QuantizeLinear
  node.outputs[0] = stored_.at(value);
  model_.graph.nodes.push_back(std::move(node));
  return AddNode("DequantizeLinear", stored_.at(value), real_.at(value), type->second, value);
}

Result<void> PairWriter::WriteNode(std::size_t i) {
  if (absorbed_.contains(i)) return {};
  const auto lift = lifts_.find(i);
  auto written = lift == lifts_.end() ? WriteStock(index_.node(i)) : WriteLift(lift->second);
  if (!written.has_value()) return At(PlaceOf(index_.node(i)), written.error());
  return {};
}

// Removes initializers read only by lifted nodes: scales, zero points, packed weights.
void PairWriter::DropUnread(std::set<std::string> candidates) {
  for (const auto& [i, lift] : lifts_) {
    candidates.insert(index_.node(i).inputs.begin(), index_.node(i).inputs.end());
    for (const std::size_t other : lift.absorbed)
      candidates.insert(index_.node(other).inputs.begin(), index_.node(other).inputs.end());
  }
  for (const Node& node : model_.graph.nodes) {
    for (const std::string& input : node.inputs) candidates.erase(input);
  }
  const auto unread = [&](const std::string& name) {
    return candidates.contains(name) && !index_.IsInput(name) && !index_.IsOutput(name) &&
           !types_.contains(name);
  };
  std::erase_if(model_.graph.initializers, [&](const auto& data) { return unread(data.name); });
  std::erase_if(model_.graph.values, [&](const auto& info) { return unread(info.name); });
  std::erase_if(model_.graph.nodes, [&](const Node& node) {
    return IsStock(node, "Constant") && node.outputs.size() == 1 &&
           (replaced_.contains(node.outputs[0]) || unread(node.outputs[0]));
  });
}

// Drops annotations that types now express, and returns the names of their parameters.
std::set<std::string> PairWriter::DropAnnotations(const Annotations& annotations) {
  std::set<std::string> said;
  for (const auto& [value, parameters] : annotations.reals) said.insert(value);
  for (const auto& annotated : annotations.integers) {
    const auto type = types_.find(annotated.first);
    if (CopyOf(annotated.first, annotated.second) != nullptr ||
        (type != types_.end() && type->second == annotated.second))
      said.insert(annotated.first);
  }
  std::set<std::string> parameters;
  for (const auto& [value, names] : annotations.names) {
    if (said.contains(value)) {
      ledger_.Changed(value, "quantization_annotation", "is said by its type");
      parameters.insert(names.begin(), names.end());
    }
  }
  for (const auto& [value, names] : annotations.names) {
    for (const std::string& name : names) {
      if (!said.contains(value)) parameters.erase(name);
    }
  }
  EraseAnnotations(said, model_.graph);
  return parameters;
}

Result<Pairs> PairWriter::Run() {
  QTX_RETURN_IF_ERROR(FindLifts());
  model_ = source_;
  Index();
  QTX_ASSIGN_OR_RETURN(const Annotations annotations, ReadAnnotations(index_));
  QTX_ASSIGN_OR_RETURN(types_, InferTypes(index_, annotations.integers, lifts_));
  for (const auto& [value, parameters] : types_) {
    // What a node moves out of a body are the integers.
    if (!index_.IsOutput(value) || !format::IsOfBody(value)) Annotate(value, parameters);
  }
  for (const auto& [value, parameters] : annotations.reals) Annotate(value, parameters);
  model_.graph.nodes.clear();
  QTX_RETURN_IF_ERROR(WriteInputs());
  for (std::size_t i = 0; i < source_.graph.nodes.size(); ++i) QTX_RETURN_IF_ERROR(WriteNode(i));
  DropUnread(DropAnnotations(annotations));
  return Pairs{std::move(model_), std::move(reals_)};
}

}  // namespace

Result<Pairs> QOperatorsToPairs(const format::Model& model, Ledger& ledger) {
  if (std::ranges::none_of(model.graph.nodes, IsQOperator) && !HasAnnotations(model.graph) &&
      !MovesQuantized(model.graph))
    return Pairs{model, {}};
  QTX_ASSIGN_OR_RETURN(const GraphIndex index, GraphIndex::Of(model));
  return PairWriter(index, ledger).Run();
}

}  // namespace qtx::convert
