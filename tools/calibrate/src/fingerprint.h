// A non-cryptographic hash to detect differences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "qtx/format/model.h"
#include "qtx/format/result.h"

namespace qtx::calibrate {

/// FNV-1a of 64 bits: offset basis and prime of draft-eastlake-fnv. Texts are preceded by their
/// length, so that sequences of additions are unambiguous.
class Fingerprint {
 public:
  void Add(std::string_view text);
  void Add(std::int64_t number);
  void AddBytes(std::span<const std::byte> bytes);
  std::string Text() const;  // 16 hexadecimal digits

 private:
  void Mix(unsigned char byte) { hash_ = (hash_ ^ byte) * 0x100000001b3; }
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

/// Hash of everything that calibration does not change: all but statistics, shapes of FLOAT values,
/// kMetadataKey, and entries of graph.value_info with only FLOAT and a shape. Initializers are
/// hashed by elements, whatever their encoding.
/// Errors: those of Model::Serialize.
Result<std::string> FingerprintOf(const format::Model& model);

}  // namespace qtx::calibrate
