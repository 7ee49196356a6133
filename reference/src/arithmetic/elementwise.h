// Element by element: conversion of one value to the output's type, and of two values combined.
// Source: exact.S1, float32.S3 and .S7, tflite.S5, .S6, .S9 and .S11, xnnpack.S4, glow.S4.
#pragma once

#include <cstdint>
#include <vector>

#include "arithmetic/output.h"
#include "arithmetic/requantizer.h"
#include "operand.h"

namespace qtx::reference {

/// Puts elements of `input` into `output`, rounded by the arithmetic. Borrows both.
class Converter {
 public:
  /// `kernel`: how TFLite's kernel of the operator rescales; nullptr for data movement, whose
  /// kernels need equal parameters. Where there is no kernel the exact conversion stands in
  /// (tflite.S11).
  Converter(const Arithmetic& arithmetic, const Operand& input, Output* output,
            const RequantizeRecipe* kernel = nullptr);
  void Put(std::int64_t element, std::int64_t source);
  /// Puts a value that is not in the input (a bound, a padding constant).
  void PutValue(std::int64_t element, const Operand& constant, std::int64_t source);

 private:
  Domain domain_;
  const Operand* input_;
  Output* output_;
  bool same_float_ = false;           // a float8 or float4 type with one scale: codes are copied
  bool same_parameters_ = false;      // scale and offset
  bool same_range_ = false;           // and also type, quant_min and quant_max
  std::vector<Requantizer> rescale_;  // one where a kernel rescales
};

/// `input` rescaled to output 0 of `call`, element by element: what a conversion of types does.
Result<format::Tensor> ConvertAll(const Call& call, const Operand& input);

enum class Binary { kAdd, kSub, kMul };

/// Combines pairs of elements. Borrows its operands and the output.
class Combiner {
 public:
  Combiner(Binary kind, const Arithmetic& arithmetic, const Operand& a, const Operand& b,
           Output* output);
  void Put(std::int64_t element, std::int64_t ia, std::int64_t ib);

 private:
  void PutExact(std::int64_t element, std::int64_t ia, std::int64_t ib);
  void PutFloat32(std::int64_t element, std::int64_t ia, std::int64_t ib);
  void PrepareShifted(const RequantizeRecipe& rescale);
  void PrepareCommonShift();
  std::int64_t ShiftedSum(std::int64_t a, std::int64_t b) const;

  // kReals: as the domain says. The others take three 8-bit tensors with one scale each.
  enum class Path { kReals, kProduct, kShifted, kCommonShift, kEach };

  Binary kind_;
  Domain domain_;
  AddRecipe add_;
  const Operand* a_;
  const Operand* b_;
  Output* output_;
  Path path_ = Path::kReals;
  std::vector<Requantizer> requantizers_;           // kProduct: one; kEach: of a and of b
  FixedMultiplier a_factor_, b_factor_, y_factor_;  // kShifted
  RequantizeRecipe::Rounds rounds_ = RequantizeRecipe::Rounds::kOnce;  // kShifted
  TieRule tie_ = TieRule::kHalfUp;                                     // kShifted
  std::int64_t a_mantissa_ = 0;                                        // kCommonShift
  std::int64_t b_mantissa_ = 0;
  int shift_ = 0;
};

}  // namespace qtx::reference
