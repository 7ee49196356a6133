#include "qonnx/rewrite.h"

#include <algorithm>
#include <map>
#include <set>

#include "onnx/graph_index.h"
#include "qdq/parameters.h"
#include "qonnx/channels_last.h"
#include "qonnx/constant.h"
#include "qonnx/declare.h"
#include "qonnx/dialect.h"
#include "qonnx/parameters.h"
#include "qtx/format/annotation.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::ElementType;
using format::Model;
using format::Node;
using format::TensorType;

// The annotation says the same parameters, and a range within the quantizer's.
bool AgreesWith(const TensorType& annotation, const QonnxQuantizer& quantizer) {
  if (!Agree(annotation, {quantizer.elem_type, quantizer.quantization})) return false;
  if (format::IsSmallFloat(quantizer.elem_type)) return true;
  const auto own = format::StoredRange(quantizer.elem_type, *annotation.quantization);
  const auto said = format::StoredRange(quantizer.elem_type, quantizer.quantization);
  return said.min <= own.min && own.max <= said.max;
}

class Rewriter {
 public:
  Rewriter(const GraphIndex& index, Ledger& ledger)
      : index_(index), ledger_(ledger), model_(index.model()) {}

  Result<Model> Run();

 private:
  Result<void> Visit(const Node& node);
  Result<void> VisitQuantizer(const Node& node);
  Result<void> Fold(const Node& node, const format::Tensor& real, const QonnxQuantizer& quantizer);
  void AddPair(const Node& node, const QonnxQuantizer& quantizer);
  void AddTyped(const Node& node, const QonnxQuantizer& quantizer);
  std::string AddZeroPoint(const std::string& value, const QonnxQuantizer& quantizer);
  std::string AddScale(const std::string& value, const format::Quantization& q);
  TensorType TypeFor(const Node& node, const QonnxQuantizer& quantizer);
  void Annotate(const Node& node, const std::string& stored, const QonnxQuantizer& quantizer);
  void Declare(const std::string& name, TensorType type);
  const TensorType* Annotation(const std::string& value) const;
  Node Derived(const Node& node, const char* op_type) const;
  void NoteRounding(const Node& node, const QonnxQuantizer& quantizer);
  void Apply();
  void DropParameters();
  Result<void> Finish(bool sealed);
  std::string Unique(std::string name);

  const GraphIndex& index_;
  Ledger& ledger_;
  Model model_;
  std::vector<Node> nodes_;
  std::map<std::string, std::size_t> made_;  // ONNX's own nodes in `nodes_`, by what they produce
  std::set<std::string> names_;
  std::set<std::string> parameters_;         // inputs of quantizers, all but the first
  std::map<std::string, TensorType> types_;  // declared here
  std::vector<std::string> order_;           // of `types_`
  std::map<std::string, std::string> renamed_;
  std::set<std::string> taken_;                       // values that are no more
  std::map<std::string, format::TensorData> folded_;  // in the place of the initializer named
};

std::string Rewriter::Unique(std::string name) {
  const std::string stem = name;
  for (int n = 2; !names_.insert(name).second; ++n) name = stem + "#" + std::to_string(n);
  return name;
}

const TensorType* Rewriter::Annotation(const std::string& value) const {
  const TensorType* type = index_.TypeOf(value);
  return type != nullptr && format::IsAnnotated(*type) ? type : nullptr;
}

void Rewriter::Declare(const std::string& name, TensorType type) {
  if (types_.emplace(name, std::move(type)).second) order_.push_back(name);
}

// The annotation where the node agrees with it, which knows more: scheme, statistics, storage.
TensorType Rewriter::TypeFor(const Node& node, const QonnxQuantizer& quantizer) {
  const std::string& value = node.outputs[0];
  const TensorType* known = index_.TypeOf(value);
  if (const TensorType* annotation = Annotation(value);
      annotation != nullptr && AgreesWith(*annotation, quantizer)) {
    ledger_.Kept(value, "annotation");
    return format::Unannotated(*annotation);
  }
  TensorType type;
  if (known != nullptr) type = *known;
  if (!type.shape && index_.TypeOf(node.inputs[0]) != nullptr)
    type.shape = index_.TypeOf(node.inputs[0])->shape;
  // Axes need a rank, and sizes along them.
  if (!type.shape && !quantizer.grid.empty()) type.shape.emplace(quantizer.grid.size());
  for (const std::int64_t axis : quantizer.quantization.axis) {
    const auto at = static_cast<std::size_t>(axis);
    if (type.shape->size() == quantizer.grid.size()) (*type.shape)[at].value = quantizer.grid[at];
  }
  type.elem_type = quantizer.elem_type;
  type.quantization = quantizer.quantization;
  ledger_.Changed(value, "elem_type",
                  std::string(format::Name(type.elem_type)) + " from " + node.op_type + " '" +
                      node.name + "' of " + std::to_string(quantizer.bits) + " bits");
  for (const char* field : {"scale", "offset"}) ledger_.Kept(value, field);
  return type;
}

Node Rewriter::Derived(const Node& node, const char* op_type) const {
  Node derived;
  derived.name = node.name;
  derived.op_type = op_type;
  derived.outputs = node.outputs;
  derived.inputs = {node.inputs[0]};
  derived.metadata = node.metadata;
  derived.origin = {.framework = std::string(kQonnxFramework),
                    .domain = node.domain,
                    .op_type = node.op_type,
                    .name = node.name,
                    .attributes = node.attributes};
  return derived;
}

// QONNX rounds the quotient with the zero point added; the two differ on a tie only.
void Rewriter::NoteRounding(const Node& node, const QonnxQuantizer& quantizer) {
  const auto& offset = quantizer.quantization.offset;
  if (std::ranges::any_of(offset, [](std::int32_t value) { return value % 2 != 0; }))
    ledger_.Changed(node.outputs[0], "rounding",
                    "QONNX rounds after it has added the odd zero point: other results on ties");
  if (quantizer.bits > 24)
    ledger_.Changed(node.outputs[0], "range", "QONNX rounds the range to binary32");
}

// A constant behind a quantizer is its stored integers, under the quantizer's name.
Result<void> Rewriter::Fold(const Node& node, const format::Tensor& real,
                            const QonnxQuantizer& quantizer) {
  const std::string& value = node.outputs[0];
  QTX_ASSIGN_OR_RETURN(QuantizedConstant constant, QuantizeConstant(real, quantizer));
  TensorType type = TypeFor(node, quantizer);
  type.shape = format::ToShape(real.dims);
  Declare(value, std::move(type));
  format::TensorData data = format::ToTensorData(value, constant.tensor);
  const std::string& from = node.inputs[0];
  const bool alone = index_.Consumers(from).size() == 1 && !index_.IsOutput(from);
  if (alone && index_.Initializer(from) != nullptr) {
    folded_.emplace(from, std::move(data));
  } else {
    model_.graph.initializers.push_back(std::move(data));
    parameters_.insert(from);
  }
  if (constant.rounded == 0) {
    ledger_.Changed(value, "values",
                    "stored integers, as " + node.op_type + " rounds '" + from +
                        "'; the same reals as QONNX's binary32");
  } else {
    ledger_.Changed(value, "values",
                    "stored integers, as " + node.op_type + " rounds '" + from + "'; " +
                        std::to_string(constant.rounded) +
                        " reals are exact products that QONNX rounds to binary32");
  }
  return {};
}

std::string Rewriter::AddScale(const std::string& value, const format::Quantization& q) {
  format::Tensor scale{ElementType::kFloat, {}, std::nullopt, {}};
  if (!q.axis.empty()) scale.dims = {static_cast<std::int64_t>(q.scale.size())};
  const auto bytes = std::as_bytes(std::span(q.scale));
  scale.bytes.assign(bytes.begin(), bytes.end());
  std::string name = Unique(value + "/scale");
  model_.graph.initializers.push_back(format::ToTensorData(name, scale));
  return name;
}

std::string Rewriter::AddZeroPoint(const std::string& value, const QonnxQuantizer& quantizer) {
  const format::Quantization& q = quantizer.quantization;
  format::Dims dims;
  if (!q.axis.empty()) dims = {static_cast<std::int64_t>(q.scale.size())};
  const ElementType storage = format::StorageOf(quantizer.elem_type);
  // As many as the scales, which fit memory; the code of 0 is 0 in every storage type.
  auto tensor = format::MakeTensor(storage, dims);
  if (!q.offset.empty()) format::PackInt32(q.offset, *tensor);
  std::string name = Unique(value + "/zero_point");
  model_.graph.initializers.push_back(format::ToTensorData(name, *tensor));
  return name;
}

// Storage and range are more than a zero point says: they are annotated where FoldPairs looks.
void Rewriter::Annotate(const Node& node, const std::string& stored,
                        const QonnxQuantizer& quantizer) {
  const std::string& value = node.outputs[0];
  if (const TensorType* annotation = Annotation(value);
      annotation != nullptr && AgreesWith(*annotation, quantizer))
    return;
  const TensorType type = TypeFor(node, quantizer);
  // An output that nothing annotated stays FLOAT; its integers have the type then.
  if (!index_.IsOutput(value)) {
    Declare(value, format::Annotated(type));
  } else if (quantizer.elem_type != ElementType::kBipolar1Q) {
    Declare(stored, format::Annotated(type));
  }
}

// x -> QuantizeLinear -> v/stored -> DequantizeLinear -> v
void Rewriter::AddPair(const Node& node, const QonnxQuantizer& quantizer) {
  const std::string& value = node.outputs[0];
  const std::string stored = Unique(value + "/stored");
  Node quantize = Derived(node, "QuantizeLinear");
  quantize.inputs.push_back(AddScale(value, quantizer.quantization));
  quantize.outputs = {stored};
  if (quantizer.elem_type == ElementType::kBipolar1Q) {
    // No tensor has this type, so no zero point names it.
    const auto code = static_cast<std::int64_t>(ElementType::kBipolar1);
    quantize.attributes.push_back(Attribute::Int("output_dtype", code));
    Declare(stored, {.elem_type = ElementType::kBipolar1});
  } else {
    quantize.inputs.push_back(AddZeroPoint(value, quantizer));
  }
  if (!quantizer.quantization.axis.empty())
    quantize.attributes.push_back(Attribute::Int("axis", quantizer.quantization.axis[0]));
  Node dequantize = quantize;
  dequantize.name += "/dequantize";
  dequantize.op_type = "DequantizeLinear";
  dequantize.inputs[0] = stored;
  dequantize.outputs = {value};
  dequantize.origin.reset();
  dequantize.metadata.clear();
  Annotate(node, stored, quantizer);
  nodes_.push_back(std::move(quantize));
  nodes_.push_back(std::move(dequantize));
}

// Parameters along several axes, which no Q/DQ pair says: the node before writes the value where
// nobody else reads its result, as FoldPairs has it; else a Cast does.
void Rewriter::AddTyped(const Node& node, const QonnxQuantizer& quantizer) {
  const std::string& from = node.inputs[0];
  const auto to = Attribute::Int("to", static_cast<std::int64_t>(quantizer.elem_type));
  const bool alone = index_.Consumers(from).size() == 1 && !index_.IsOutput(from);
  const TensorType* input = Annotation(from);
  if (alone && index_.IsInput(from) && input != nullptr && AgreesWith(*input, quantizer)) {
    Declare(from, format::Unannotated(*input));
    renamed_[node.outputs[0]] = from;
    return;
  }
  Declare(node.outputs[0], TypeFor(node, quantizer));
  const auto made = made_.find(from);
  Node* const producer = made == made_.end() ? nullptr : &nodes_[made->second];
  if (!alone || producer == nullptr || IsStock(*producer, "Constant") ||
      IsDequantizeLinear(*producer)) {
    Node cast = Derived(node, "Cast");
    cast.attributes = {to};
    nodes_.push_back(std::move(cast));
    return;
  }
  std::ranges::replace(producer->outputs, from, node.outputs[0]);
  for (Attribute& attribute : producer->attributes) {
    if (IsStock(*producer, "Cast") && attribute.name == "to") attribute = to;
  }
  taken_.insert(from);
}

Result<void> Rewriter::VisitQuantizer(const Node& node) {
  if (node.inputs.empty() || node.outputs.size() != 1)
    return Error{ErrorCode::kInvalid, "inputs and outputs", "expected inputs and one output"};
  // A graph input that was quantized itself has the annotation.
  const TensorType* annotation = Annotation(node.outputs[0]);
  if (annotation == nullptr && index_.IsInput(node.inputs[0]))
    annotation = Annotation(node.inputs[0]);
  const ElementType preferred =
      annotation == nullptr ? ElementType::kUndefined : annotation->quantization->storage_type;
  QTX_ASSIGN_OR_RETURN(const QonnxQuantizer quantizer, ReadQonnxQuantizer(index_, node, preferred));
  parameters_.insert(node.inputs.begin() + 1, node.inputs.end());
  QTX_ASSIGN_OR_RETURN(const std::optional<format::Tensor> real, index_.Constant(node.inputs[0]));
  if (real && !index_.IsOutput(node.outputs[0])) return Fold(node, *real, quantizer);
  if (quantizer.rounding != QonnxRounding::kHalfEven) {
    return Error{ErrorCode::kUnsupported, "rounding_mode",
                 "'" + quantizer.rounding_name +
                     "' on a computed value; a quantized type rounds half to even"};
  }
  NoteRounding(node, quantizer);
  if (quantizer.quantization.axis.size() > 1) {
    AddTyped(node, quantizer);
  } else {
    AddPair(node, quantizer);
  }
  return {};
}

Result<void> Rewriter::Visit(const Node& node) {
  if (!IsQonnxDomain(node.domain)) {
    for (const std::string& output : node.outputs) made_[output] = nodes_.size();
    nodes_.push_back(node);
    return {};
  }
  if (IsQonnxQuantizer(node)) return VisitQuantizer(node);
  const auto unique = [this](std::string name) { return Unique(std::move(name)); };
  if (IsChannelsLast(node)) {
    QTX_ASSIGN_OR_RETURN(const auto nodes, ChannelsFirst(index_, node, unique));
    nodes_.insert(nodes_.end(), nodes.begin(), nodes.end());
    ledger_.Changed(node.outputs[0], "layout", node.op_type + " between two Transposes");
    return {};
  }
  if (node.op_type == "MultiThreshold") {
    return Error{ErrorCode::kUnsupported, "MultiThreshold",
                 "counts the thresholds a value reaches; no quantized type rounds so"};
  }
  return Error{ErrorCode::kUnsupported, node.domain + "." + node.op_type,
               "no operator of the extended form"};
}

// What was declared and folded, each in the place of what it replaces.
void Rewriter::Apply() {
  format::Graph& graph = model_.graph;
  std::erase_if(graph.values, [&](const auto& info) {
    return folded_.contains(info.name) || taken_.contains(info.name);
  });
  for (auto* list : {&graph.inputs, &graph.outputs, &graph.values}) {
    for (format::ValueInfo& info : *list) {
      const auto found = types_.find(info.name);
      if (found == types_.end()) continue;
      info.type = std::move(found->second);
      types_.erase(found);
    }
  }
  for (const std::string& name : order_) {
    const auto found = types_.find(name);
    if (found == types_.end()) continue;
    format::ValueInfo info;
    info.name = name;
    info.type = std::move(found->second);
    graph.values.push_back(std::move(info));
  }
  for (format::TensorData& data : graph.initializers) {
    if (const auto found = folded_.find(data.name); found != folded_.end())
      data = std::move(found->second);
  }
  for (Node& node : nodes_) {
    for (std::string& input : node.inputs) {
      if (const auto found = renamed_.find(input); found != renamed_.end()) input = found->second;
    }
  }
  graph.nodes = std::move(nodes_);
}

// Parameters and constants that only the quantizers read.
void Rewriter::DropParameters() {
  format::Graph& graph = model_.graph;
  for (const Node& node : graph.nodes) {
    for (const std::string& input : node.inputs) parameters_.erase(input);
  }
  for (const format::ValueInfo& info : graph.outputs) parameters_.erase(info.name);
  for (const auto* list : {&graph.inputs, &graph.outputs, &graph.values}) {
    for (const format::ValueInfo& info : *list) {
      if (!info.type || !info.type->quantization) continue;
      parameters_.erase(info.type->quantization->scale_tensor);
      parameters_.erase(info.type->quantization->offset_tensor);
    }
  }
  const auto unused = [&](const auto& entry) { return parameters_.contains(entry.name); };
  std::erase_if(graph.initializers, unused);
  std::erase_if(graph.values, unused);
  std::erase_if(graph.nodes, [&](const Node& node) {
    return IsStock(node, "Constant") && node.outputs.size() == 1 &&
           parameters_.contains(node.outputs[0]);
  });
}

Result<void> Rewriter::Finish(bool sealed) {
  Apply();
  DropParameters();
  if (!sealed) DeclareReals(model_.graph);
  std::erase_if(model_.opset_imports,
                [](const auto& import) { return IsQonnxDomain(import.domain); });
  if (!sealed) return {};
  // The annotations were whole before; those made or folded here belong to them.
  QTX_ASSIGN_OR_RETURN(const format::AnnotationDigest digest, format::DigestOf(model_.graph));
  for (auto& [key, value] : model_.metadata) {
    if (key == format::kDigestKey) value = ToText(digest);
  }
  return {};
}

Result<Model> Rewriter::Run() {
  for (std::string& name : index_.AllNames()) names_.insert(std::move(name));
  for (const Node& node : index_.model().graph.nodes) {
    auto visited = Visit(node);
    if (!visited.has_value())
      return At("node '" + node.name + "' (" + node.op_type + ")", visited.error());
  }
  const bool sealed =
      std::ranges::any_of(model_.metadata,
                          [](const auto& entry) { return entry.first == format::kDigestKey; }) &&
      format::CheckDigest(index_.model()).has_value();
  QTX_RETURN_IF_ERROR(Finish(sealed));
  return std::move(model_);
}

// Files of ONNX's first versions, and many exporters since, list every initializer as an input too.
Model WithoutDefaults(const Model& model, Ledger& ledger) {
  std::set<std::string_view> defaults;
  for (const format::TensorData& data : model.graph.initializers) defaults.insert(data.name);
  Model constants = model;
  std::erase_if(constants.graph.inputs, [&](const format::ValueInfo& info) {
    if (!defaults.contains(info.name)) return false;
    ledger.Changed(info.name, "input", "a constant; its default counts");
    return true;
  });
  return constants;
}

}  // namespace

Result<Model> RewriteQonnx(const Model& model, Ledger& ledger) {
  const bool any = std::ranges::any_of(model.graph.nodes,
                                       [](const Node& node) { return IsQonnxDomain(node.domain); });
  if (!any) return model;
  const Model constants = WithoutDefaults(model, ledger);
  QTX_ASSIGN_OR_RETURN(const GraphIndex index, GraphIndex::Of(constants));
  return Rewriter(index, ledger).Run();
}

}  // namespace qtx::convert
