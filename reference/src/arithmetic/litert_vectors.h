// LiteRT's builtin QUANTIZE and ADD on x86: whole vectors round otherwise than what is left over.
// Source: tflite_float64.S13, tflite_half_up.S12, tflite_half_up.S13.
#pragma once

#include <cstdint>
#include <optional>

#include "arithmetic/output.h"
#include "arithmetic/round.h"
#include "operand.h"

namespace qtx::reference {

/// Elements in the order of TFLite's tensor: a node whose origin has `channels_first` has channels
/// before height and width.
class TfliteOrder {
 public:
  TfliteOrder(const format::Node& node, const format::Dims& dims);
  std::int64_t operator()(std::int64_t element) const;
  format::Dims DimsOf(const format::Dims& dims) const;

 private:
  bool moved_ = false;
  std::int64_t channels_ = 1, pixels_ = 1;
};

/// Which elements a loop takes in whole vectors.
struct Vectors {
  std::int64_t run = 1;    // elements that it passes
  std::int64_t lanes = 1;  // of a vector

  bool Has(std::int64_t place) const { return place % run < run / lanes * lanes; }
};

/// ADD of a and b: both are brought to twice the larger scale, in 2^-headroom of it; vectors do so
/// with one rounding, or by a right shift that rounds down. Borrows its operands.
class VectorSum {
 public:
  /// nullopt where there is no such kernel.
  static std::optional<VectorSum> Make(const Arithmetic& arithmetic, const format::Node& node,
                                       const Operand& a, const Operand& b, const Output& y);
  /// Of element ia of a and ib of b, not clamped.
  std::int64_t StoredOf(std::int64_t element, std::int64_t ia, std::int64_t ib) const;

 private:
  VectorSum(const format::Node& node, const Operand& a, const Operand& b, const Output& y);
  std::int64_t Brought(std::int64_t value, const FixedMultiplier& factor, bool in_vector) const;

  const Operand *a_, *b_;
  TfliteOrder order_;
  Vectors vectors_;
  int headroom_;
  std::int32_t offset_;
  bool bytes_, has_vectors_, shifts_down_;
  FixedMultiplier a_factor_, b_factor_, y_factor_;
};

}  // namespace qtx::reference
