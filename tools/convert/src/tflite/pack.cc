#include "tflite/pack.h"

namespace qtx::convert {
namespace {

// Offsets are 31 bits; what is not in a buffer of constants takes a small part of them.
constexpr std::size_t kMaxConstants = (std::size_t{1} << 31) - (std::size_t{1} << 28);

}  // namespace

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
