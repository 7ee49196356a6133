// LOGISTIC, TANH and SOFTMAX of 16 bits as LiteRT 2.3 computes them: from tables, in integers.
// Source: tflite_float64.S4, tflite_float64.S5, tflite_half_up.S5.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "arithmetic/output.h"
#include "operand.h"

namespace qtx::reference {

/// LOGISTIC or TANH of a stored value x without offset, in units of 2^-15.
class WordSigmoid {
 public:
  enum class Function { kLogistic, kTanh };
  /// nullopt for a scale that the kernel does not take.
  static std::optional<WordSigmoid> Make(const Arithmetic& arithmetic, Function function,
                                         float x_scale);
  std::int64_t operator()(std::int64_t x) const;

 private:
  std::int64_t OfTable(std::int64_t x) const;

  Function function_ = Function::kLogistic;
  std::int64_t multiplier_ = 0;  // to units of 2^-12 / 3, after a right shift
  int shift_ = 0;
  int doublings_ = -1;  // of x before a fixed-point function of 3 integer bits; -1: the table
};

/// SOFTMAX of one row of stored values.
void PutWordSoftmaxRow(const Operand& input, std::span<const std::int64_t> row, Output* output);

}  // namespace qtx::reference
