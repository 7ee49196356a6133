// Logarithms of sums: ReduceLogSum and ReduceLogSumExp.
// Source: reduce_log_sum.S1, reduce_log_sum_exp.S1, exact.S6, float32.S3.
#pragma once

#include <cstdint>
#include <span>

#include "arithmetic/output.h"
#include "operand.h"

namespace qtx::reference {

/// Borrows the input and the output.
class LogSum {
 public:
  LogSum(const Arithmetic& arithmetic, const Operand& input, Output* output);
  /// Puts the logarithm of the sum of the `sources`, minus infinity for none.
  void Put(std::int64_t element, std::span<const std::int64_t> sources);
  /// Puts that of the sum of their exponentials.
  void PutOfExponentials(std::int64_t element, std::span<const std::int64_t> sources);

 private:
  void PutOfExponentials32(std::int64_t element, std::span<const std::int64_t> sources);
  void PutAbove(std::int64_t element, const Rational& max, std::span<const Rational> below);

  bool in_binary32_;
  const Operand* input_;
  Output* output_;
};

}  // namespace qtx::reference
