// A digest that detects changed cases.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "qtx/format/tensor.h"

namespace qtx::conformance {

/// FNV-1a, 64 bits (draft-eastlake-fnv), which need not resist attacks. Callers put the length
/// before a list and a flag before an optional value; texts have their length.
class Digest {
 public:
  void Add(std::string_view text) {
    Add(static_cast<std::int64_t>(text.size()));
    for (const char c : text) Mix(static_cast<unsigned char>(c));
  }
  void Add(std::int64_t number) {
    for (int shift = 0; shift < 64; shift += 8) {
      Mix(static_cast<unsigned char>(static_cast<std::uint64_t>(number) >> shift));
    }
  }
  void Add(double number) { Add(std::bit_cast<std::int64_t>(number)); }
  void Add(const format::Tensor& tensor) {
    Add(static_cast<std::int64_t>(tensor.elem_type));
    Add(std::ssize(tensor.dims));
    for (const std::int64_t dim : tensor.dims) Add(dim);
    Add({reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()});
    Add(std::int64_t{tensor.quantization.has_value()});
    if (tensor.quantization) Add(format::SerializeQuantization(*tensor.quantization));
  }
  std::uint64_t value() const { return hash_; }
  std::string Text() const {
    std::string text;
    for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[hash_ >> shift & 15];
    return text;
  }

 private:
  void Mix(unsigned char byte) { hash_ = (hash_ ^ byte) * 0x100000001b3; }
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace qtx::conformance
