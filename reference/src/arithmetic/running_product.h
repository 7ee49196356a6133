// Products of any number of elements, each of which is rounded once: ReduceProd and CumProd.
// Source: exact.S2, exact.S10, float32.S3.
#pragma once

#include <gmpxx.h>

#include <cstdint>
#include <vector>

#include "arithmetic/output.h"
#include "interval.h"
#include "operand.h"

namespace qtx::reference {

/// The product of the elements multiplied so far. Borrows the input and the output.
/// Time: that of one element does not grow with their number, but for the results next to a tie.
class RunningProduct {
 public:
  RunningProduct(const Arithmetic& arithmetic, const Operand& input, Output* output);
  /// Begins anew with 1.
  void Reset();
  /// Multiplies by element `source` of the input.
  void Multiply(std::int64_t source);
  /// Puts the product.
  void Put(std::int64_t element);

 private:
  enum class Numbers { kBinary32, kModular, kExact };

  void MultiplyExact(const Dyadic& factor);
  void PutExact(std::int64_t element);
  const Interval& Enclosed(std::size_t level);

  Numbers numbers_;
  const Operand* input_;
  Output* output_;
  float binary32_ = 1;
  std::uint64_t modular_ = 1;  // modulo 2^64
  // kExact: sign_ * odd * 2^exponent_, where sign_ is 0 for a product that is, and infinite or NaN
  // as IEEE 754 has it. Of factors that are no powers of two, the odd parts alone are kept.
  double sign_ = 1;
  std::int64_t exponent_ = 0;
  std::vector<std::int64_t> factors_;
  mpz_class odd_ = 1;               // their product, as long as it is short
  std::vector<Interval> enclosed_;  // their product, each with twice the bits of the one before
};

}  // namespace qtx::reference
