// From a graph of initializers to a GGUF file.
#include <algorithm>
#include <set>
#include <utility>

#include "errors.h"
#include "gguf/ggml_types.h"
#include "gguf/gguf.h"
#include "gguf/header_out.h"
#include "gguf/split.h"
#include "gguf/tensor_out.h"
#include "ledger.h"
#include "qtx/format/data_file.h"
#include "qtx/format/external_elements.h"

namespace qtx::convert {
namespace gguf {
namespace {

using format::Dims;
using format::Piece;
using format::TensorData;
using format::TensorType;

constexpr std::uint32_t kVersion = 3;
constexpr std::uint32_t kQuantizationVersion = 2;  // GGML_QNT_VERSION
constexpr std::size_t kMaxRank = 4;                // GGML_MAX_DIMS
constexpr std::size_t kMaxName = 63;               // GGML_MAX_NAME and its zero

std::int64_t SizeOf(const Piece& piece) {
  const auto* range = std::get_if<format::FileRange>(&piece);
  return range != nullptr ? range->size : std::ssize(std::get<std::string>(piece));
}

std::int64_t SizeOf(const std::vector<Piece>& pieces) {
  std::int64_t size = 0;
  for (const Piece& piece : pieces) size += SizeOf(piece);
  return size;
}

// A file as it grows.
class Pieces {
 public:
  void Add(Piece piece) {
    size_ += SizeOf(piece);
    list_.push_back(std::move(piece));
  }
  void Add(std::vector<Piece> pieces) {
    for (Piece& piece : pieces) Add(std::move(piece));
  }
  void FillTo(std::int64_t size) {
    if (size > size_) Add(std::string(static_cast<std::size_t>(size - size_), '\0'));
  }
  std::int64_t size() const { return size_; }
  std::vector<Piece> Take() { return std::move(list_); }

 private:
  std::vector<Piece> list_;
  std::int64_t size_ = 0;
};

// A tensor as it will be in the file.
struct TensorOut {
  TensorInfo info;
  std::vector<Piece> bytes;
};

class GgufWriter {
 public:
  GgufWriter(const format::Model& model, const Options& options)
      : model_(model),
        view_(format::ModelView::Indexed(model)),
        ledger_(options),
        data_(options.data) {}

  Result<Export> Run() {
    QTX_RETURN_IF_ERROR(ReadHeaders());
    CollectParameters();
    QTX_RETURN_IF_ERROR(headers_.empty() ? FromInitializers() : FromHeaders());
    Export result;
    const bool same = headers_.size() == 1 && !changed_;
    QTX_ASSIGN_OR_RETURN(result.content, same ? AsItWas() : Anew());
    result.ledger = ledger_.Take();
    return result;
  }

 private:
  Result<void> ReadHeaders();
  void CollectParameters();
  Result<void> FromHeaders();
  Result<void> FromInitializers();
  Result<void> AddTensor(TensorInfo info);
  Result<void> FindType(TensorInfo& info, const TensorData& data, const TensorType* declared,
                        TensorOut& out);
  Result<std::vector<Piece>> RecordsOf(const GgmlType& type, const Dims& dims,
                                       const TensorData& data, const TensorType& declared) const;
  Result<std::vector<Piece>> AsItWas();
  Result<std::vector<Piece>> Anew();
  EntryWriter Entries() const;

  const TensorType* TypeOfValue(const std::string& name) const {
    const format::ValueInfo* value = view_.FindValue(name);
    return value != nullptr && value->type ? &*value->type : nullptr;
  }

  // The elements as the model has them.
  Result<Piece> BytesOf(const TensorData& data) const {
    QTX_ASSIGN_OR_RETURN(const auto range, format::RangeOfElements(data, model_.folder));
    if (range) return Piece(*range);
    QTX_ASSIGN_OR_RETURN(const format::Tensor tensor, format::Decode(data, model_.folder));
    return Piece(
        std::string(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()));
  }

  // Records that were made, in the file of large tensors where there is one: it lives until the
  // GGUF file is written, and is kept by nobody.
  Result<Piece> Kept(std::string records) const {
    const auto size = std::ssize(records);
    if (data_ == nullptr) return Piece(std::move(records));
    format::Tensor tensor{format::ElementType::kUint8, {size}, std::nullopt, {}};
    const auto bytes = std::as_bytes(std::span(records));
    tensor.bytes.assign(bytes.begin(), bytes.end());
    QTX_ASSIGN_OR_RETURN(TensorData made, data_->Add("records", tensor));
    return made.raw_data ? Piece(*std::move(made.raw_data)) : Piece(std::move(records));
  }

  const format::Model& model_;
  const format::ModelView view_;
  Ledger ledger_;
  format::DataFile* const data_;
  std::vector<std::string> header_bytes_;
  std::vector<GgufFile> headers_;
  std::set<std::string_view> parameters_;  // initializers that are part of another's type
  std::vector<TensorOut> tensors_;
  bool changed_ = false;  // the header is no longer true
};

Result<void> GgufWriter::ReadHeaders() {
  for (std::size_t part = 1;; ++part) {
    const TensorData* data = view_.FindInitializer(HeaderName(part));
    if (data == nullptr) break;
    const std::string place = "initializer '" + data->name + "'";
    if (data->data_type != format::ElementType::kUint8)
      return Invalid(place, "expected the UINT8 bytes of a header");
    const auto tensor = format::Decode(*data, model_.folder);
    if (!tensor.has_value()) return At(place, tensor.error());
    header_bytes_.emplace_back(reinterpret_cast<const char*>(tensor->bytes.data()),
                               tensor->bytes.size());
  }
  for (const std::string& bytes : header_bytes_) {
    auto header = ParseGgufHeader(bytes);
    if (!header.has_value()) {
      return At("initializer '" + HeaderName(headers_.size() + 1) + "'", header.error());
    }
    headers_.push_back(*std::move(header));
  }
  return {};
}

void GgufWriter::CollectParameters() {
  for (const auto* list : {&model_.graph.inputs, &model_.graph.outputs, &model_.graph.values}) {
    for (const format::ValueInfo& value : *list) {
      if (!value.type || !value.type->quantization) continue;
      const format::Quantization& q = *value.type->quantization;
      parameters_.insert({q.scale_tensor, q.offset_tensor, q.code_book_tensor});
      for (const auto* levels : {&q.scale_levels, &q.base_levels}) {
        for (const format::BlockFactors& level : *levels) parameters_.insert(level.tensor);
      }
    }
  }
}

Result<void> GgufWriter::FromHeaders() {
  std::set<std::string_view> told;
  for (const GgufFile& header : headers_) {
    for (const TensorInfo& info : header.tensors) {
      told.insert(info.name);
      QTX_RETURN_IF_ERROR(AddTensor(info));
    }
  }
  for (const format::Node& node : model_.graph.nodes)
    told.insert(node.inputs.begin(), node.inputs.end());  // constants that go with the nodes
  for (const TensorData& data : model_.graph.initializers) {
    if (told.contains(data.name) || parameters_.contains(data.name) ||
        data.name.starts_with(kPrefix)) {
      continue;
    }
    ledger_.Dropped(data.name, "initializer", "the GGUF file that this was had none of that name");
  }
  if (!model_.graph.nodes.empty())
    ledger_.Dropped("model", "nodes", "they and their constants follow from the metadata");
  return {};
}

Result<void> GgufWriter::FromInitializers() {
  for (const TensorData& data : model_.graph.initializers) {
    if (parameters_.contains(data.name)) continue;
    const TensorType* declared = TypeOfValue(data.name);
    const auto shape =
        declared != nullptr && declared->shape ? format::FixedDims(*declared->shape) : std::nullopt;
    TensorInfo info;
    info.name = data.name;
    info.type = ~0U;
    info.dims = shape.value_or(data.dims);
    if (info.name.empty() || info.name.size() > kMaxName || info.dims.size() > kMaxRank) {
      return Unsupported("initializer '" + data.name + "'",
                         "GGUF has names of 1 to 63 bytes and tensors of at most 4 axes");
    }
    if (std::ranges::find(info.dims, 0) != info.dims.end())
      return Unsupported("initializer '" + data.name + "'", "has no elements; GGUF wants some");
    QTX_RETURN_IF_ERROR(AddTensor(std::move(info)));
  }
  if (tensors_.empty()) return Unsupported("model", "has no initializers, of which GGUF consists");
  if (model_.graph.nodes.empty()) return {};
  return ledger_.Lose("graph", "model", "nodes", "GGUF holds tensors and metadata, no graph");
}

Result<void> GgufWriter::AddTensor(TensorInfo info) {
  const std::string place = "initializer '" + info.name + "'";
  const TensorData* data = view_.FindInitializer(info.name);
  if (data == nullptr)
    return Invalid(place, "is missing, the header of the GGUF file names a tensor so");
  const TensorType* declared = TypeOfValue(info.name);
  const bool is_bytes = declared == nullptr || !format::IsQuantized(declared->elem_type);
  const GgmlType* type = FindGgmlType(info.type);
  TensorOut out;
  const bool opaque = is_bytes && data->data_type == format::ElementType::kUint8 &&
                      !headers_.empty() && data->dims.size() == 1 &&
                      (info.size < 0 || data->dims[0] == info.size);
  Result<void> found;
  if (opaque || (type != nullptr && IsAsInFile(*type, info.dims, *data, declared))) {
    auto bytes = BytesOf(*data);
    if (!bytes.has_value()) return At(place, bytes.error());
    out.bytes = {*std::move(bytes)};
  } else {
    found = FindType(info, *data, declared, out);
  }
  if (!found.has_value()) return At(place, found.error());
  info.size = SizeOf(out.bytes);
  out.info = std::move(info);
  tensors_.push_back(std::move(out));
  return {};
}

Result<std::vector<Piece>> GgufWriter::RecordsOf(const GgmlType& type, const Dims& dims,
                                                 const TensorData& data,
                                                 const TensorType& declared) const {
  std::vector<Piece> pieces;
  const auto put = [&](std::string records) -> Result<void> {
    QTX_ASSIGN_OR_RETURN(Piece kept, Kept(std::move(records)));
    pieces.push_back(std::move(kept));
    return {};
  };
  const auto encoded = EncodeTensor(type, dims, view_, data, declared, put);
  if (!encoded.has_value()) return At(std::string(type.name), encoded.error());
  return pieces;
}

// Encodes the tensor as the type of `info`, or else as the first type that holds it, which then is
// that of `info`.
Result<void> GgufWriter::FindType(TensorInfo& info, const TensorData& data,
                                  const TensorType* declared, TensorOut& out) {
  const GgmlType* own = FindGgmlType(info.type);
  std::optional<Error> first;
  Dims dims = data.dims;
  if (declared != nullptr && declared->shape)
    dims = format::FixedDims(*declared->shape).value_or(dims);
  const auto attempt = [&](const GgmlType& type) -> Result<bool> {
    if (IsAsInFile(type, dims, data, declared)) {
      QTX_ASSIGN_OR_RETURN(Piece bytes, BytesOf(data));
      out.bytes = {std::move(bytes)};
      return true;
    }
    const bool encoded = declared != nullptr && declared->quantization &&
                         declared->quantization->encoding.has_value();
    if (encoded || declared == nullptr || !CouldHold(type, dims, *declared)) return false;
    QTX_ASSIGN_OR_RETURN(out.bytes, RecordsOf(type, dims, data, *declared));
    return true;
  };
  std::vector<const GgmlType*> types;
  if (own != nullptr) types.push_back(own);
  for (const GgmlType& type : GgmlTypes()) types.push_back(&type);
  for (const GgmlType* type : types) {
    const auto held = attempt(*type);
    if (!held.has_value() && !first) first = held.error();
    if (!held.has_value() || !*held) continue;
    if (type != own || dims != info.dims) changed_ = true;
    info.type = type->id;
    info.dims = dims;
    return {};
  }
  if (first) return *std::move(first);
  return Unsupported(
      declared != nullptr ? format::ToString(*declared) : std::string(format::Name(data.data_type)),
      "no type of ggml holds it exactly");
}

// The header of the one file there was, and each tensor where it says.
Result<std::vector<Piece>> GgufWriter::AsItWas() {
  Pieces file;
  file.Add(header_bytes_[0]);
  std::vector<TensorOut*> order;
  for (TensorOut& tensor : tensors_) order.push_back(&tensor);
  std::ranges::stable_sort(order, {}, [](const TensorOut* out) { return out->info.offset; });
  const std::int64_t begin = file.size();
  const auto fill = [&](std::int64_t to) -> Result<void> {
    if (const TensorData* gap = view_.FindInitializer(GapName(1, file.size()))) {
      QTX_ASSIGN_OR_RETURN(Piece bytes, BytesOf(*gap));
      file.Add(std::move(bytes));
    } else {
      file.FillTo(to);
    }
    return {};
  };
  for (TensorOut* tensor : order) {
    const std::int64_t at = begin + tensor->info.offset;
    QTX_RETURN_IF_ERROR(fill(at));
    if (file.size() != at) {
      return Invalid("initializer '" + tensor->info.name + "'",
                     "lies at byte " + std::to_string(at) + " by the header, where byte " +
                         std::to_string(file.size()) + " is next");
    }
    file.Add(std::move(tensor->bytes));
  }
  QTX_RETURN_IF_ERROR(
      fill(order.empty() ? file.size() : AlignUp(file.size(), headers_[0].alignment)));
  return file.Take();
}

EntryWriter GgufWriter::Entries() const {
  EntryWriter entries;
  std::set<std::string_view> keys;
  for (const GgufFile& header : headers_) {
    for (const Entry& entry : header.metadata) {
      if (headers_.size() > 1 && IsOfSplit(entry.key)) continue;
      if (keys.insert(entry.key).second) entries.Add(entry);
    }
  }
  if (!headers_.empty()) return entries;
  entries.AddText("general.architecture", "onnx");
  if (!model_.graph.name.empty()) entries.AddText("general.name", model_.graph.name);
  entries.AddUint32("general.quantization_version", kQuantizationVersion);
  return entries;
}

// A new header, and the tensors one after the other.
Result<std::vector<Piece>> GgufWriter::Anew() {
  const std::int64_t alignment = headers_.empty() ? kDefaultAlignment : headers_[0].alignment;
  std::vector<TensorInfo> infos;
  std::int64_t offset = 0;
  for (TensorOut& tensor : tensors_) {
    tensor.info.offset = offset;
    offset = AlignUp(offset + tensor.info.size, alignment);
    infos.push_back(tensor.info);
  }
  Pieces file;
  file.Add(
      WriteHeader(headers_.empty() ? kVersion : headers_[0].version, Entries(), infos, alignment));
  for (TensorOut& tensor : tensors_) {
    file.Add(std::move(tensor.bytes));
    file.FillTo(AlignUp(file.size(), alignment));
  }
  if (headers_.size() > 1) {
    ledger_.Changed("model", "split",
                    std::to_string(headers_.size()) + " parts are written as one file");
  }
  return file.Take();
}

}  // namespace
}  // namespace gguf

Result<Export> WriteGguf(const format::Model& model, const Options& options) {
  return gguf::GgufWriter(model, options).Run();
}

}  // namespace qtx::convert
