#include "tflite/pack.h"

namespace qtx::convert {
namespace {

// Offsets have 31 bits; everything except buffers of constants is small.
constexpr std::size_t kMaxConstants = (std::size_t{1} << 31) - (std::size_t{1} << 28);

// A file may have a union's type without a value, which Pack would dereference: gives it a default
// value.
template <typename Union>
void Complete(Union& value) {
  if (static_cast<int>(value.type) == 0 || value.value != nullptr) return;
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(flatbuffers::Offset<void>(builder.EndTable(builder.StartTable())));
  const void* empty = flatbuffers::GetRoot<flatbuffers::Table>(builder.GetBufferPointer());
  value.value = Union::UnPack(empty, value.type, nullptr);
}

void Complete(schema::TensorT& tensor) {
  if (tensor.quantization != nullptr) Complete(tensor.quantization->details);
  if (tensor.sparsity == nullptr) return;
  for (const auto& dimension : tensor.sparsity->dim_metadata) {
    Complete(dimension->array_segments);
    Complete(dimension->array_indices);
  }
}

}  // namespace

std::unique_ptr<schema::ModelT> UnpackTflite(const schema::Model& model) {
  std::unique_ptr<schema::ModelT> tables(model.UnPack());
  for (const auto& graph : tables->subgraphs) {
    for (const auto& tensor : graph->tensors) Complete(*tensor);
    for (const auto& op : graph->operators) Complete(op->builtin_options);
  }
  return tables;
}

Result<std::string> PackTflite(const schema::ModelT& model) {
  std::size_t bytes = 0;
  for (const auto& buffer : model.buffers) {
    bytes += buffer->data.size();
    if (bytes > kMaxConstants) {
      return Error{ErrorCode::kTooLarge, "",
                   "constants of more than " + std::to_string(kMaxConstants) + " bytes"};
    }
  }
  flatbuffers::FlatBufferBuilder builder(bytes + 4096);
  schema::FinishModelBuffer(builder, schema::Model::Pack(builder, &model));
  return std::string(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
}

}  // namespace qtx::convert
