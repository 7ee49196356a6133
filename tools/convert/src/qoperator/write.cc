#include "qoperator/write.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "contrib/expand.h"
#include "errors.h"
#include "ledger.h"
#include "onnx/flat_form.h"
#include "onnx/quantized_types.h"
#include "onnx/reals.h"
#include "opset/opset.h"
#include "opset/revert.h"
#include "qdq/half_reals.h"
#include "qdq/record.h"
#include "qoperator/annotations.h"
#include "qoperator/form_writer.h"
#include "qtx/format/annotation.h"
#include "qtx/format/catalogue.h"
#include "qtx/format/inference.h"
#include "qtx/format/levels.h"
#include "qtx/format/rename.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::ElementType;
using format::Node;
using format::TensorType;

class Writer {
 public:
  Writer(const GraphIndex& index, const Options& options)
      : index_(index), source_(index.model()), ledger_(options), names_(index.model().graph) {}

  /// `extended`: the imports that the extended form had; `moved`: its record, if it was moved.
  Result<Conversion> Run(const std::vector<format::OpsetImport>& extended,
                         const std::optional<std::string>& moved);
  /// After Run, the opset that the quantizers need; at most the source's where it has all types.
  std::int64_t needed_opset() const { return opset_; }

 private:
  Result<void> CollectTypes();
  Result<void> CheckType(const std::string& name, const TensorType& type);
  Result<void> WriteNode(const Node& node);
  Result<void> WriteCast(const Node& node);
  Result<void> WriteBetweenPairs(const Node& node);
  Result<void> WriteQuantizer(Node node, const char* op_type, const std::string& value);
  Result<std::string> Dequantized(const std::string& value);
  Result<void> DequantizeInitializer(const std::string& value);
  bool Moves(const Node& node) const;
  bool WouldMerge(const std::string& real) const;
  bool IsQuantizable(const std::string& real, ElementType to);
  void Declare(std::vector<format::ValueInfo>& list);
  void Annotate();
  Result<std::string> DomainFor(const TensorType& type, bool blocked);
  Result<void> Finish(const std::vector<format::OpsetImport>& extended);

  const GraphIndex& index_;
  const format::Model& source_;
  Ledger ledger_;
  graph::Names names_;
  QuantizedTypes types_;
  format::Model model_;
  std::optional<FormWriter> forms_;
  std::optional<format::Inference> inference_;      // of the source
  std::map<std::string, std::string> dequantized_;  // value, name of its reals
  std::set<std::string> annotated_;                 // initializers that are FLOAT values now
  std::int64_t opset_ = 0;                          // that the quantizers need
};

Result<void> Writer::CheckType(const std::string& name, const TensorType& type) {
  const format::Quantization& q = *type.quantization;
  if (!format::HasCodeBook(q)) {
    auto stock = ToStock(type);
    if (!stock.has_value()) return At(PlaceOfValue(name), stock.error());
  }
  if (format::HasBase(q) && !IsNBitsWeight(type))
    return Unsupported(PlaceOfValue(name), "base_levels: the target has no base");
  if (format::IsIntegerStorage(type.elem_type) &&
      format::StoredRange(type.elem_type, q) != format::StorageRange(type.elem_type))
    return Unsupported(PlaceOfValue(name) + ": quant_min",
                       "operators on integers have no narrower range");
  if (q.scheme != format::Scheme::kUnspecified) {
    QTX_RETURN_IF_ERROR(ledger_.Lose("scheme", name, "scheme", "integers have no scheme"));
  }
  if (q.requantization) {
    QTX_RETURN_IF_ERROR(ledger_.Lose("scheme", name, "requantization",
                                     "operators on integers requantize by their scales"));
  }
  if (type.statistics) {
    QTX_RETURN_IF_ERROR(
        ledger_.Lose("statistics", name, "statistics", "an integer tensor has none"));
  }
  return {};
}

Result<void> Writer::CollectTypes() {
  QTX_ASSIGN_OR_RETURN(types_, QuantizedTypesOf(source_));
  for (const auto& [name, type] : types_) {
    QTX_RETURN_IF_ERROR(CheckType(name, type));
    ledger_.Changed(name, "elem_type",
                    std::string(format::Name(type.elem_type)) +
                        " is a plain integer tensor, its parameters are inputs of its readers");
  }
  return {};
}

// True if the node only moves elements, so that integers keep their meaning.
bool Writer::Moves(const Node& node) const {
  if (!MovesElements(node)) return false;
  const auto from = types_.find(node.inputs[0]);
  if (from == types_.end() || from->second.quantization->scale.size() != 1) return false;
  const ElementType type = from->second.elem_type;
  // ONNX has no MaxPool of 16 bits, for one.
  const std::array storage = {format::StorageOf(type)};
  const std::int64_t opset = std::max(opset_, source_.OpsetVersion(""));
  if (!format::CheckOnnxForm(node, opset, storage).has_value()) return false;
  return std::ranges::all_of(node.outputs, [&](const std::string& output) {
    const auto to = types_.find(output);
    return to != types_.end() && SameMeaning(from->second, to->second);
  });
}

// The domain whose QuantizeLinear and DequantizeLinear have `type`: ONNX's own in the model's
// opset, else com.microsoft's, else ONNX's in a newer opset, which the model then gets. Source:
// ONNX Runtime docs/ContribOperators.md.
Result<std::string> Writer::DomainFor(const TensorType& type, bool blocked) {
  QTX_ASSIGN_OR_RETURN(const std::int64_t needed, OpsetFor(type));
  const std::int64_t own = source_.OpsetVersion("");
  const bool plain = needed == 13 && type.quantization->axis.empty() && own >= 10;
  if (own >= needed || plain) return std::string();
  // com.microsoft's have FLOAT scales in ONNX Runtime's kernels.
  blocked = blocked || format::IsHalf(type.quantization->real_type);
  using enum ElementType;
  static constexpr std::array kTheirs = {kInt8Q, kUint8Q, kInt16Q, kUint16Q,
                                         kInt4Q, kUint4Q, kInt32Q};
  if (!blocked && std::ranges::find(kTheirs, type.elem_type) != kTheirs.end())
    return std::string(kMicrosoft);
  opset_ = std::max(opset_, needed);
  return std::string();
}

// A QuantizeLinear or DequantizeLinear of `value`'s parameters.
Result<void> Writer::WriteQuantizer(Node node, const char* op_type, const std::string& value) {
  const TensorType& type = types_.at(value);
  if (format::HasBase(*type.quantization))
    return Unsupported(PlaceOfValue(value), "base_levels: DequantizeLinear has no base");
  if (format::HasCodeBook(*type.quantization))
    return Unsupported(
        PlaceOfValue(value),
        "code_book: DequantizeLinear has no table of values; kind qdq looks them up");
  QTX_ASSIGN_OR_RETURN(const StockParameters stock, ToStock(type));
  const bool quantizes = std::string_view(op_type) == "QuantizeLinear";
  if (quantizes && type.elem_type == ElementType::kInt32Q)
    return Unsupported(PlaceOfValue(value), "QuantizeLinear has no INT32");
  node.op_type = op_type;
  QTX_ASSIGN_OR_RETURN(node.domain, DomainFor(type, stock.block_size.has_value()));
  for (const std::string& name : forms_->ParametersOf(value)) node.inputs.push_back(name);
  node.attributes.clear();
  const std::int64_t opset = std::max(opset_, source_.OpsetVersion(""));
  AddPairAttributes(stock, format::RealTypeOf(*type.quantization), opset, node);
  model_.graph.nodes.push_back(std::move(node));
  return {};
}

// If only nodes on reals read an initializer, the DequantizeLinear's output gets its name.
Result<void> Writer::DequantizeInitializer(const std::string& value) {
  format::TensorData& data = model_.graph.initializers[index_.InitializerPlace(value)];
  const std::string stored = names_.Unique(value + "/stored");
  QTX_ASSIGN_OR_RETURN(data, Renamed(std::move(data), stored));
  annotated_.insert(value);
  dequantized_[value] = value;
  Node node;
  node.name = value + "/DequantizeLinear";
  node.inputs = {stored};
  node.outputs = {value};
  return WriteQuantizer(std::move(node), "DequantizeLinear", value);
}

// The name of the reals of `value`.
Result<std::string> Writer::Dequantized(const std::string& value) {
  if (const auto found = dequantized_.find(value); found != dequantized_.end())
    return found->second;
  if (index_.Initializer(value) != nullptr && !index_.IsInput(value) && !index_.IsOutput(value) &&
      !forms_->ReadsIntegers(value)) {
    QTX_RETURN_IF_ERROR(DequantizeInitializer(value));
    return value;
  }
  Node node;
  const std::string name = names_.Unique(value + "/dequantized");
  node.name = value + "/DequantizeLinear";
  node.inputs = {value};
  node.outputs = {name};
  QTX_RETURN_IF_ERROR(WriteQuantizer(std::move(node), "DequantizeLinear", value));
  dequantized_[value] = name;
  return name;
}

// When the file is read back, a QuantizeLinear that is the only reader is merged into the node.
bool Writer::WouldMerge(const std::string& real) const {
  const auto producer = index_.Producer(real);
  return producer && index_.OnlyUse(real) && !forms_->Writes(*producer) &&
         !IsStock(index_.node(*producer), "Constant");
}

// QuantizeLinear to reals of type `to` takes the value.  Source: quantize_linear.C1; other types
// want newer opsets.
bool Writer::IsQuantizable(const std::string& real, ElementType to) {
  if (!inference_) inference_.emplace(source_);
  const format::ValueFacts* facts = inference_->Find(real);
  const ElementType type = facts == nullptr ? ElementType::kUndefined : facts->type;
  if (format::IsHalf(to)) return type == to;
  return type == ElementType::kUndefined || type == ElementType::kFloat ||
         type == ElementType::kInt32;
}

// Cast to and from a quantized type is QuantizeLinear and DequantizeLinear.
Result<void> Writer::WriteCast(const Node& node) {
  const std::string& from = node.inputs[0];
  const std::string& to = node.outputs[0];
  const bool quantizes = types_.contains(to);
  if (!quantizes) return WriteQuantizer(node, "DequantizeLinear", from);
  const ElementType real = format::RealTypeOf(types_.at(to));
  Node quantizer = node;
  const auto source = types_.find(from);
  const bool same = source == types_.end() ? !WouldMerge(from) && IsQuantizable(from, real)
                                           : format::RealTypeOf(source->second) == real;
  if (source != types_.end()) {
    QTX_ASSIGN_OR_RETURN(quantizer.inputs[0], Dequantized(from));
  }
  if (!same) {
    Node cast = quantizer;
    cast.outputs = {names_.Unique(to + "/real")};
    for (Attribute& attribute : cast.attributes) {
      if (attribute.name == "to") attribute.i = static_cast<std::int64_t>(real);
    }
    quantizer = Node();
    quantizer.name = to + "/QuantizeLinear";
    quantizer.inputs = cast.outputs;
    quantizer.outputs = {to};
    model_.graph.nodes.push_back(std::move(cast));
  }
  return WriteQuantizer(std::move(quantizer), "QuantizeLinear", to);
}

Result<void> Writer::WriteBetweenPairs(const Node& source) {
  ledger_.Changed(source.outputs.empty() ? source.name : source.outputs[0], "op_type",
                  source.op_type +
                      " computes on reals, between DequantizeLinear and "
                      "QuantizeLinear: ONNX Runtime runs no operator on integers for it");
  Node node = source;
  for (std::string& input : node.inputs) {
    if (!types_.contains(input)) continue;
    QTX_ASSIGN_OR_RETURN(input, Dequantized(input));
  }
  for (std::string& output : node.outputs) {
    if (types_.contains(output)) output = names_.Unique(std::string(output).append("/real"));
  }
  const std::vector<std::string> reals = node.outputs;
  model_.graph.nodes.push_back(std::move(node));
  for (std::size_t i = 0; i < reals.size(); ++i) {
    const std::string& value = source.outputs[i];
    if (!types_.contains(value)) continue;
    Node quantizer;
    quantizer.name = value + "/QuantizeLinear";
    quantizer.inputs = {reals[i]};
    quantizer.outputs = {value};
    QTX_RETURN_IF_ERROR(WriteQuantizer(std::move(quantizer), "QuantizeLinear", value));
  }
  return {};
}

Result<void> Writer::WriteNode(const Node& node) {
  const auto quantized = [&](const std::string& value) { return types_.contains(value); };
  if (std::ranges::none_of(node.inputs, quantized) &&
      std::ranges::none_of(node.outputs, quantized)) {
    if (!forms_->IsAbsorbed(node)) model_.graph.nodes.push_back(node);
    return {};
  }
  QTX_ASSIGN_OR_RETURN(const bool written, forms_->Write(node));
  if (written) return {};
  if (Moves(node) || format::IsControlFlow(node)) {
    model_.graph.nodes.push_back(node);
    return {};
  }
  const bool one = node.inputs.size() == 1 && node.outputs.size() == 1;
  const auto to = static_cast<ElementType>(format::Attributes(node).Int("to"));
  if (IsStock(node, "Cast") && one &&
      (quantized(node.outputs[0]) || to == format::RealTypeOf(types_.at(node.inputs[0]))))
    return WriteCast(node);
  return WriteBetweenPairs(node);
}

void Writer::Declare(std::vector<format::ValueInfo>& list) {
  for (format::ValueInfo& info : list) {
    const auto type = types_.find(info.name);
    if (type == types_.end()) continue;
    info.type->statistics.reset();
    if (annotated_.contains(info.name)) {
      info.type->quantization = type->second.quantization;
      info.type = format::Annotated(*std::move(info.type));
      continue;
    }
    info.type->elem_type = format::StorageOf(info.type->elem_type);
    info.type->quantization.reset();
    forms_->DeclarePacked(info);
  }
}

// An annotation does not say the type of the reals: those of 16 bits have none. Its scale is above
// 0; DequantizeLinear takes any.
void Writer::Annotate() {
  for (const auto& [value, type] : types_) {
    const auto& q = *type.quantization;
    if (q.scale.size() != 1 || format::HasCodeBook(q) || format::IsHalf(q.real_type) ||
        !(q.scale[0] > 0) || !std::isfinite(q.scale[0]) || type.elem_type == ElementType::kInt32Q ||
        annotated_.contains(value) || forms_->IsPacked(value))
      continue;
    AddAnnotation(value, forms_->ParametersOf(value), model_.graph);
  }
}

Result<void> Writer::Finish(const std::vector<format::OpsetImport>& extended) {
  Declare(model_.graph.inputs);
  Declare(model_.graph.outputs);
  Declare(model_.graph.values);
  Annotate();
  forms_->AddInitializers();
  std::erase_if(model_.opset_imports, [](const auto& i) { return i.domain == format::kDomain; });
  const bool microsoft = std::ranges::any_of(
      model_.graph.nodes, [](const Node& node) { return node.domain == kMicrosoft; });
  if (microsoft && model_.OpsetVersion(kMicrosoft) == 0)
    model_.opset_imports.push_back({std::string(kMicrosoft), 1, ""});
  return RecordNodes(extended, model_);
}

Result<Conversion> Writer::Run(const std::vector<format::OpsetImport>& extended,
                               const std::optional<std::string>& moved) {
  QTX_RETURN_IF_ERROR(CheckOperands(source_.graph));
  QTX_RETURN_IF_ERROR(CollectTypes());
  model_ = source_;
  model_.graph.nodes.clear();
  forms_.emplace(FormContext{index_, types_, names_, model_, ledger_});
  QTX_RETURN_IF_ERROR(forms_->Choose());
  for (const Node& node : source_.graph.nodes) {
    auto written = WriteNode(node);
    if (!written.has_value()) return At(PlaceOf(node), written.error());
  }
  QTX_RETURN_IF_ERROR(Finish(extended));
  if (moved) model_.metadata.emplace_back(format::kOpsetKey, *moved);
  return Conversion{std::move(model_), ledger_.Take()};
}

// Writes `model` in `opset`; nullopt where its quantizers need a newer one, `needed`.
Result<std::optional<Conversion>> WriteInOpset(const format::Model& model, std::int64_t opset,
                                               const Options& options, std::int64_t& needed) {
  Ledger ledger(options);
  QTX_ASSIGN_OR_RETURN(const format::Model moved, ToOpset(model, opset, ledger));
  QTX_ASSIGN_OR_RETURN(const auto record, OpsetRecord(model, moved));
  QTX_ASSIGN_OR_RETURN(Conversion written,
                       OnFlatForm(moved, [&](const format::Model& flat) -> Result<Conversion> {
                         QTX_ASSIGN_OR_RETURN(const GraphIndex index, GraphIndex::Of(flat));
                         Writer writer(index, options);
                         auto made = writer.Run(model.opset_imports, record);
                         needed = writer.needed_opset();
                         return made;
                       }));
  if (opset != 0 && opset < needed) return std::optional<Conversion>();
  std::vector<LedgerEntry> entries = ledger.Take();
  std::ranges::move(written.ledger, std::back_inserter(entries));
  written.ledger = std::move(entries);
  return std::optional(std::move(written));
}

}  // namespace

namespace {

Result<Conversion> WriteCollapsed(const format::Model& model, const Options& options) {
  constexpr std::int64_t kOldest = 10;  // the first that has QLinearConv
  const std::int64_t own = model.OpsetVersion("");
  std::int64_t opset = options.opset != 0 ? options.opset : own == 0 ? 0 : std::max(own, kOldest);
  if (opset != 0 && opset < kOldest)
    return Unsupported("opset " + std::to_string(opset), "expected at least 10");
  while (true) {
    std::int64_t needed = 0;
    QTX_ASSIGN_OR_RETURN(auto written, WriteInOpset(model, opset, options, needed));
    if (written) return *std::move(written);
    if (options.opset != 0)
      return Unsupported(
          "opset " + std::to_string(opset),
          "expected at least " + std::to_string(needed) + ", whose DequantizeLinear has all types");
    opset = needed;
  }
}

}  // namespace

Result<Conversion> ToQOperator(const format::Model& model, const Options& options) {
  Ledger steps(options);
  const std::optional<format::Model> stepped = CollapseSteps(model, steps);
  QTX_ASSIGN_OR_RETURN(
      const Conversion collapsed,
      OnFlatForm(stepped ? *stepped : model, [&](const format::Model& flat) -> Result<Conversion> {
        Ledger changes(options);
        format::Model made = CollapseContrib(flat, changes);
        return Conversion{std::move(made), changes.Take()};
      }));
  auto written = WriteCollapsed(collapsed.model, options);
  if (!written.has_value()) return written;
  QTX_RETURN_IF_ERROR(CheckHalves(written->model));
  for (const auto& changes : {collapsed.ledger, steps.Take()})
    written->ledger.insert(written->ledger.begin(), changes.begin(), changes.end());
  return written;
}

}  // namespace qtx::convert
