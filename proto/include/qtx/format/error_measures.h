// Errors of values against what they stand for, over all elements of any number of tensors.
#pragma once

#include <cstdint>

#include "qtx/format/tensor.h"

namespace qtx::format {

/// Error of values q against exact or float values r.
struct ErrorMeasures {
  std::uint64_t count = 0;   // pairs of finite values
  double signal = 0;         // sum of r^2
  double noise = 0;          // sum of (r - q)^2
  double sqnr_db = 0;        // 10 log10(signal / noise); infinity where noise is 0
  double cosine = 0;         // sum of r q / sqrt(sum of r^2 * sum of q^2); 1 of zeros
  double mean_error = 0;     // mean of q - r
  double max_error = 0;      // largest |r - q|, in the value's unit
  double max_error_lsb = 0;  // max_error / scale; 0 if q is not quantized
  double saturated = 0;      // share of r more than half an LSB beyond the stored range
  double greatest = 0;       // largest |r|
};

/// What ErrorMeasures are made of.
class ErrorSums {
 public:
  /// REQUIRES: the dims of both are equal, and the element type of neither is STRING, complex,
  /// INT64 or UINT64.
  void Add(const Tensor& real, const Tensor& value);
  ErrorMeasures Measures() const;

 private:
  std::uint64_t count_ = 0, saturated_ = 0;
  double signal_ = 0, noise_ = 0, power_ = 0, product_ = 0, error_ = 0;
  double largest_ = 0, largest_lsb_ = 0, greatest_ = 0;
};

}  // namespace qtx::format
