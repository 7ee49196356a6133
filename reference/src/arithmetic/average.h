// Means of elements, rounded by the arithmetic.
// Source: exact.S2, float32.S3, tflite.S7.
#pragma once

#include <cstdint>
#include <span>

#include "arithmetic/output.h"
#include "operand.h"

namespace qtx::reference {

/// Borrows the input and the output.
class Averager {
 public:
  /// kPool: AVERAGE_POOL_2D of TFLite applies where it can (tflite.S7); kNone: exact.
  enum class Kernel { kPool, kNone };
  Averager(const Arithmetic& arithmetic, const Operand& input, Output* output,
           Kernel kernel = Kernel::kPool);
  /// Puts the sum of the `sources` over `count`: their number, or more where padding counts as real
  /// zeros, or 1 for their sum.  REQUIRES: count > 0.
  void Put(std::int64_t element, std::span<const std::int64_t> sources, std::int64_t count);

 private:
  void PutStoredMean(std::int64_t element, std::span<const std::int64_t> sources);
  void PutIntegerMean(std::int64_t element, std::span<const std::int64_t> sources,
                      std::int64_t count);
  void PutExactMean(std::int64_t element, std::span<const std::int64_t> sources,
                    std::int64_t count);
  void PutFloatMean(std::int64_t element, std::span<const std::int64_t> sources,
                    std::int64_t count);

  Domain domain_;
  TieRule tie_;
  const Operand* input_;
  Output* output_;
  bool same_type_ = false;  // 8 bits (or 16), one scale, and the output's type is the input's
};

}  // namespace qtx::reference
