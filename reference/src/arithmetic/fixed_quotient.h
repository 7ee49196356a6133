// DIV of 8 and 16 bits as LiteRT computes it, by gemmlowp's reciprocal of 32 bits.
// Source: tflite_float64.S14.
#pragma once

#include <cstdint>
#include <optional>

#include "arithmetic/output.h"
#include "arithmetic/round.h"
#include "operand.h"

namespace qtx::reference {

class FixedQuotient {
 public:
  /// nullopt where there is no such kernel.
  static std::optional<FixedQuotient> Make(const Call& call, const Operand& a, const Operand& b,
                                           const Output& y);
  /// a / b in steps of the output, of stored values less their offsets.  REQUIRES: b is not 0.
  std::int64_t operator()(std::int64_t a, std::int64_t b) const;

 private:
  explicit FixedQuotient(FixedMultiplier factor) : factor_(factor) {}

  FixedMultiplier factor_;
};

}  // namespace qtx::reference
