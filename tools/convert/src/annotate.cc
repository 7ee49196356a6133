#include "annotate.h"

#include <filesystem>
#include <set>
#include <system_error>

#include "qtx/format/annotation.h"
#include "qtx/format/levels.h"
#include "qtx/format/scopes.h"

namespace qtx::convert {
namespace {

using format::ElementType;
using format::Quantization;

// The reason why `q` is not per-tensor INT8; empty if it is.
std::string Obstacle(const format::Model& model, const format::ValueInfo& info,
                     ElementType storage) {
  const Quantization& q = *info.type->quantization;
  if (model.graph.FindInitializer(info.name) != nullptr)
    return "a constant: its integers have no place in this form";
  if (!q.axis.empty() || q.scale.size() != 1) return "scales along an axis, not one for the tensor";
  if (storage != ElementType::kInt8 && storage != ElementType::kUint8)
    return "storage " + std::string(format::Name(storage)) + ", not 8 bits";
  const format::IntegerRange whole = format::StorageRange(storage);
  if (q.quant_min.value_or(whole.min) != whole.min || q.quant_max.value_or(whole.max) != whole.max)
    return "a narrowed range";
  return "";
}

}  // namespace

Result<format::Model> ModelBeside(const Source& source) {
  if (!source.with.empty()) return format::Model::Load(source.with[0]);
  std::filesystem::path beside = source.path;
  beside.replace_extension(".onnx");
  std::error_code failed;
  if (beside.string() != source.path && std::filesystem::exists(beside, failed))
    return format::Model::Load(beside.string());
  return Error{ErrorCode::kInvalid, "",
               "a table of values needs their model: --with MODEL.onnx, or " +
                   beside.filename().string() + " beside it"};
}

Result<Conversion> OntoModelBeside(const Source& source, const Options& options,
                                   const Annotator& annotate) {
  Conversion conversion;
  QTX_ASSIGN_OR_RETURN(conversion.model, ModelBeside(source));
  const bool agrees = format::CheckDigest(format::FlatModel(conversion.model).model()).has_value();
  Ledger ledger(options);
  QTX_RETURN_IF_ERROR(annotate(conversion.model, ledger));
  if (agrees) QTX_RETURN_IF_ERROR(format::RecordAnnotations(conversion.model));
  conversion.ledger = ledger.Take();
  return conversion;
}

std::set<std::string> ValueNames(const format::Graph& graph) {
  std::set<std::string> names;
  for (const format::ValueInfo& input : graph.inputs) names.insert(input.name);
  for (const format::TensorData& data : graph.initializers) names.insert(data.name);
  for (const format::Node& node : graph.nodes)
    names.insert(node.outputs.begin(), node.outputs.end());
  names.erase("");
  return names;
}

Result<format::TensorType*> DeclareFloat(format::Model& model, const std::string& value) {
  format::ValueInfo* info = nullptr;
  for (auto* list : {&model.graph.inputs, &model.graph.outputs, &model.graph.values}) {
    for (format::ValueInfo& candidate : *list) {
      if (info == nullptr && candidate.name == value) info = &candidate;
    }
  }
  const format::TensorData* data = model.graph.FindInitializer(value);
  if (info == nullptr) {
    info = &model.graph.values.emplace_back();
    info->name = value;
  }
  if (!info->type) {
    info->type.emplace();
    info->type->elem_type = data == nullptr ? ElementType::kFloat : data->data_type;
    if (data != nullptr) info->type->shape = format::ToShape(data->dims);
  }
  if (info->type->elem_type == ElementType::kFloat) return &*info->type;
  return Error{ErrorCode::kUnsupported, "value '" + value + "'",
               "is " + std::string(format::Name(info->type->elem_type)) +
                   "; parameters and statistics annotate a FLOAT value"};
}

void FillShape(const format::Shape& shape, format::TensorType& type) {
  if (!type.shape) {
    type.shape = shape;
    return;
  }
  if (type.shape->size() != shape.size()) return;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!(*type.shape)[i].value && shape[i].value) (*type.shape)[i] = shape[i];
  }
}

void InferredSizes::Fill(const std::string& value, format::TensorType& type) {
  if (!inference_) inference_.emplace(model_);
  const format::ValueFacts* facts = inference_->Find(value);
  if (facts == nullptr || !facts->dims) return;
  format::Shape shape;
  for (const std::int64_t size : *facts->dims) {
    format::Dimension& dimension = shape.emplace_back();
    if (size >= 0)
      dimension.value = size;
    else
      dimension.symbol = inference_->Symbol(size);
  }
  FillShape(shape, type);
}

Result<void> CheckAxes(const std::vector<std::int64_t>& axes, const format::TensorType& type,
                       const std::string& field) {
  for (const std::int64_t axis : axes) {
    const auto at = type.shape ? format::NormalizeAxis(axis, std::ssize(*type.shape))
                               : Result<std::int64_t>(Error{});
    if (at.has_value() && (*type.shape)[static_cast<std::size_t>(*at)].value) continue;
    return Error{
        ErrorCode::kInvalid, field,
        "found axis " + std::to_string(axis) + ", whose size neither the table nor the model says"};
  }
  return {};
}

std::vector<const format::ValueInfo*> Described(const format::Model& model) {
  std::vector<const format::ValueInfo*> described;
  std::set<std::string_view> seen;
  for (const auto* list : {&model.graph.inputs, &model.graph.values, &model.graph.outputs}) {
    for (const format::ValueInfo& info : *list) {
      if (!info.type || (!info.type->quantization && !info.type->statistics)) continue;
      if (seen.insert(info.name).second) described.push_back(&info);
    }
  }
  return described;
}

Result<std::optional<Quantization>> AsInt8(const format::Model& model,
                                           const format::ValueInfo& info, Ledger& ledger) {
  QTX_ASSIGN_OR_RETURN(Quantization q, format::Resolve(model, *info.type, info.name));
  format::ValueInfo resolved = info;
  resolved.type->quantization = q;
  const ElementType storage = format::IsQuantized(info.type->elem_type)
                                  ? format::StorageOf(info.type->elem_type)
                                  : q.storage_type;
  if (std::string why = Obstacle(model, resolved, storage); !why.empty()) {
    QTX_RETURN_IF_ERROR(ledger.Lose("parameters", info.name, "quantization", std::move(why)));
    return std::optional<Quantization>();
  }
  if (storage == ElementType::kUint8) {
    q.offset = {format::OffsetAt(q, 0) - 128};
    ledger.Changed(info.name, "offset", "converted from UINT8 to INT8: reduced by 128");
  }
  return std::optional(std::move(q));
}

}  // namespace qtx::convert
