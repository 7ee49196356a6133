// Quotients of elements, rounded by the arithmetic.  Source: exact.S2, float32.S3.
#pragma once

#include <cstdint>

#include "arithmetic/output.h"
#include "operand.h"

namespace qtx::reference {

/// Borrows its operands and the output.
class Divider {
 public:
  Divider(const Arithmetic& arithmetic, const Operand& a, const Operand& b, Output* output);
  /// Puts a[ia] / b[ib], with IEEE 754's infinities and NaN where b is zero.
  void Put(std::int64_t element, std::int64_t ia, std::int64_t ib);

 private:
  Domain domain_;
  const Operand* a_;
  const Operand* b_;
  Output* output_;
};

}  // namespace qtx::reference
