// MEAN and SUM of TFLite's kernels and XNNPACK's, from a sum of stored values.
// Source: tflite_float64.S3, tflite_half_up.S4, tflite_half_up.S9, xnnpack.S7.
#pragma once

#include <cstdint>
#include <optional>

#include "arithmetic/output.h"
#include "arithmetic/round.h"
#include "operand.h"

namespace qtx::reference {

class StoredSum {
 public:
  /// What a result is: the mean of elements; that of an image, over height and width, which keeps
  /// both as 1; or their sum.
  enum class Kind { kMean, kImageMean, kSum };
  /// nullopt where the arithmetic has no such kernel for the node and its types.
  /// REQUIRES: count, of the elements of each result, > 0.
  static std::optional<StoredSum> Make(const Call& call, Kind kind, const Operand& x,
                                       const Output& y, std::int64_t count);
  /// Element `element` of the result in stored units, from the sum of its stored values, which is
  /// an int32 that wraps.
  std::int64_t StoredOf(std::int64_t element, std::int64_t sum) const;

 private:
  enum class Kernel { kDivided, kImage, kTotal, kXnnpack };
  StoredSum(Kernel kernel, Kind kind, const Operand& x, const Output& y, std::int64_t count);
  bool IsBlocked(std::int64_t element) const { return element % channels_ < blocked_; }

  Kernel kernel_;
  std::int64_t inputs_offset_ = 0;  // kDivided: of all elements of a result
  std::int64_t offset_ = 0;         // of a result
  FixedMultiplier multiplier_;      // of a sum: kDivided, kImage
  std::int64_t channels_ = 1;       // kImage
  std::int64_t blocked_ = 0;        // kImage: so many of them round half up twice
  float factor_ = 1;                // of a sum: kTotal, kXnnpack
  float start_ = 0;                 // what is added to the product: kTotal, kXnnpack
};

}  // namespace qtx::reference
