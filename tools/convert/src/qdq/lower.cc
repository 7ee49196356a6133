// ToQdq: every quantized value becomes a value of its type of reals, FLOAT, FLOAT16 or BFLOAT16,
// between QuantizeLinear and DequantizeLinear.
//
//   node -> v/real -> QuantizeLinear -> v/stored -> DequantizeLinear -> v    (a Clip before where
//   narrowed) graph input v  -> QuantizeLinear -> v/stored -> DequantizeLinear -> v/quantized
//   initializer v/stored             ------------> DequantizeLinear -> v
//   initializer v/stored with a base ------------> DequantizeLinear -> v/product -> Add -> v
//   ... with a code book: Cast -> v/codes -> Gather of v/code_book -> v/values -> Mul (-> Add) -> v
//   (blocked: a Reshape to v/blocks before the Mul or Add, and one of v/biased after it)
#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <tuple>

#include "encodings.h"
#include "errors.h"
#include "ledger.h"
#include "onnx/flat_form.h"
#include "onnx/graph_index.h"
#include "onnx/quantized_types.h"
#include "onnx/reals.h"
#include "opset/opset.h"
#include "opset/revert.h"
#include "qdq/base_add.h"
#include "qdq/half_reals.h"
#include "qdq/parameters.h"
#include "qdq/record.h"
#include "qoperator/annotations.h"
#include "qtx/convert/convert.h"
#include "qtx/format/annotation.h"
#include "qtx/format/attributes.h"
#include "qtx/format/data_file.h"
#include "qtx/format/description.h"
#include "qtx/format/levels.h"
#include "qtx/format/rename.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::ElementType;
using format::Node;
using format::TensorType;

class Lowering {
 public:
  Lowering(const GraphIndex& index, const Options& options, std::int64_t opset)
      : index_(index),
        source_(index.model()),
        opset_(opset),
        names_(index.model().graph),
        data_(options.data),
        ledger_(options) {}

  Result<Conversion> Run();

 private:
  Result<void> CollectTypes();
  Result<void> LowerInitializers();
  Result<void> LowerInputs();
  Result<void> LowerNode(const Node& node);
  Result<void> LowerOutput(const std::string& value, Node& producer, std::vector<Node>& after);
  Result<void> AddPair(const std::string& value, const std::string& from, const std::string& to,
                       std::vector<Node>& nodes);
  std::vector<std::string> ParameterInputs(const std::string& value,
                                           const std::string& first) const;
  void AddAttributes(const std::string& value, Node& node) const;
  Node MakeNode(const std::string& value, const char* op_type, std::vector<std::string> inputs,
                std::string output) const;
  Result<std::string> AddClip(const std::string& value, const std::string& to,
                              std::vector<Node>& nodes);
  Result<void> AddSteps(const TensorType& type, const std::string& value, std::string from);
  Result<void> LowerInitializer(const TensorType& type, const std::string& value,
                                const std::string& stored);
  Result<void> AddParameters(const std::string& value);
  bool LeavesOutZeroPoint(const std::string& value, const StockParameters& stock) const;
  Result<std::string> AddParameter(const std::string& declared, const std::string& name,
                                   const format::Tensor& parameter);
  Result<std::string> AddConstant(const std::string& name, const format::Tensor& constant);
  void AnnotateValues(std::vector<format::ValueInfo>& list);
  void NameParameters();
  void Finish();

  const GraphIndex& index_;
  const format::Model& source_;
  const std::int64_t opset_;
  QuantizedTypes types_;                               // those of initializers as declared
  std::map<std::string, StockParameters> parameters_;  // without the elements, once they are added
  std::map<std::string, std::vector<std::string>> parameter_names_;  // scale and zero point
  std::map<std::string, std::string> reads_;  // graph input to the value its consumers read
  graph::Names names_;
  format::DataFile* data_;
  format::Model model_;
  std::vector<format::TensorData> added_;  // scales, zero points and bounds, after the model's own
  Ledger ledger_;
};

Result<void> Lowering::CollectTypes() {
  QTX_ASSIGN_OR_RETURN(types_, QuantizedTypesOf(source_, Initializers::kAsDeclared));
  for (const auto& [name, type] : types_) {
    if (index_.Initializer(name) != nullptr || format::HasCodeBook(*type.quantization)) continue;
    auto parameters = ToStock(type);
    if (!parameters.has_value()) return At(PlaceOfValue(name), parameters.error());
    parameters_.emplace(name, *std::move(parameters));
  }
  return {};
}

Node Lowering::MakeNode(const std::string& value, const char* op_type,
                        std::vector<std::string> inputs, std::string output) const {
  Node node;
  node.name = value + "/" + op_type;
  node.op_type = op_type;
  node.inputs = std::move(inputs);
  node.outputs = {std::move(output)};
  return node;
}

// A constant in blocks has as many zero points as scales. Where all are 0, DequantizeLinear needs
// none: its x says the type.  Source: ONNX 1.23, DequantizeLinear, x_zero_point.
bool Lowering::LeavesOutZeroPoint(const std::string& value, const StockParameters& stock) const {
  return stock.block_size && index_.Initializer(value) != nullptr &&
         types_.at(value).quantization->offset_tensor.empty() &&
         std::ranges::all_of(stock.zero_point->bytes,
                             [](std::byte b) { return b == std::byte{0}; });
}

// The initializers of the value's scale and zero point.
Result<void> Lowering::AddParameters(const std::string& value) {
  if (parameter_names_.contains(value)) return {};
  StockParameters& stock = parameters_.at(value);
  const format::Quantization& q = *types_.at(value).quantization;
  std::vector<std::string>& names = parameter_names_[value];
  const std::string& scale = q.scale_levels.size() == 1 ? q.scale_levels[0].tensor : q.scale_tensor;
  QTX_ASSIGN_OR_RETURN(names.emplace_back(), AddParameter(scale, value + "/scale", stock.scale));
  stock.scale.bytes = std::vector<std::byte>();  // = {} would keep the memory
  if (!stock.zero_point || LeavesOutZeroPoint(value, stock)) return {};
  QTX_ASSIGN_OR_RETURN(names.emplace_back(),
                       AddParameter(q.offset_tensor, value + "/zero_point", *stock.zero_point));
  stock.zero_point->bytes = std::vector<std::byte>();
  return {};
}

// The initializer `declared`, if it is this parameter as it stands; else one of the name `name`.
Result<std::string> Lowering::AddParameter(const std::string& declared, const std::string& name,
                                           const format::Tensor& parameter) {
  const format::TensorData* data = declared.empty() ? nullptr : index_.Initializer(declared);
  if (data != nullptr && data->data_type == parameter.elem_type && data->dims == parameter.dims) {
    QTX_ASSIGN_OR_RETURN(const format::Tensor found, format::Decode(*data, source_.folder));
    if (found.bytes == parameter.bytes) return declared;
  }
  return AddConstant(name, parameter);
}

std::vector<std::string> Lowering::ParameterInputs(const std::string& value,
                                                   const std::string& first) const {
  const std::vector<std::string>& names = parameter_names_.at(value);
  std::vector<std::string> inputs = {first};
  inputs.insert(inputs.end(), names.begin(), names.end());
  return inputs;
}

Result<void> Lowering::AddPair(const std::string& value, const std::string& from,
                               const std::string& to, std::vector<Node>& nodes) {
  if (format::StorageOf(types_.at(value).elem_type) == ElementType::kInt32) {
    return Unsupported(PlaceOfValue(value), "QuantizeLinear has no INT32");
  }
  const std::string stored = names_.Unique(value + "/stored");
  QTX_RETURN_IF_ERROR(AddParameters(value));
  std::vector<std::string> quantize = ParameterInputs(value, from);
  std::vector<std::string> dequantize = quantize;
  dequantize[0] = stored;
  nodes.push_back(MakeNode(value, "QuantizeLinear", std::move(quantize), stored));
  nodes.push_back(MakeNode(value, "DequantizeLinear", std::move(dequantize), to));
  for (std::size_t i = nodes.size() - 2; i < nodes.size(); ++i) AddAttributes(value, nodes[i]);
  return {};
}

void Lowering::AddAttributes(const std::string& value, Node& node) const {
  AddPairAttributes(parameters_.at(value), format::RealTypeOf(types_.at(value)), opset_, node);
}

Result<std::string> Lowering::AddConstant(const std::string& name, const format::Tensor& constant) {
  std::string unique = names_.Unique(name);
  QTX_ASSIGN_OR_RETURN(format::TensorData data, format::MakeTensorData(unique, constant, data_));
  added_.push_back(std::move(data));
  return unique;
}

// The value that the producer writes: `to` itself, or the input of a Clip to the narrowed range.
Result<std::string> Lowering::AddClip(const std::string& value, const std::string& to,
                                      std::vector<Node>& nodes) {
  const TensorType& type = types_.at(value);
  const format::Quantization& q = *type.quantization;
  if (!q.quant_min && !q.quant_max) return to;
  if (!format::IsIntegerStorage(type.elem_type))
    return Unsupported(PlaceOfValue(value), "a narrowed range of a small float");
  const format::IntegerRange full = format::StorageRange(type.elem_type);
  const format::IntegerRange range = format::StoredRange(type.elem_type, q);
  if (range == full) return to;
  if (q.scale.empty()) return to;  // no element to be clipped
  if (q.scale.size() > 1)
    return Unsupported(PlaceOfValue(value), "a narrowed range with several scales");
  std::string unclipped = names_.Unique(value + "/unclipped");
  std::vector<std::string> inputs = {unclipped, "", ""};
  for (const auto& [i, name, end, bound] :
       {std::tuple(1, "/min", full.min, range.min), std::tuple(2, "/max", full.max, range.max)}) {
    if (bound == end) continue;
    auto real = RealBound(q, bound);
    if (!real.has_value()) return At(PlaceOfValue(value), real.error());
    QTX_ASSIGN_OR_RETURN(inputs[static_cast<std::size_t>(i)], AddConstant(value + name, *real));
  }
  if (inputs[2].empty()) inputs.pop_back();
  nodes.push_back(MakeNode(value, "Clip", std::move(inputs), to));
  ledger_.Changed(value, "quant_min", "a Clip before QuantizeLinear, and an annotation");
  return unclipped;
}

// From `from`, what a DequantizeLinear or Cast gives, to `value`.
Result<void> Lowering::AddSteps(const TensorType& type, const std::string& value,
                                std::string from) {
  auto steps = StepsAfter(type);
  if (!steps.has_value()) return At(PlaceOfValue(value), steps.error());
  for (const LoweredStep& step : *steps) {
    const auto named = [&value](const char* name) { return value + "/" + name; };
    std::string to = *step.output == 0 ? value : names_.Unique(named(step.output));
    std::vector<std::string> inputs = {from, ""};
    QTX_ASSIGN_OR_RETURN(inputs[1], AddConstant(named(step.constant), step.value));
    if (step.constant_first) std::swap(inputs[0], inputs[1]);
    model_.graph.nodes.push_back(
        MakeNode(*step.node == 0 ? value : named(step.node), step.op_type, std::move(inputs), to));
    from = std::move(to);
  }
  const format::Quantization& q = *type.quantization;
  if (format::HasCodeBook(q))
    ledger_.Changed(value, "code_book", "a Gather of its values and a Mul, and an annotation");
  if (format::HasBase(q))
    ledger_.Changed(value, "base_levels", "an Add after DequantizeLinear, and an annotation");
  return {};
}

Result<void> Lowering::LowerInitializer(const TensorType& type, const std::string& value,
                                        const std::string& stored) {
  const format::Quantization& q = *type.quantization;
  if (format::HasCodeBook(q)) {
    const std::string codes = names_.Unique(value + "/codes");
    Node node = MakeNode(value, "Cast", {stored}, codes);
    node.attributes.push_back(Attribute::Int("to", static_cast<std::int64_t>(ElementType::kInt32)));
    model_.graph.nodes.push_back(std::move(node));
    return AddSteps(type, value, codes);
  }
  auto parameters = ToStock(type);
  if (!parameters.has_value()) return At(PlaceOfValue(value), parameters.error());
  parameters_.emplace(value, *std::move(parameters));
  QTX_RETURN_IF_ERROR(AddParameters(value));
  const bool based = format::HasBase(q);
  const std::string product = based ? names_.Unique(value + "/product") : value;
  Node node = MakeNode(value, "DequantizeLinear", ParameterInputs(value, stored), product);
  AddAttributes(value, node);
  model_.graph.nodes.push_back(std::move(node));
  if (based) QTX_RETURN_IF_ERROR(AddSteps(type, value, product));
  return {};
}

Result<void> Lowering::LowerInitializers() {
  const format::ModelView view = format::ModelView::Indexed(source_);
  for (const format::TensorData& data : source_.graph.initializers) {
    if (!types_.contains(data.name)) {
      model_.graph.initializers.push_back(data);
      continue;
    }
    const std::string stored = names_.Unique(data.name + "/stored");
    QTX_ASSIGN_OR_RETURN(format::TensorData renamed, Renamed(data, stored));
    model_.graph.initializers.push_back(std::move(renamed));
    QTX_ASSIGN_OR_RETURN(const TensorType type,
                         WithInlineParameters(view, types_.at(data.name), data.name));
    QTX_RETURN_IF_ERROR(LowerInitializer(type, data.name, stored));
  }
  return {};
}

Result<void> Lowering::LowerInputs() {
  for (const format::ValueInfo& info : source_.graph.inputs) {
    if (!types_.contains(info.name)) continue;
    if (index_.Initializer(info.name) != nullptr)
      return Unsupported(PlaceOfValue(info.name), "a graph input with a default");
    const std::string quantized = names_.Unique(info.name + "/quantized");
    QTX_RETURN_IF_ERROR(AddPair(info.name, info.name, quantized, model_.graph.nodes));
    reads_[info.name] = quantized;
  }
  return {};
}

Result<void> Lowering::LowerOutput(const std::string& value, Node& producer,
                                   std::vector<Node>& after) {
  const std::string real = names_.Unique(value + "/real");
  QTX_ASSIGN_OR_RETURN(const std::string written, AddClip(value, real, after));
  std::ranges::replace(producer.outputs, value, written);
  return AddPair(value, real, value, after);
}

Result<void> Lowering::LowerNode(const Node& source) {
  Node node = source;
  for (std::string& input : node.inputs) {
    if (const auto found = reads_.find(input); found != reads_.end()) input = found->second;
  }
  std::vector<Node> after;
  for (const std::string& output : source.outputs) {
    if (!types_.contains(output)) continue;
    QTX_RETURN_IF_ERROR(CheckComputesReals(source));
    QTX_RETURN_IF_ERROR(LowerOutput(output, node, after));
    // A Cast to a quantized type is stock ONNX's cast of the real; the pair after it does the rest.
    for (Attribute& attribute : node.attributes) {
      if (node.op_type == "Cast" && attribute.name == "to")
        attribute.i = static_cast<std::int64_t>(format::RealTypeOf(types_.at(output)));
    }
  }
  model_.graph.nodes.push_back(std::move(node));
  std::ranges::move(after, std::back_inserter(model_.graph.nodes));
  return {};
}

void Lowering::AnnotateValues(std::vector<format::ValueInfo>& list) {
  for (format::ValueInfo& info : list) {
    if (!info.type || !format::IsQuantized(info.type->elem_type)) continue;
    ledger_.Changed(info.name, "elem_type",
                    std::string(format::Name(info.type->elem_type)) + " is " +
                        std::string(format::Name(format::RealTypeOf(*info.type))) +
                        " with QuantizeLinear and DequantizeLinear");
    const bool levels = !info.type->quantization->scale_levels.empty();
    if (levels)
      ledger_.Changed(info.name, "scale_levels", "one scale for each block, and an annotation");
    if (!levels) ledger_.Kept(info.name, "scale");
    ledger_.Kept(info.name, "offset");
    if (info.type->statistics) ledger_.Kept(info.name, "statistics");
    info.type = format::Annotated(*std::move(info.type));
    format::Describe(info);
  }
}

// For tools that know no annotation but ONNX's own.
void Lowering::NameParameters() {
  for (const auto& [value, names] : parameter_names_) {
    const format::Quantization& q = *types_.at(value).quantization;
    if (q.axis.empty() && !format::HasBase(q)) AddAnnotation(value, names, model_.graph);
  }
}

void Lowering::Finish() {
  AnnotateValues(model_.graph.inputs);
  AnnotateValues(model_.graph.outputs);
  AnnotateValues(model_.graph.values);
  NameParameters();
  std::ranges::move(added_, std::back_inserter(model_.graph.initializers));
  model_.opset_imports.clear();
  for (const format::OpsetImport& import : source_.opset_imports) {
    if (import.domain == format::kDomain) continue;
    const bool main = format::IsOnnxDomain(import.domain);
    model_.opset_imports.push_back(
        {import.domain, main ? opset_ : import.version, import.unknown_fields});
  }
  if (model_.OpsetVersion("") == 0 && opset_ != 0) model_.opset_imports.push_back({"", opset_});
  ledger_.Changed("model", "opset_import",
                  (opset_ == 0 ? "" : "opset " + std::to_string(opset_) + " ") +
                      "without qtx; recorded in metadata_props");
}

Result<Conversion> Lowering::Run() {
  QTX_RETURN_IF_ERROR(CheckOperands(source_.graph));
  QTX_RETURN_IF_ERROR(CollectTypes());
  model_ = source_;
  model_.graph.nodes.clear();
  model_.graph.initializers.clear();
  QTX_RETURN_IF_ERROR(LowerInputs());
  QTX_RETURN_IF_ERROR(LowerInitializers());
  for (const Node& node : source_.graph.nodes) QTX_RETURN_IF_ERROR(LowerNode(node));
  Finish();
  return Conversion{std::move(model_), ledger_.Take()};
}

// For a flat model: the opset that is asked for, else the smallest that has all types.  Source:
// lowering.S3.
Result<std::int64_t> OpsetToLowerFlat(const format::Model& model, const Options& options) {
  QTX_ASSIGN_OR_RETURN(const QuantizedTypes types,
                       QuantizedTypesOf(model, Initializers::kAsDeclared));
  const std::int64_t own = model.OpsetVersion("");
  if (types.empty() && options.opset == 0) return own;  // no Q/DQ to be had
  const format::ModelView view = format::ModelView::Indexed(model);
  std::int64_t opset = options.opset == 0 ? std::max<std::int64_t>(own, 13) : options.opset;
  for (const auto& [name, declared] : types) {
    TensorType type = declared;
    if (format::IsHalf(format::RealTypeOf(type))) {  // what the scales are decides
      QTX_ASSIGN_OR_RETURN(type, WithInlineParameters(view, type, name));
    }
    const auto needed = OpsetFor(type);
    if (!needed.has_value()) return At(PlaceOfValue(name), needed.error());
    if (opset >= *needed) continue;
    if (options.opset != 0) {
      return Unsupported(PlaceOfValue(name), std::string(format::Name(type.elem_type)) +
                                                 " needs opset " + std::to_string(*needed) +
                                                 ", found " + std::to_string(opset));
    }
    opset = *needed;
  }
  return opset;
}

Result<std::int64_t> OpsetToLowerTo(const format::Model& model, const Options& options) {
  const format::FlatModel flat(model);
  auto opset = OpsetToLowerFlat(flat.model(), options);
  if (!opset.has_value()) return flat.Readable(std::move(opset).error());
  return opset;
}

Result<Conversion> LowerFlat(const format::Model& flat, const Options& options,
                             std::int64_t opset) {
  QTX_ASSIGN_OR_RETURN(const GraphIndex index, GraphIndex::Of(flat));
  return Lowering(index, options, opset).Run();
}

}  // namespace

Result<Conversion> ToQdq(const format::Model& model, const Options& options) {
  QTX_ASSIGN_OR_RETURN(const std::int64_t opset, OpsetToLowerTo(model, options));
  Ledger ledger(options);
  std::optional<format::Model> moved;
  std::optional<std::string> record;
  if (opset != model.OpsetVersion("")) {
    QTX_ASSIGN_OR_RETURN(moved, ToOpset(model, opset, ledger));
    QTX_ASSIGN_OR_RETURN(record, OpsetRecord(model, *moved));
  }
  const auto lower = [&](const format::Model& flat) -> Result<Conversion> {
    if (!format::HasEncoding(flat)) return LowerFlat(flat, options, opset);
    Encodings encodings;
    QTX_ASSIGN_OR_RETURN(const format::Model decoded,
                         WithoutEncodings(flat, ledger, &encodings, options.data));
    auto lowered = LowerFlat(decoded, options, opset);
    if (lowered.has_value()) AnnotateEncodings(encodings, lowered->model);
    return lowered;
  };
  auto lowered = OnFlatForm(moved ? *moved : model, lower);
  if (!lowered.has_value()) return lowered;
  QTX_RETURN_IF_ERROR(CheckHalves(lowered->model));
  QTX_RETURN_IF_ERROR(RecordAll(model.opset_imports, lowered->model));
  if (record) lowered->model.metadata.emplace_back(format::kOpsetKey, *record);
  std::vector<LedgerEntry> entries = ledger.Take();
  std::ranges::move(lowered->ledger, std::back_inserter(entries));
  lowered->ledger = std::move(entries);
  return lowered;
}

}  // namespace qtx::convert
