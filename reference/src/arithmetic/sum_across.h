// Sums of one element of each of several tensors.  Source: exact.S2, float32.S3.
#pragma once

#include <cstdint>
#include <span>

#include "arithmetic/output.h"
#include "operand.h"

namespace qtx::reference {

/// Borrows the operands and the output.
class SumAcross {
 public:
  SumAcross(const Arithmetic& arithmetic, std::span<const Operand> operands, Output* output);
  /// Puts the sum of operands[k] at indices[k] over `divisor`.  REQUIRES: 0 < divisor < 2^29.
  void Put(std::int64_t element, std::span<const std::int64_t> indices, std::int64_t divisor);

 private:
  void PutFloat32(std::int64_t element, std::span<const std::int64_t> indices,
                  std::int64_t divisor);
  void PutTerms(std::int64_t element, std::span<const std::int64_t> indices, std::int64_t divisor);
  bool PutIfCertain(std::int64_t element, std::span<const std::int64_t> indices,
                    std::int64_t divisor);

  Domain domain_;
  std::span<const Operand> operands_;
  Output* output_;
  bool few_integers_;  // as many as the certified path takes
};

}  // namespace qtx::reference
