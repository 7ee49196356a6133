// Builds the values and nodes of a quantizer.
#include <algorithm>

#include "qdq/parameters.h"
#include "qonnx/constant.h"
#include "qonnx/dialect.h"
#include "qonnx/rewriter.h"
#include "qtx/format/annotation.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::ElementType;
using format::Node;
using format::TensorType;

// True if the annotation has the same parameters, and a range within the quantizer's.
bool AgreesWith(const format::ModelView& model, const TensorType& annotation,
                const QonnxQuantizer& quantizer) {
  if (!Agree(model, annotation, {quantizer.elem_type, quantizer.quantization})) return false;
  if (format::IsSmallFloat(quantizer.elem_type)) return true;
  const auto own = format::StoredRange(quantizer.elem_type, *annotation.quantization);
  const auto said = format::StoredRange(quantizer.elem_type, quantizer.quantization);
  return said.min <= own.min && own.max <= said.max;
}

}  // namespace

const TensorType* QonnxRewriter::Annotation(const std::string& value) const {
  const TensorType* type = index_.TypeOf(value);
  return type != nullptr && format::IsAnnotated(*type) ? type : nullptr;
}

void QonnxRewriter::Declare(const std::string& name, TensorType type) {
  if (types_.emplace(name, std::move(type)).second) order_.push_back(name);
}

// The annotation if it agrees with the node, since it has more: scheme, statistics, storage.
TensorType QonnxRewriter::TypeFor(const Node& node, const QonnxQuantizer& quantizer) {
  const std::string& value = node.outputs[0];
  const TensorType* known = index_.TypeOf(value);
  if (const TensorType* annotation = Annotation(value);
      annotation != nullptr && AgreesWith(index_.view(), *annotation, quantizer)) {
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

Node QonnxRewriter::Derived(const Node& node, const char* op_type) const {
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
void QonnxRewriter::NoteRounding(const Node& node, const QonnxQuantizer& quantizer) {
  const auto& offset = quantizer.quantization.offset;
  if (std::ranges::any_of(offset, [](std::int32_t value) { return value % 2 != 0; }))
    ledger_.Changed(node.outputs[0], "rounding",
                    "QONNX rounds after it has added the odd zero point: other results on ties");
  if (quantizer.bits > 24)
    ledger_.Changed(node.outputs[0], "range", "QONNX rounds the range to binary32");
}

// A constant behind a quantizer is its stored integers, under the quantizer's name.
Result<void> QonnxRewriter::Fold(const Node& node, const format::Tensor& real,
                                 const QonnxQuantizer& quantizer) {
  const std::string& value = node.outputs[0];
  QTX_ASSIGN_OR_RETURN(QuantizedConstant constant, QuantizeConstant(real, quantizer));
  TensorType type = TypeFor(node, quantizer);
  type.shape = format::ToShape(real.dims);
  Declare(value, std::move(type));
  format::TensorData data = format::ToTensorData(value, constant.tensor);
  const std::string& from = node.inputs[0];
  const bool alone = index_.OnlyUse(from).has_value();
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

std::string QonnxRewriter::AddScale(const std::string& value, const format::Quantization& q) {
  format::Tensor scale{ElementType::kFloat, {}, std::nullopt, {}};
  if (!q.axis.empty()) scale.dims = {static_cast<std::int64_t>(q.scale.size())};
  const auto bytes = std::as_bytes(std::span(q.scale));
  scale.bytes.assign(bytes.begin(), bytes.end());
  std::string name = names_.Unique(value + "/scale");
  model_.graph.initializers.push_back(format::ToTensorData(name, scale));
  return name;
}

std::string QonnxRewriter::AddZeroPoint(const std::string& value, const QonnxQuantizer& quantizer) {
  const format::Quantization& q = quantizer.quantization;
  format::Dims dims;
  if (!q.axis.empty()) dims = {static_cast<std::int64_t>(q.scale.size())};
  const ElementType storage = format::StorageOf(quantizer.elem_type);
  // One per scale; 0 has code 0 in every storage type.
  auto tensor = format::MakeTensor(storage, dims);
  if (!q.offset.empty()) format::PackInt32(q.offset, *tensor);
  std::string name = names_.Unique(value + "/zero_point");
  model_.graph.initializers.push_back(format::ToTensorData(name, *tensor));
  return name;
}

// A zero point does not express storage and range, so they are annotated for FoldPairs.
void QonnxRewriter::Annotate(const Node& node, const std::string& stored,
                             const QonnxQuantizer& quantizer) {
  const std::string& value = node.outputs[0];
  if (const TensorType* annotation = Annotation(value);
      annotation != nullptr && AgreesWith(index_.view(), *annotation, quantizer))
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
void QonnxRewriter::AddPair(const Node& node, const QonnxQuantizer& quantizer) {
  const std::string& value = node.outputs[0];
  const std::string stored = names_.Unique(value + "/stored");
  Node quantize = Derived(node, "QuantizeLinear");
  quantize.inputs.push_back(AddScale(value, quantizer.quantization));
  quantize.outputs = {stored};
  const bool bipolar = quantizer.elem_type == ElementType::kBipolar1Q;
  if (!bipolar) quantize.inputs.push_back(AddZeroPoint(value, quantizer));
  if (!quantizer.quantization.axis.empty())
    quantize.attributes.push_back(Attribute::Int("axis", quantizer.quantization.axis[0]));
  Node dequantize = quantize;
  dequantize.name += "/dequantize";
  dequantize.op_type = "DequantizeLinear";
  dequantize.inputs[0] = stored;
  dequantize.outputs = {value};
  dequantize.origin.reset();
  dequantize.metadata.clear();
  if (bipolar) {
    // No tensor has this type, so a zero point cannot express it.
    const auto code = static_cast<std::int64_t>(ElementType::kBipolar1);
    quantize.attributes.push_back(Attribute::Int("output_dtype", code));
    Declare(stored, {.elem_type = ElementType::kBipolar1});
  }
  Annotate(node, stored, quantizer);
  nodes_.push_back(std::move(quantize));
  nodes_.push_back(std::move(dequantize));
}

// Q/DQ pairs cannot express parameters along several axes: the preceding node writes the quantized
// value if nothing else reads its result (as in FoldPairs), else a Cast.
void QonnxRewriter::AddTyped(const Node& node, const QonnxQuantizer& quantizer) {
  const std::string& from = node.inputs[0];
  const auto to = Attribute::Int("to", static_cast<std::int64_t>(quantizer.elem_type));
  const bool alone = index_.OnlyUse(from).has_value();
  const TensorType* input = Annotation(from);
  if (alone && index_.IsInput(from) && input != nullptr &&
      AgreesWith(index_.view(), *input, quantizer)) {
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

}  // namespace qtx::convert
