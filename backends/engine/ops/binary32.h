// Conversions of elements to binary32 and back, by single binary32 operations (float32.S1 to
// float32.S3).
#pragma once

#include <span>
#include <vector>

#include "engine/exact.h"
#include "engine/ops/reals.h"
#include "engine/scaling.h"

namespace qtx::backend::engine {

/// The binary32 of an element of RealsOf: float32.S1.
inline float Binary32Of(const Term& term) {
  return static_cast<float>(term.integer) * static_cast<float>(term.scale);
}
/// The binary32 of all elements.  REQUIRES: as RealsOf.
std::vector<float> Binary32Of(const format::Tensor& tensor);

/// The binary32 nearest to exp(x), for x <= 0 or minus infinity.
float NearestExp(float x);

/// Writes binary32 into a tensor, each quantized by its own parameters: float32.S2.
class FloatWriter {
 public:
  /// `half_away` sends ties away from zero (tflite.S9).  REQUIRES: as RealWriter.
  explicit FloatWriter(format::Tensor& to, bool half_away = false);
  void Put(std::int64_t element, float value);
  /// Writes sum * unit, for an accumulator rounded to binary32: float32.S4.  REQUIRES: integers or
  /// FLOAT.
  void PutProduct(std::int64_t element, float sum, float unit);
  /// Packs the elements into the tensor.
  void Finish();

 private:
  StoredType TypeOf(std::int64_t element) const;

  format::Tensor& to_;
  const format::Quantization& parameters_;
  format::ElementType storage_;
  format::ParameterMap parameter_;
  format::IntegerRange range_;
  bool half_away_;
  std::vector<std::int32_t> stored_;  // codes of a small float; empty for FLOAT
};

}  // namespace qtx::backend::engine
