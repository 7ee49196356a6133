// ONNX Runtime's kernels of 8 bits on x86-64: QLinearAdd, QLinearMul and what QLinearAveragePool
// shares with them. They add the offset to a binary32 before it is rounded.
// Source: onnxruntime.S1 to .S3.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "arithmetic/output.h"
#include "operand.h"

namespace qtx::reference {

/// Whether the arithmetic has these kernels and the tensors suit them: one scale each, and one type
/// of 8 bits.
bool HasByteKernel(const Arithmetic& arithmetic, std::initializer_list<const Operand*> inputs,
                   const Output& output);

/// The stored value of a quotient that has the offset in it: rounded half_even to an INT32, which
/// is -2^31 for NaN and all beyond, and clamped.
std::int64_t ConvertedByte(float shifted, const Output& output);

/// The sum or the product of two stored values, in LSB of the output, with its offset.
class ByteCombiner {
 public:
  enum class Kind { kSum, kProduct };
  ByteCombiner(Kind kind, const Operand& a, const Operand& b, const Output& output);
  float Shifted(std::int32_t a, std::int32_t b) const;

 private:
  struct Side {
    float ratio = 0;  // of its scale to the output's
    std::int32_t offset = 0;
  };
  Kind kind_;
  bool a_first_ = false;  // kSum: which product is added first
  Side a_, b_;
  float constant_ = 0;  // kSum: the offset of the output less what those of the inputs add
  float factor_ = 0;    // kProduct
  float offset_ = 0;    // kProduct: of the output
};

}  // namespace qtx::reference
