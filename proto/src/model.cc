#include "qtx/format/model.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <filesystem>
#include <tuple>

#include "external_data.h"
#include "levels.h"
#include "qtx/format/encoding.h"
#include "qtx/format/limits.h"
#include "save.h"
#include "wire.h"
#include "wire_large.h"

namespace qtx::format {
namespace {

template <typename Named>
const Named* FindNamed(const std::vector<Named>& list, std::string_view name) {
  const auto found = std::ranges::find(list, name, &Named::name);
  return found == list.end() ? nullptr : &*found;
}

Error Mismatch(const std::string& what, const std::string& found, const std::string& expected) {
  return {ErrorCode::kInvalid, what, "found " + found + ", expected " + expected};
}

std::string PlaceOf(std::string_view initializer) {
  return "graph.initializer '" + std::string(initializer) + "'";
}

Result<const TensorData*> Named(const ModelView& view, std::string_view name) {
  const TensorData* data = view.FindInitializer(name);
  if (data != nullptr) return data;
  return Error{ErrorCode::kInvalid, PlaceOf(name), "there is no such initializer"};
}

Result<Tensor> DecodeNamed(const ModelView& view, std::string_view name) {
  QTX_ASSIGN_OR_RETURN(const TensorData* data, Named(view, name));
  auto tensor = Decode(*data, view.model().folder);
  if (!tensor.has_value()) return At(PlaceOf(name), tensor.error());
  return tensor;
}

// The packed bits of a BIPOLAR1Q initializer come as UINT8 of ceil(n / 8) elements.
Result<void> MatchStorage(const TensorType& type, const Dims& dims, const TensorData& data) {
  const ElementType storage = StorageOf(type.elem_type);
  const bool bipolar = storage == ElementType::kBipolar1;
  if (data.data_type != (bipolar ? ElementType::kUint8 : storage)) {
    return Mismatch("data_type", std::string(Name(data.data_type)), std::string(Name(storage)));
  }
  if (!bipolar) {
    if (data.dims != dims) return Mismatch("dims", ToString(data.dims), ToString(dims));
    return {};
  }
  QTX_ASSIGN_OR_RETURN(const std::int64_t count, ElementCount(std::span<const std::int64_t>(dims)));
  QTX_ASSIGN_OR_RETURN(const std::int64_t size, PackedBytes(storage, count));
  const Dims packed = {size};
  if (data.dims == packed) return {};
  return Mismatch("dims", ToString(data.dims), ToString(packed) + ", eight elements to a byte");
}

Result<void> MatchParameters(const Quantization& q, const Dims& dims) {
  QTX_ASSIGN_OR_RETURN(const Dims parameters, ParameterDims(q, dims));
  QTX_ASSIGN_OR_RETURN(const std::int64_t count,
                       ElementCount(std::span<const std::int64_t>(parameters)));
  if (static_cast<std::int64_t>(q.scale.size()) != count) {
    return Mismatch("quantization.scale", std::to_string(q.scale.size()) + " values",
                    std::to_string(count));
  }
  if (!q.offset.empty() && q.offset.size() != q.scale.size()) {
    return Mismatch("quantization.offset", std::to_string(q.offset.size()) + " values",
                    std::to_string(q.scale.size()));
  }
  return {};
}

// quantization.C11.
Result<std::vector<std::int32_t>> OffsetsIn(const Tensor& tensor) {
  if (!IsIntegerStorage(tensor.elem_type) || BitWidth(tensor.elem_type) > 32) {
    return Mismatch("quantization.offset_tensor", std::string(Name(tensor.elem_type)),
                    "an integer type of at most 32 bits");
  }
  std::vector<std::int32_t> offsets = UnpackInt32(tensor);
  if (tensor.elem_type != ElementType::kUint32) return offsets;
  // A UINT32 of 2^31 or more has wrapped to a negative int32.
  const auto wrapped =
      std::ranges::find_if(offsets, [](std::int32_t offset) { return offset < 0; });
  if (wrapped == offsets.end()) return offsets;
  return Mismatch("quantization.offset_tensor",
                  std::to_string(static_cast<std::uint32_t>(*wrapped)),
                  "at most 2147483647, the greatest stored value of any storage");
}

const TensorType* QuantizedTypeOf(const ModelView& view, std::string_view name) {
  const ValueInfo* value = view.FindValue(name);
  const bool quantized = value != nullptr && value->type && IsQuantized(value->type->elem_type);
  return quantized ? &*value->type : nullptr;
}

// quantization.C19: its size is known before anything of it is read.
Result<std::vector<float>> ReadCodeBook(const ModelView& view, const std::string& name) {
  constexpr std::int64_t kMostCodes = 256;  // of a storage of 8 bits
  QTX_ASSIGN_OR_RETURN(const TensorData* data, Named(view, name));
  const TensorType* quantized = QuantizedTypeOf(view, name);
  const ElementType type = quantized != nullptr ? quantized->elem_type : data->data_type;
  const std::string field = "quantization.code_book_tensor";
  if (type != ElementType::kFloat) return Mismatch(field, std::string(Name(type)), "FLOAT");
  const auto count = ElementCount(std::span<const std::int64_t>(data->dims));
  if (!count.has_value() || *count > kMostCodes) {
    return Mismatch(field, "shape " + ToString(data->dims), "at most 256 values");
  }
  QTX_ASSIGN_OR_RETURN(const Tensor tensor, DecodeNamed(view, name));
  const auto values = tensor.As<float>();
  return std::vector<float>(values.begin(), values.end());
}

Result<std::vector<float>> CodeBookIn(const ModelView& view, const std::string& name) {
  auto book = ReadCodeBook(view, name);
  if (book.has_value()) return book;
  Error error = book.error();
  error.clause = "quantization.C19";
  return error;
}

std::string FolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

Result<std::vector<Piece>> PiecesOf(const Model& model) {
  QTX_ASSIGN_OR_RETURN(std::string skeleton, wire::SerializeModel(model));
  return wire::PutBackLargeData(std::move(skeleton), model.graph);
}

std::int64_t SizeOf(const std::vector<Piece>& pieces) {
  std::int64_t size = 0;
  for (const Piece& piece : pieces) {
    const auto* range = std::get_if<FileRange>(&piece);
    size += range != nullptr ? range->size
                             : static_cast<std::int64_t>(std::get<std::string>(piece).size());
  }
  return size;
}

// The parameters of an initializer of a quantized type, once storage, shape and counts agree.
Result<Quantization> MatchInitializer(const ModelView& view, const TensorData& data,
                                      const TensorType& type) {
  const auto dims = type.shape ? FixedDims(*type.shape) : std::nullopt;
  if (!dims || !type.quantization) {
    return Error{ErrorCode::kInvalid, "", "expected a type with a fixed shape and a quantization"};
  }
  if (IsEncoded(type)) {
    QTX_ASSIGN_OR_RETURN(const RecordLayout layout, RecordLayout::Make(type));
    QTX_RETURN_IF_ERROR(layout.CheckCarrier(data));
  } else {
    QTX_RETURN_IF_ERROR(MatchStorage(type, *dims, data));
  }
  QTX_ASSIGN_OR_RETURN(Quantization q, Resolve(view, type, data.name));
  QTX_RETURN_IF_ERROR(MatchParameters(q, *dims));
  return q;
}

}  // namespace

// Not defaulted in the class, where Graph is incomplete.
// Numbers by their bits: a NaN that nothing reads is the same NaN.
bool Attribute::operator==(const Attribute& other) const {
  const auto same_bits = [](float a, float b) {
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
  };
  return same_bits(f, other.f) && std::ranges::equal(floats, other.floats, same_bits) &&
         std::tie(name, type, i, s, t, ints, strings, graphs, unknown_fields) ==
             std::tie(other.name, other.type, other.i, other.s, other.t, other.ints, other.strings,
                      other.graphs, other.unknown_fields);
}

Attribute Attribute::Int(std::string name, std::int64_t value) {
  Attribute attribute;
  attribute.name = std::move(name);
  attribute.type = AttributeType::kInt;
  attribute.i = value;
  return attribute;
}

Attribute Attribute::Float(std::string name, float value) {
  Attribute attribute;
  attribute.name = std::move(name);
  attribute.type = AttributeType::kFloat;
  attribute.f = value;
  return attribute;
}

Attribute Attribute::String(std::string name, std::string value) {
  Attribute attribute;
  attribute.name = std::move(name);
  attribute.type = AttributeType::kString;
  attribute.s = std::move(value);
  return attribute;
}

Attribute Attribute::Ints(std::string name, std::vector<std::int64_t> value) {
  Attribute attribute;
  attribute.name = std::move(name);
  attribute.type = AttributeType::kInts;
  attribute.ints = std::move(value);
  return attribute;
}

Attribute Attribute::Floats(std::string name, std::vector<float> value) {
  Attribute attribute;
  attribute.name = std::move(name);
  attribute.type = AttributeType::kFloats;
  attribute.floats = std::move(value);
  return attribute;
}

const Attribute* Node::Find(std::string_view attribute) const {
  return FindNamed(attributes, attribute);
}

std::int64_t Node::IntOr(std::string_view attribute, std::int64_t fallback) const {
  const Attribute* found = Find(attribute);
  return found == nullptr ? fallback : found->i;
}

float Node::FloatOr(std::string_view attribute, float fallback) const {
  const Attribute* found = Find(attribute);
  return found == nullptr ? fallback : found->f;
}

std::string Node::StringOr(std::string_view attribute, std::string fallback) const {
  const Attribute* found = Find(attribute);
  return found == nullptr ? std::move(fallback) : found->s;
}

std::vector<std::int64_t> Node::IntsOr(std::string_view attribute,
                                       std::vector<std::int64_t> fallback) const {
  const Attribute* found = Find(attribute);
  return found == nullptr ? std::move(fallback) : found->ints;
}

const ValueInfo* Graph::FindValue(std::string_view value) const {
  for (const auto* list : {&inputs, &outputs, &values}) {
    if (const ValueInfo* found = FindNamed(*list, value)) return found;
  }
  return nullptr;
}

const TensorData* Graph::FindInitializer(std::string_view initializer) const {
  return FindNamed(initializers, initializer);
}

ModelView ModelView::Indexed(const Model& model) {
  ModelView view(model);
  view.indexed_ = true;
  const Graph& graph = model.graph;
  for (const auto* list : {&graph.inputs, &graph.outputs, &graph.values}) {
    for (const ValueInfo& value : *list) view.values_.emplace(value.name, &value);
  }
  for (const TensorData& data : graph.initializers) view.initializers_.emplace(data.name, &data);
  return view;
}

const ValueInfo* ModelView::FindValue(std::string_view name) const {
  if (!indexed_) return model_->graph.FindValue(name);
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : found->second;
}

const TensorData* ModelView::FindInitializer(std::string_view name) const {
  if (!indexed_) return model_->graph.FindInitializer(name);
  const auto found = initializers_.find(name);
  return found == initializers_.end() ? nullptr : found->second;
}

Result<Model> Model::Load(const std::string& path) {
  QTX_ASSIGN_OR_RETURN(const FileBytes bytes,
                       FileBytes::Open(path, kMaxModelBytes - 1, wire::CheckModelHead));
  return Load(bytes, path);
}

Result<Model> Model::Load(const FileBytes& bytes, const std::string& path) {
  wire::Skeleton skeleton;
  if (bytes.mapped()) {
    auto found = wire::LeaveOutLargeData(bytes.view(), path);
    if (!found.has_value()) return At(path, found.error());
    skeleton = *std::move(found);
  }
  QTX_ASSIGN_OR_RETURN(Model model, Parse(bytes.mapped() ? skeleton.bytes : bytes.view(), path));
  for (std::size_t i = 0; i < skeleton.raw.size(); ++i)
    model.graph.initializers[i].raw_data = skeleton.raw[i];
  model.folder = FolderOf(path);
  return model;
}

Result<Model> Model::Parse(std::string_view bytes, const std::string& where) {
  if (bytes.empty()) {
    return Error{ErrorCode::kInvalid, where, "the file is empty, expected an ONNX model"};
  }
  if (bytes.size() >= static_cast<std::size_t>(kMaxModelBytes)) {
    return Error{ErrorCode::kTooLarge, where, "expected less than 2 GiB"};
  }
  auto model = wire::ParseModel(bytes);
  if (!model.has_value()) return At(where, model.error());
  return model;
}

Result<std::string> Model::Serialize() const {
  QTX_ASSIGN_OR_RETURN(const std::vector<Piece> pieces, PiecesOf(*this));
  std::string bytes;
  for (const Piece& piece : pieces) {
    const auto* range = std::get_if<FileRange>(&piece);
    if (range == nullptr) {
      bytes += std::get<std::string>(piece);
      continue;
    }
    bytes.resize(bytes.size() + static_cast<std::size_t>(range->size));
    const auto end =
        std::as_writable_bytes(std::span(bytes)).last(static_cast<std::size_t>(range->size));
    QTX_RETURN_IF_ERROR(ReadRange(*range, 0, end));
  }
  return bytes;
}

Result<void> Model::Save(const std::string& path, const WriteProgress& progress) const {
  return SaveWith(*this, path, {}, progress);
}

Result<void> SaveWith(const Model& model, const std::string& path, const MadeData& made,
                      const WriteProgress& progress) {
  auto pieces = PiecesOf(model);
  if (!pieces.has_value()) return At(path, pieces.error());
  QTX_ASSIGN_OR_RETURN(const std::vector<FileCopy> copies,
                       ExternalFiles(model, path, made.location));
  std::int64_t before = 0, total = SizeOf(*pieces);
  for (const FileCopy& copy : copies) total += copy.from.size;
  const WriteProgress all = [&](std::int64_t done, std::int64_t) {
    if (progress) progress(before + done, total);
  };
  for (const FileCopy& copy : copies) {
    QTX_ASSIGN_OR_RETURN(const OutputFolder folder, OutputFolder::Make(FolderOf(copy.to)));
    const Piece whole = copy.from;
    if (const auto written = WriteNewFile(copy.to, std::span(&whole, 1), all);
        !written.has_value()) {
      // Another process may have written the same there.
      QTX_ASSIGN_OR_RETURN(const std::vector<FileCopy> missing,
                           ExternalFiles(model, path, made.location));
      if (std::ranges::find(missing, copy.to, &FileCopy::to) != missing.end())
        return written.error();
    }
    before += copy.from.size;
  }
  if (made.file == nullptr) return WriteFileAtomically(path, *pieces, all);
  // Both are written before one of them replaces a file that the other one belongs to.
  QTX_ASSIGN_OR_RETURN(NewFile file, NewFile::Create(path));
  QTX_RETURN_IF_ERROR(file.Append(*pieces, all));
  QTX_RETURN_IF_ERROR(made.file->Keep(true));
  return file.Keep(true);
}

std::int64_t Model::OpsetVersion(std::string_view op_domain) const {
  for (const OpsetImport& import : opset_imports) {
    const bool default_domain = op_domain.empty() && import.domain == "ai.onnx";
    if (import.domain == op_domain || default_domain) return import.version;
  }
  return 0;
}

Result<Quantization> Resolve(const ModelView& view, const Quantization& q) {
  Quantization resolved = q;
  if (!q.scale_tensor.empty()) {
    QTX_ASSIGN_OR_RETURN(const Tensor scale, DecodeNamed(view, q.scale_tensor));
    if (scale.elem_type != ElementType::kFloat) {
      return Mismatch("quantization.scale_tensor", std::string(Name(scale.elem_type)), "FLOAT");
    }
    const auto values = scale.As<float>();
    resolved.scale.assign(values.begin(), values.end());
    resolved.scale_tensor.clear();
  }
  if (!q.offset_tensor.empty()) {
    QTX_ASSIGN_OR_RETURN(const Tensor offset, DecodeNamed(view, q.offset_tensor));
    QTX_ASSIGN_OR_RETURN(resolved.offset, OffsetsIn(offset));
    resolved.offset_tensor.clear();
  }
  if (!q.code_book_tensor.empty()) {
    QTX_ASSIGN_OR_RETURN(resolved.code_book, CodeBookIn(view, q.code_book_tensor));
    resolved.code_book_tensor.clear();
  }
  return resolved;
}

Result<Quantization> Resolve(const ModelView& view, const TensorType& type) {
  return Resolve(view, type, "");
}

Result<Quantization> Resolve(const ModelView& view, const TensorType& type, std::string_view name) {
  QTX_ASSIGN_OR_RETURN(Quantization resolved, Resolve(view, *type.quantization));
  resolved.encoding.reset();
  if (!HasLevels(*type.quantization)) return resolved;
  if (const auto fault = MultiplyLevels(view, type, name, &resolved)) {
    return Error{ErrorCode::kInvalid, "quantization." + fault->field, fault->message};
  }
  return resolved;
}

Result<Factors> FactorsOf(const ModelView& view, const TensorType& type, std::string_view name) {
  QTX_ASSIGN_OR_RETURN(const Quantization resolved, Resolve(view, type, name));
  Factors factors;
  if (const auto fault = SplitLevels(view, type, name, resolved, &factors)) {
    return Error{ErrorCode::kInvalid, "quantization." + fault->field, fault->message};
  }
  return factors;
}

namespace {

// The elements of an initializer in the storage of `type`.
Result<Tensor> DecodeRecords(const ModelView& view, std::string_view name, const TensorType& type) {
  QTX_ASSIGN_OR_RETURN(const TensorData* data, Named(view, name));
  auto layout = RecordLayout::Make(type);
  if (!layout.has_value()) return At(PlaceOf(name) + ": quantization", layout.error());
  auto tensor = layout->Decode(*layout->Find(EncodedRole::kCode), *data, view.model().folder);
  if (!tensor.has_value()) return At(PlaceOf(name), tensor.error());
  return tensor;
}

}  // namespace

Result<Tensor> LoadInitializer(const ModelView& view, std::string_view name) {
  const TensorType* type = QuantizedTypeOf(view, name);
  const bool encoded = type != nullptr && IsEncoded(*type);
  QTX_ASSIGN_OR_RETURN(Tensor tensor,
                       encoded ? DecodeRecords(view, name, *type) : DecodeNamed(view, name));
  if (type == nullptr) return tensor;
  auto q = MatchInitializer(view, *view.FindInitializer(name), *type);
  if (!q.has_value()) return At(PlaceOf(name), q.error());
  tensor.elem_type = type->elem_type;
  tensor.dims = *FixedDims(*type->shape);
  tensor.quantization = *std::move(q);
  return tensor;
}

Result<void> CheckInitializer(const ModelView& view, std::string_view name) {
  QTX_ASSIGN_OR_RETURN(const TensorData* data, Named(view, name));
  auto checked = CheckCarrier(*data, view.model().folder);
  const TensorType* type = QuantizedTypeOf(view, name);
  if (checked.has_value() && type != nullptr) {
    const auto q = MatchInitializer(view, *data, *type);
    if (!q.has_value()) return At(PlaceOf(name), q.error());
  }
  if (!checked.has_value()) return At(PlaceOf(name), checked.error());
  return {};
}

}  // namespace qtx::format
