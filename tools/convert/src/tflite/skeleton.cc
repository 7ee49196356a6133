#include "tflite/skeleton.h"

#include <algorithm>
#include <map>
#include <set>

#include "base64.h"
#include "tflite/metadata.h"
#include "tflite/pack.h"
#include "tflite/tensor_out.h"

namespace qtx::convert {
namespace {

using schema::TensorType;

const schema::Model& Root(const TfliteFile& file) { return *schema::GetModel(file.aligned.data()); }

template <typename... Vectors>
std::size_t Bytes(const Vectors*... vectors) {
  return ((vectors == nullptr ? 0 : vectors->size() * sizeof(*vectors->data())) + ... + 0U);
}

std::size_t BytesOf(const schema::Tensor& tensor) {
  const auto* q = tensor.quantization();
  std::size_t bytes = Bytes(tensor.name(), tensor.shape(), tensor.shape_signature());
  if (q != nullptr) bytes += Bytes(q->min(), q->max(), q->scale(), q->zero_point());
  return bytes;
}

std::size_t BytesOf(const schema::Operator& op) {
  std::size_t bytes = Bytes(op.inputs(), op.outputs(), op.intermediates(),
                            op.mutating_variable_inputs(), op.custom_options());
  if (const auto* reshape = op.builtin_options_as_ReshapeOptions()) {
    bytes += Bytes(reshape->new_shape());
  }
  if (const auto* squeeze = op.builtin_options_as_SqueezeOptions()) {
    bytes += Bytes(squeeze->squeeze_dims());
  }
  return bytes;
}

// Many tables may share one vector, which unpacking copies for each.
bool UnpacksWithin(const schema::Model& model, std::size_t limit) {
  std::size_t bytes = 0;
  const auto add = [&](const auto* tables, auto size) {
    for (flatbuffers::uoffset_t i = 0; tables != nullptr && i < tables->size(); ++i) {
      bytes += size(*tables->Get(i));
      if (bytes > limit) return;
    }
  };
  const auto bytes_of = [](const auto& table) { return BytesOf(table); };
  add(model.buffers(), [](const schema::Buffer& buffer) { return Bytes(buffer.data()); });
  add(model.subgraphs(), [&](const schema::SubGraph& graph) {
    add(graph.tensors(), bytes_of);
    add(graph.operators(), bytes_of);
    return Bytes(graph.name(), graph.inputs(), graph.outputs());
  });
  add(model.operator_codes(),
      [](const schema::OperatorCode& code) { return Bytes(code.custom_code()); });
  add(model.metadata(), [](const schema::Metadata& entry) { return Bytes(entry.name()); });
  add(model.signature_defs(), [&](const schema::SignatureDef& signature) {
    const auto name = [](const schema::TensorMap& map) { return Bytes(map.name()); };
    add(signature.inputs(), name);
    add(signature.outputs(), name);
    return Bytes(signature.signature_key(), signature.tag());
  });
  return bytes <= limit;
}

// Plain integers are shapes, axes and pads, without which the graph cannot be read.
bool IsData(const TfliteTensor& tensor) {
  const bool integer = tensor.type == TensorType::INT32 || tensor.type == TensorType::INT64;
  return !integer || (tensor.quantization != nullptr && tensor.quantization->scale() != nullptr &&
                      tensor.quantization->scale()->size() > 0);
}

// Buffers whose every tensor is an initializer of the graph.
std::set<std::uint32_t> HeldBuffers(const TfliteFile& file, const TfliteImport& import) {
  std::set<int> tensors;
  for (const TensorForm& form : import.forms) tensors.insert(form.tensor);
  std::set<std::uint32_t> held, kept = {0};
  const auto& source = *Root(file).subgraphs()->Get(0)->tensors();
  for (std::size_t i = 0; i < file.tensors.size(); ++i) {
    const TfliteTensor& tensor = file.tensors[i];
    if (!tensor.constant()) continue;
    const bool holds = tensors.contains(static_cast<int>(i)) && IsData(tensor);
    const auto* entry = source.Get(static_cast<flatbuffers::uoffset_t>(i));
    (holds ? held : kept).insert(entry->buffer());
  }
  const auto* metadata = Root(file).metadata();
  for (flatbuffers::uoffset_t i = 0; metadata != nullptr && i < metadata->size(); ++i) {
    kept.insert(metadata->Get(i)->buffer());
  }
  std::erase_if(held, [&](std::uint32_t buffer) { return kept.contains(buffer); });
  return held;
}

// The skeleton, with zeros for the constants that the graph holds.  nullptr if it is damaged or
// needs more zeros than the graph has bytes.
std::unique_ptr<TfliteFile> ZeroFilled(const format::Model& model, const std::string& bytes) {
  auto skeleton = TfliteFile::Open(bytes);
  if (!skeleton.has_value() || !UnpacksWithin(Root(**skeleton), bytes.size())) return nullptr;
  std::uint64_t room = 0;  // twice: a bias of 64 bits is held in 32
  for (const format::TensorData& data : model.graph.initializers) {
    room += 2 * data.wire.size();
    if (data.raw_data) room += 2 * static_cast<std::uint64_t>(data.raw_data->size);
  }
  const std::unique_ptr<schema::ModelT> tables = UnpackTflite(Root(**skeleton));
  for (const auto& buffer : tables->buffers) {
    if (!buffer->data.empty() || buffer->size == 0) continue;
    if (buffer->size > room) return nullptr;
    room -= buffer->size;
    buffer->data.resize(buffer->size);
    buffer->size = 0;
  }
  const auto filled = PackTflite(*tables);
  if (!filled.has_value()) return nullptr;
  auto file = TfliteFile::Open(*filled);
  return file.has_value() ? *std::move(file) : nullptr;
}

// The graph's type of `form`, in the tensor's own layout.
Result<format::TensorType> OwnType(const format::ModelView& model, const TensorForm& form) {
  QTX_ASSIGN_OR_RETURN(format::TensorType type, TypeIn(model, form.name));
  if (form.perm.empty()) return type;
  if (!type.shape || type.shape->size() != form.perm.size() || !format::FixedDims(*type.shape)) {
    return Error{ErrorCode::kUnsupported, "'" + form.name + "'", "another rank than the file's"};
  }
  return Permute(std::move(type), Inverse(form.perm));
}

class Filler {
 public:
  Filler(const format::Model& model, const TfliteFile& skeleton, const TfliteImport& import)
      : model_(model),
        skeleton_(skeleton),
        import_(import),
        tables_(UnpackTflite(Root(skeleton))) {}

  Result<std::string> Fill() {
    for (const TensorForm& form : import_.forms) QTX_RETURN_IF_ERROR(FillForm(form));
    tables_->description = model_.doc_string;
    SetProperties(model_.metadata, *tables_);
    if (!import_.conversion.model.graph.name.empty() && !tables_->subgraphs[0]->name.empty()) {
      tables_->subgraphs[0]->name = model_.graph.name;
    }
    return PackTflite(*tables_);
  }

 private:
  Result<void> FillForm(const TensorForm& form) {
    const auto index = static_cast<std::size_t>(form.tensor);
    // A state has one more dimension in the graph, for the direction of ONNX's LSTM.
    if (skeleton_.tensors[index].variable) return {};
    schema::TensorT& tensor = *tables_->subgraphs[0]->tensors[index];
    QTX_ASSIGN_OR_RETURN(const format::TensorType type, OwnType(model_, form));
    // Keeps the file's other properties where the graph did not change.
    if (type != import_.types[index]) QTX_RETURN_IF_ERROR(SetTensorType(type, tensor));
    if (!skeleton_.tensors[index].constant()) return {};
    QTX_ASSIGN_OR_RETURN(format::Tensor constant, format::LoadInitializer(model_, form.name));
    if (!form.perm.empty()) constant = Permute(constant, Inverse(form.perm));
    QTX_ASSIGN_OR_RETURN(tables_->buffers[tensor.buffer]->data, BufferBytes(constant, tensor.type));
    return {};
  }

  const format::Model& model_;
  const TfliteFile& skeleton_;
  const TfliteImport& import_;
  std::unique_ptr<schema::ModelT> tables_;
};

}  // namespace

void AddSkeleton(const TfliteFile& file, TfliteImport& import) {
  LedgerEntry note{"model", "skeleton", LedgerEntry::Fate::kKept, ""};
  if (UnpacksWithin(Root(file), file.aligned.size())) {
    const std::unique_ptr<schema::ModelT> tables = UnpackTflite(Root(file));
    for (const std::uint32_t held : HeldBuffers(file, import)) {
      schema::BufferT& buffer = *tables->buffers[held];
      buffer.size = buffer.data.size();
      buffer.data.clear();
    }
    if (const auto bytes = PackTflite(*tables); bytes.has_value()) {
      import.conversion.model.metadata.emplace_back(kSkeletonKey, ToBase64(*bytes));
      import.conversion.ledger.push_back(std::move(note));
      return;
    }
  }
  note.fate = LedgerEntry::Fate::kDropped;
  note.why = "its tables are damaged, or larger unshared than the file";
  import.conversion.ledger.push_back(std::move(note));
}

const std::string* FindSkeleton(const format::Model& model) {
  const auto entry =
      std::ranges::find(model.metadata, kSkeletonKey, &format::Metadata::value_type::first);
  return entry == model.metadata.end() ? nullptr : &entry->second;
}

std::optional<std::string> FillSkeleton(const format::Model& model) {
  const std::string* text = FindSkeleton(model);
  if (text == nullptr) return std::nullopt;
  const auto bytes = FromBase64(*text);
  if (!bytes.has_value()) return std::nullopt;
  const std::unique_ptr<TfliteFile> skeleton = ZeroFilled(model, *bytes);
  if (skeleton == nullptr) return std::nullopt;
  // What reading it loses was permitted when the model was made.
  const auto import = ImportTflite(*skeleton, {.all_losses = true});
  if (!import.has_value()) return std::nullopt;
  auto filled = Filler(model, *skeleton, *import).Fill();
  return filled.has_value() ? std::optional(*std::move(filled)) : std::nullopt;
}

}  // namespace qtx::convert
