// Which bits of a record the spans of an encoding take.
// Source: spec/format/encoding.md, encoding.C8 to C10.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "qtx/format/encoding.h"

namespace qtx::format::encoding {

/// An error of the clause at `where`, below quantization.
Error Fault(const std::string& clause, const std::string& where, std::string message);
Error Fault(const std::string& clause, const std::string& where, std::int64_t found,
            const std::string& expected);

/// The bits of a record, each of which one value may take.
class RecordBits {
 public:
  explicit RecordBits(std::int32_t record_bytes)
      : taken_(static_cast<std::size_t>(record_bytes) * 8, false) {}

  /// Takes the bits of a span and adds its runs. `value_bits` has a mask for each value of the
  /// field: the bits that it has been given.
  /// Errors: encoding.C8, C9 and C10.
  Result<void> Add(const std::string& place, const BitSpan& span, std::vector<BitRun>* runs,
                   std::vector<std::uint32_t>* value_bits);

 private:
  Result<void> Take(const std::string& place, const BitRun& run,
                    std::vector<std::uint32_t>* value_bits);

  std::vector<bool> taken_;
};

}  // namespace qtx::format::encoding
