// Sums of powers of magnitudes and their roots: the norms of ReduceL1, ReduceL2, ReduceSumSquare
// and LpPool. Source: exact.S2, exact.S6, float32.S3.
#pragma once

#include <cstdint>
#include <span>

#include "arithmetic/output.h"
#include "operand.h"

namespace qtx::reference {

/// The sum of |x|^p, or the p-th root of it.
struct Norm {
  unsigned p = 2;
  bool root = true;
};

/// Borrows the input and the output.
class PowerSum {
 public:
  /// REQUIRES: 0 < norm.p <= 64.
  PowerSum(const Arithmetic& arithmetic, Norm norm, const Operand& input, Output* output);
  /// Puts the norm of the `sources`, real zero for none.
  void Put(std::int64_t element, std::span<const std::int64_t> sources);

 private:
  void PutFloat32(std::int64_t element, std::span<const std::int64_t> sources);
  void PutIntegers(std::int64_t element, std::span<const std::int64_t> sources);
  void PutExact(std::int64_t element, std::span<const std::int64_t> sources);
  Real ExactPowers(std::span<const std::int64_t> sources) const;

  Domain domain_;
  Norm norm_;
  const Operand* input_;
  Output* output_;
  bool small_;  // p is 1 or 2 and the sum of powers of the integers fits 63 bits
};

}  // namespace qtx::reference
