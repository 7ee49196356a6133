// Writes the header of a GGUF file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/file.h"

namespace qtx::convert::gguf {

/// Metadata entries as a file has them.
class EntryWriter {
 public:
  void Add(const Entry& entry);
  void AddText(std::string_view key, std::string_view text);
  void AddUint32(std::string_view key, std::uint32_t value);

  std::int64_t count() const { return count_; }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  std::int64_t count_ = 0;
};

/// A header with zeros up to a multiple of `alignment`. Offsets of `tensors` are those within the
/// data.
std::string WriteHeader(std::uint32_t version, const EntryWriter& entries,
                        const std::vector<TensorInfo>& tensors, std::int64_t alignment);

}  // namespace qtx::convert::gguf
