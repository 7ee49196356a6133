// Means of elements, rounded by the arithmetic.
// Source: exact.S2, float32.S3, tflite.S7, onnxruntime.S3 and .S4.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "arithmetic/output.h"
#include "arithmetic/stored_sum.h"
#include "operand.h"

namespace qtx::reference {

/// Borrows the input and the output.
class Averager {
 public:
  /// Where the arithmetic has a kernel of AveragePool (kPool), or of GlobalAveragePool, which is
  /// that of an AveragePool over the whole input too (kGlobalPool), it applies. TFLite has none
  /// where padding counts (kPaddedPool).
  /// Of the others some have one of a StoredSum, which the second constructor takes.
  enum class Kernel { kPool, kGlobalPool, kPaddedPool, kNone };
  Averager(const Arithmetic& arithmetic, const Operand& input, Output* output, Kernel kernel);
  Averager(const Call& call, const Operand& input, Output* output, Kernel kernel,
           StoredSum::Kind kind, std::int64_t count);
  /// Puts the sum of the `sources` over `count`: their number, or more where padding counts as real
  /// zeros, or 1 for their sum.  REQUIRES: count > 0.
  void Put(std::int64_t element, std::span<const std::int64_t> sources, std::int64_t count);

 private:
  void MakeFactor();
  void PutStoredMean(std::int64_t element, std::span<const std::int64_t> sources);
  void PutIntegerMean(std::int64_t element, std::span<const std::int64_t> sources,
                      std::int64_t count);
  void PutExactMean(std::int64_t element, std::span<const std::int64_t> sources,
                    std::int64_t count);
  void PutFloatMean(std::int64_t element, std::span<const std::int64_t> sources,
                    std::int64_t count);
  void PutScaledSum(std::int64_t element, std::span<const std::int64_t> sources);

  Domain domain_;
  Kernel kernel_;
  TieRule tie_;
  const Operand* input_;
  Output* output_;
  bool same_type_ = false;  // 8 bits (or 16), one scale, and the output's type is the input's
  bool is_bytes_ = false;   // ONNX Runtime's kernel applies
  float factor_ = 1;        // of its sums
  std::optional<StoredSum> stored_sum_;
};

}  // namespace qtx::reference
