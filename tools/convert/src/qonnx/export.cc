// ToQonnx.
//
//   node -> v/real -> Quant -> v         (a Clip before where no bit width has the range)
//   graph input v  -> Quant -> v/quantized
//   initializer v/real -> Quant -> v
#include "qonnx/export.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "errors.h"
#include "ledger.h"
#include "onnx/graph_index.h"
#include "onnx/quantized_types.h"
#include "onnx/reals.h"
#include "opset/opset.h"
#include "qdq/record.h"
#include "qonnx/dialect.h"
#include "qonnx/export_types.h"
#include "qtx/format/annotation.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::ElementType;
using format::Node;
using format::Tensor;
using format::TensorType;

Tensor Scalar(double value) {
  const auto number = static_cast<float>(value);
  Tensor tensor{ElementType::kFloat, {}, std::nullopt, std::vector<std::byte>(sizeof number)};
  std::memcpy(tensor.bytes.data(), &number, sizeof number);
  return tensor;
}

// A Cast that a quantizer of QONNX became, since nothing else produced its value.
bool WasQuantizer(const Node& node) {
  return IsStock(node, "Cast") && node.origin && node.origin->framework == kQonnxFramework &&
         node.inputs.size() == 1 && node.outputs.size() == 1 &&
         (node.origin->op_type == "Quant" || node.origin->op_type == "IntQuant" ||
          node.origin->op_type == "BipolarQuant");
}

class Exporter {
 public:
  Exporter(const GraphIndex& index, const Options& options)
      : index_(index), source_(index.model()), ledger_(options), names_(index.model().graph) {}

  Result<Export> Run();

 private:
  Result<void> CollectTypes();
  Result<void> AddInputs();
  Result<void> AddInitializers();
  Result<void> AddNode(const Node& source);
  Result<void> AddOutput(const std::string& value, Node& producer, std::vector<Node>& after);
  Result<bool> Restore(const Node& cast);
  Result<Node> MakeQuantizer(const std::string& value, const QonnxWidth& width, std::string from,
                             std::string to);
  Result<std::string> AddClip(const std::string& value, const std::string& to,
                              std::vector<Node>& nodes);
  std::optional<QonnxWidth> Width(const std::string& value) const;
  void Annotate(std::vector<format::ValueInfo>& list);
  Result<void> Finish();
  std::string AddInitializer(const std::string& name, const Tensor& tensor);

  const GraphIndex& index_;
  const format::Model& source_;
  Ledger ledger_;
  QuantizedTypes types_;
  std::map<std::string, std::string> reads_;  // graph input to the value its consumers read
  graph::Names names_;
  std::vector<format::TensorData> added_;  // parameters and bounds, after the model's own
  format::Model model_;
};

std::string Exporter::AddInitializer(const std::string& name, const Tensor& tensor) {
  std::string unique = names_.Unique(name);
  added_.push_back(format::ToTensorData(unique, tensor));
  return unique;
}

Result<void> Exporter::CollectTypes() {
  QTX_ASSIGN_OR_RETURN(types_, QuantizedTypesOf(source_));
  for (const auto& [name, type] : types_) {
    const auto sayable = CheckSayable(type);
    if (!sayable.has_value()) return At(PlaceOfValue(name), sayable.error());
  }
  return {};
}

// The width that has the value's range; nullopt when none has.
std::optional<QonnxWidth> Exporter::Width(const std::string& value) const {
  const TensorType& type = types_.at(value);
  if (format::StorageOf(type.elem_type) == ElementType::kBipolar1)
    return QonnxWidth{1, true, false};
  return WidthOf(format::StoredRange(type.elem_type, *type.quantization));
}

Result<Node> Exporter::MakeQuantizer(const std::string& value, const QonnxWidth& width,
                                     std::string from, std::string to) {
  const TensorType& type = types_.at(value);
  Node node;
  node.name = value + "/Quant";
  node.op_type = "Quant";
  node.domain = kQonnxDomain;
  node.inputs = {std::move(from), AddInitializer(value + "/scale", QonnxScale(type))};
  node.outputs = {std::move(to)};
  if (format::StorageOf(type.elem_type) == ElementType::kBipolar1) {
    node.name = value + "/BipolarQuant";
    node.op_type = "BipolarQuant";
    return node;
  }
  auto zero_point = QonnxZeroPoint(type);
  if (!zero_point.has_value()) return At(PlaceOfValue(value), zero_point.error());
  node.inputs.push_back(AddInitializer(value + "/zero_point", *zero_point));
  node.inputs.push_back(
      AddInitializer(value + "/bit_width", Scalar(static_cast<double>(width.bits))));
  node.attributes = {Attribute::Int("narrow", width.narrow ? 1 : 0),
                     Attribute::String("rounding_mode", "ROUND"),
                     Attribute::Int("signed", width.is_signed ? 1 : 0)};
  return node;
}

Result<void> Exporter::AddInputs() {
  for (const format::ValueInfo& info : source_.graph.inputs) {
    if (!types_.contains(info.name)) continue;
    if (index_.Initializer(info.name) != nullptr)
      return Unsupported(PlaceOfValue(info.name), "a graph input with a default");
    const auto width = Width(info.name);
    if (!width) return Unsupported(PlaceOfValue(info.name), "a range that no bit width has");
    const std::string quantized = names_.Unique(info.name + "/quantized");
    QTX_ASSIGN_OR_RETURN(Node node, MakeQuantizer(info.name, *width, info.name, quantized));
    model_.graph.nodes.push_back(std::move(node));
    reads_[info.name] = quantized;
  }
  return {};
}

// A constant's integers are in range: the storage's width restores them, the annotation the range.
Result<void> Exporter::AddInitializers() {
  for (const format::TensorData& data : source_.graph.initializers) {
    const auto type = types_.find(data.name);
    if (type == types_.end()) {
      model_.graph.initializers.push_back(data);
      continue;
    }
    QTX_ASSIGN_OR_RETURN(const Tensor stored, format::LoadInitializer(index_.view(), data.name));
    auto real = RealsOf(stored);
    if (!real.has_value()) return At(PlaceOfValue(data.name), real.error());
    const std::string name = names_.Unique(data.name + "/real");
    model_.graph.initializers.push_back(format::ToTensorData(name, *real));
    const QonnxWidth width = Width(data.name).value_or(FullWidth(type->second.elem_type));
    QTX_ASSIGN_OR_RETURN(Node node, MakeQuantizer(data.name, width, name, data.name));
    model_.graph.nodes.push_back(std::move(node));
    ledger_.Changed(data.name, "values", "FLOAT, from which its Quant restores the integers");
  }
  return {};
}

// The value that the producer writes: the input of a Clip to the reals of the range's bounds.
Result<std::string> Exporter::AddClip(const std::string& value, const std::string& to,
                                      std::vector<Node>& nodes) {
  const TensorType& type = types_.at(value);
  const format::Quantization& q = *type.quantization;
  if (q.scale.size() > 1)
    return Unsupported(PlaceOfValue(value), "a range that no bit width has, with several scales");
  if (source_.OpsetVersion("") < 11)
    return Unsupported(PlaceOfValue(value), "a range that no bit width has needs Clip of opset 11");
  const format::IntegerRange range = format::StoredRange(type.elem_type, q);
  Node clip;
  clip.name = value + "/Clip";
  clip.op_type = "Clip";
  QTX_ASSIGN_OR_RETURN(const format::Tensor min, RealBound(q, range.min));
  QTX_ASSIGN_OR_RETURN(const format::Tensor max, RealBound(q, range.max));
  clip.inputs = {names_.Unique(value + "/unclipped"), AddInitializer(value + "/min", min),
                 AddInitializer(value + "/max", max)};
  clip.outputs = {to};
  ledger_.Changed(value, "quant_min", "a Clip before Quant, and an annotation");
  nodes.push_back(clip);
  return clip.inputs[0];
}

Result<void> Exporter::AddOutput(const std::string& value, Node& producer,
                                 std::vector<Node>& after) {
  const std::string real = names_.Unique(value + "/real");
  std::string written = real;
  auto width = Width(value);
  if (!width) {
    width = FullWidth(types_.at(value).elem_type);
    QTX_ASSIGN_OR_RETURN(written, AddClip(value, real, after));
  }
  std::ranges::replace(producer.outputs, value, written);
  QTX_ASSIGN_OR_RETURN(Node node, MakeQuantizer(value, *width, real, value));
  after.push_back(std::move(node));
  return {};
}

// Restores the quantizer from which a Cast came. False: the Cast stays.
Result<bool> Exporter::Restore(const Node& cast) {
  if (!WasQuantizer(cast) || !types_.contains(cast.outputs[0]) || types_.contains(cast.inputs[0]))
    return false;
  const auto width = Width(cast.outputs[0]);
  // Otherwise reading the file would merge the type into the producer.
  const bool alone = index_.OnlyUse(cast.inputs[0]).has_value();
  if (!width || (alone && index_.Producer(cast.inputs[0]))) return false;
  QTX_ASSIGN_OR_RETURN(Node node,
                       MakeQuantizer(cast.outputs[0], *width, cast.inputs[0], cast.outputs[0]));
  node.name = cast.name;
  node.metadata = cast.metadata;
  node.domain = cast.origin->domain;
  if (node.op_type == "BipolarQuant" || cast.origin->op_type != "BipolarQuant")
    node.op_type = cast.origin->op_type;
  if (node.op_type != "BipolarQuant") node.attributes = cast.origin->attributes;
  model_.graph.nodes.push_back(std::move(node));
  return true;
}

Result<void> Exporter::AddNode(const Node& source) {
  QTX_ASSIGN_OR_RETURN(const bool restored, Restore(source));
  if (restored) return {};
  Node node = source;
  for (std::string& input : node.inputs) {
    if (const auto found = reads_.find(input); found != reads_.end()) input = found->second;
  }
  std::vector<Node> after;
  for (const std::string& output : source.outputs) {
    if (!types_.contains(output)) continue;
    QTX_RETURN_IF_ERROR(CheckComputesReals(source));
    QTX_RETURN_IF_ERROR(AddOutput(output, node, after));
    for (Attribute& attribute : node.attributes) {
      if (IsStock(node, "Cast") && attribute.name == "to")
        attribute.i = static_cast<std::int64_t>(ElementType::kFloat);
    }
  }
  model_.graph.nodes.push_back(std::move(node));
  std::ranges::move(after, std::back_inserter(model_.graph.nodes));
  return {};
}

void Exporter::Annotate(std::vector<format::ValueInfo>& list) {
  for (format::ValueInfo& info : list) {
    if (!types_.contains(info.name)) continue;
    ledger_.Changed(info.name, "elem_type",
                    std::string(format::Name(info.type->elem_type)) + " is FLOAT behind a Quant");
    for (const char* field : {"scale", "offset"}) ledger_.Kept(info.name, field);
    if (info.type->statistics) ledger_.Kept(info.name, "statistics");
    info.type = format::Annotated(*std::move(info.type));
  }
}

Result<void> Exporter::Finish() {
  for (auto* list : {&model_.graph.inputs, &model_.graph.outputs, &model_.graph.values})
    Annotate(*list);
  // The tools of QONNX take no value that is declared twice.
  std::erase_if(model_.graph.values, [&](const format::ValueInfo& info) {
    return index_.IsInput(info.name) || index_.IsOutput(info.name);
  });
  std::ranges::move(added_, std::back_inserter(model_.graph.initializers));
  std::erase_if(model_.opset_imports, [](const auto& import) {
    return import.domain == format::kDomain || import.domain == kQonnxDomain;
  });
  model_.opset_imports.push_back({std::string(kQonnxDomain), 1, ""});
  // Quant nodes of the extended form cannot be distinguished from added ones: lifting folds all.
  std::vector<format::OpsetImport> extended = source_.opset_imports;
  std::erase_if(extended, [](const auto& import) { return IsQonnxDomain(import.domain); });
  QTX_RETURN_IF_ERROR(RecordAll(extended, model_));
  ledger_.Changed("model", "opset_import",
                  std::string(kQonnxDomain) + " instead of qtx; recorded in metadata_props");
  return {};
}

Result<Export> Exporter::Run() {
  QTX_RETURN_IF_ERROR(CheckOperands(source_.graph));
  QTX_RETURN_IF_ERROR(CollectTypes());
  model_ = source_;
  model_.graph.nodes.clear();
  model_.graph.initializers.clear();
  QTX_RETURN_IF_ERROR(AddInputs());
  QTX_RETURN_IF_ERROR(AddInitializers());
  for (const Node& node : source_.graph.nodes) QTX_RETURN_IF_ERROR(AddNode(node));
  QTX_RETURN_IF_ERROR(Finish());
  return Export{std::move(model_), ledger_.Take()};
}

}  // namespace

Result<Export> ToQonnx(const format::Model& model, const Options& options) {
  Ledger ledger(options);
  const std::int64_t opset = options.opset != 0 ? options.opset : model.OpsetVersion("");
  QTX_ASSIGN_OR_RETURN(const format::Model moved, ToOpset(model, opset, ledger));
  QTX_ASSIGN_OR_RETURN(const GraphIndex index, GraphIndex::Of(moved));
  QTX_ASSIGN_OR_RETURN(Export written, Exporter(index, options).Run());
  std::vector<LedgerEntry> entries = ledger.Take();
  std::ranges::move(written.ledger, std::back_inserter(entries));
  written.ledger = std::move(entries);
  return written;
}

}  // namespace qtx::convert
