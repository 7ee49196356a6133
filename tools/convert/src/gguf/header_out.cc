#include "gguf/header_out.h"

#include <algorithm>

namespace qtx::convert::gguf {
namespace {

template <typename T>
void Append(std::string& bytes, T value) {
  for (std::size_t i = 0; i < sizeof value; ++i)
    bytes += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xffU);
}

void AppendText(std::string& bytes, std::string_view text) {
  Append(bytes, static_cast<std::uint64_t>(text.size()));
  bytes += text;
}

}  // namespace

void EntryWriter::Add(const Entry& entry) {
  AppendText(bytes_, entry.key);
  Append(bytes_, static_cast<std::uint32_t>(entry.type));
  bytes_ += entry.value;
  ++count_;
}

void EntryWriter::AddText(std::string_view key, std::string_view text) {
  std::string value;
  AppendText(value, text);
  Add({key, ValueType::kText, value});
}

void EntryWriter::AddUint32(std::string_view key, std::uint32_t number) {
  std::string value;
  Append(value, number);
  Add({key, ValueType::kUint32, value});
}

std::string WriteHeader(std::uint32_t version, const EntryWriter& entries,
                        const std::vector<TensorInfo>& tensors, std::int64_t alignment) {
  std::string header(kMagic);
  Append(header, version);
  Append(header, static_cast<std::uint64_t>(tensors.size()));
  Append(header, static_cast<std::uint64_t>(entries.count()));
  header += entries.bytes();
  for (const TensorInfo& info : tensors) {
    AppendText(header, info.name);
    Append(header, static_cast<std::uint32_t>(info.dims.size()));
    for (auto size = info.dims.rbegin(); size != info.dims.rend(); ++size)
      Append(header, static_cast<std::uint64_t>(*size));
    Append(header, info.type);
    Append(header, static_cast<std::uint64_t>(info.offset));
  }
  header.resize(static_cast<std::size_t>(AlignUp(std::ssize(header), alignment)), '\0');
  return header;
}

}  // namespace qtx::convert::gguf
