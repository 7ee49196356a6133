// Small GGUF files, byte by byte.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace qtx::convert::gguf_test {

template <typename T>
std::string Raw(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

inline std::string Text(std::string_view text) {
  return Raw<std::uint64_t>(text.size()) + std::string(text);
}

struct TensorMaker {
  std::string name;
  std::vector<std::uint64_t> ne;  // as in the file, the fastest first
  std::uint32_t type = 0;
  std::uint64_t offset = 0;
};

/// A file of one metadata entry and a few tensors. Tests change the fields, or the bytes.
struct FileMaker {
  std::uint32_t version = 3;
  std::string entries = Text("a") + Raw<std::uint32_t>(4) + Raw<std::uint32_t>(7);
  std::uint64_t entry_count = 1;
  std::vector<TensorMaker> tensors = {{"t", {2}, 0, 0}};
  std::string data = std::string(32, '\1');

  std::string Header() const {
    std::string bytes =
        "GGUF" + Raw(version) + Raw<std::uint64_t>(tensors.size()) + Raw(entry_count) + entries;
    for (const TensorMaker& tensor : tensors) {
      bytes += Text(tensor.name) + Raw(static_cast<std::uint32_t>(tensor.ne.size()));
      for (const std::uint64_t size : tensor.ne) bytes += Raw(size);
      bytes += Raw(tensor.type) + Raw(tensor.offset);
    }
    return bytes;
  }
  std::string Bytes() const {
    std::string bytes = Header();
    bytes.resize((bytes.size() + 31) / 32 * 32, '\0');
    return bytes + data;
  }
};

}  // namespace qtx::convert::gguf_test
