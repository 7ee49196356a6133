// Files of safetensors, made by hand.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace qtx::convert {

inline std::string SafetensorsFile(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  std::string bytes(sizeof(length), '\0');
  std::memcpy(bytes.data(), &length, sizeof(length));
  return bytes + header + data;
}

template <typename T>
std::string Bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// Tensors one after another, as safetensors' own writer lays them.
class SafetensorsMaker {
 public:
  void Add(const std::string& name, const std::string& dtype, const std::string& shape,
           const std::string& bytes) {
    header_ += (header_.empty() ? "" : ",") + ("\"" + name) + R"(":{"dtype":")" + dtype +
               R"(","shape":[)" + shape + R"(],"data_offsets":[)" + std::to_string(data_.size()) +
               "," + std::to_string(data_.size() + bytes.size()) + "]}";
    data_ += bytes;
  }
  template <typename T>
  void Add(const std::string& name, const std::string& dtype, const std::string& shape,
           const std::vector<T>& values) {
    Add(name, dtype, shape, Bytes(values));
  }
  std::string File() const {
    std::string header = R"({"__metadata__":{"format":"pt"},)" + header_ + "}";
    header.append((8 - header.size() % 8) % 8, ' ');
    return SafetensorsFile(header, data_);
  }

 private:
  std::string header_, data_;
};

}  // namespace qtx::convert
