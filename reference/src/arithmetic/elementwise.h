// Element by element: conversion of one value to the output's type, and of two values combined.
// Source: exact.S1, float32.S3 and .S7, fixed_point.S4, tflite.S5, .S6, .S9 to .S11,
// tflite_half_up.S13, xnnpack.S4, glow.S3 and .S4, onnxruntime.S1 and .S2.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "arithmetic/byte_kernels.h"
#include "arithmetic/litert_vectors.h"
#include "arithmetic/output.h"
#include "arithmetic/requantizer.h"
#include "operand.h"

namespace qtx::reference {

/// What an operator takes an element over for. It decides which kernel of the arithmetic rescales
/// it and what equal parameters mean.
enum class Purpose {
  kMove,      // data movement: equal parameters copy (float32.S7), others may rescale
  kSelect,    // the winner of Max, MaxPool, ...: no kernel; equal parameters are exact everywhere
  kChange,    // Cast, QuantizeLinear, ...
  kActivate,  // Relu, Clip
};

/// Puts elements of `input` into `output`, rounded by the arithmetic. Borrows both.
class Converter {
 public:
  /// Where the arithmetic has no kernel for `purpose`, its domain decides; in that of TFLite's
  /// kernels the exact conversion stands in (tflite.S11).
  Converter(const Arithmetic& arithmetic, const Operand& input, Output* output, Purpose purpose);
  void Put(std::int64_t element, std::int64_t source);
  /// Puts a value that is not in the input (a bound, a padding constant).
  void PutValue(std::int64_t element, const Operand& constant, std::int64_t source);
  /// Puts real zero, as a value of the input would be put.
  void PutZero(std::int64_t element);

 private:
  bool AreEqual(std::int64_t element, std::int64_t source) const;
  void PutEqual(std::int64_t element, std::int64_t source);

  Domain domain_;
  const Operand* input_;
  Output* output_;
  bool compares_ = false;  // equal parameters of an element change how it is put
  // Of elements with equal parameters:
  Domain equal_domain_;
  bool copies_ = false;               // codes or stored values, unclamped
  bool clamps_ = false;               // stored values, to the output's range
  std::vector<Requantizer> rescale_;  // one where a kernel rescales
};

/// `input` rescaled to output 0 of `call`, element by element: what a conversion of types does.
Result<format::Tensor> ConvertAll(const Call& call, const Operand& input);

enum class Binary { kAdd, kSub, kMul };

/// Combines pairs of elements. Borrows its operands and the output.
class Combiner {
 public:
  Combiner(Binary kind, const format::Node& node, const Arithmetic& arithmetic, const Operand& a,
           const Operand& b, Output* output);
  void Put(std::int64_t element, std::int64_t ia, std::int64_t ib);

 private:
  void PutExact(std::int64_t element, std::int64_t ia, std::int64_t ib);
  void PutFloat32(std::int64_t element, std::int64_t ia, std::int64_t ib);
  void PrepareShifted(const RequantizeRecipe& rescale);
  void PreparePowers();
  void PrepareCommonShift();
  std::int64_t ShiftedSum(std::int64_t a, std::int64_t b) const;

  // kReals: as the domain says. The others take three 8-bit tensors with one scale each.
  enum class Path { kReals, kProduct, kShifted, kPowers, kCommonShift, kEach, kBytes, kVectors };

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
  int a_shift_ = 0, b_shift_ = 0;                                      // kPowers
  std::int64_t a_mantissa_ = 0;                                        // kCommonShift
  std::int64_t b_mantissa_ = 0;
  int shift_ = 0;
  std::optional<ByteCombiner> bytes_;  // kBytes
  std::optional<VectorSum> vectors_;   // kVectors
};

}  // namespace qtx::reference
