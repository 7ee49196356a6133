// Scaling of sums of products in the arithmetics other than `exact`: a binary32 factor or an
// integer multiplier for each channel, and the kernel that applies it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/fixed_point.h"
#include "engine/kernels.h"
#include "qtx/format/element_type.h"
#include "qtx/format/result.h"

namespace qtx::backend::engine {

/// How a sum of products becomes a result.
struct Epilogue {
  enum class Kind {
    kExact,    // exact.S1
    kFloat32,  // float32.S4
    kOnce,     // tflite.S2
    kTwice,    // tflite.S3
    kWide,     // tflite.S12
    kBinary64  // tflite.S12, FULLY_CONNECTED with a bias
  };
  Kind kind = Kind::kExact;
  /// True if the product of the operands' scales is rounded to binary32 before the integer
  /// multiplier is computed.
  bool narrow_scales = false;

  bool is_exact() const { return kind == Kind::kExact; }
};

/// Parameters of a quantized result; offset and range are those of its buffer.
struct StoredType {
  double scale = 1;
  std::int32_t offset = 0;
  format::IntegerRange range;
};

/// clamp(half_even(quotient) + offset); NaN gives the offset.  Source: float32.S2.
std::int64_t StoredOf(float quotient, const StoredType& type);
/// The same, ties away from zero.  Source: tflite.S9.
std::int64_t StoredHalfAway(float quotient, const StoredType& type);

/// The sum of a channel: a sum of products in units of `scale`, plus the integer `addend`.
struct ScaledSum {
  double scale = 1;  // the exact product of two binary32
  std::int64_t addend = 0;
};

class Scaling {
 public:
  Scaling() = default;
  /// `lanes`: the number of columns that a kernel may read past the last one.  REQUIRES: not
  /// kExact. Errors: kUnsupported for factors that the arithmetic does not allow (tflite.S12).
  static Result<Scaling> Make(Epilogue epilogue, std::span<const ScaledSum> sums,
                              const StoredType& output, std::int32_t lanes);
  /// `count` channels with one integer multiplier; kOnce or kTwice.
  static Scaling OfMultiplier(Epilogue::Kind kind, Multiplier multiplier, std::size_t count,
                              const StoredType& output, std::int32_t lanes);

  /// True if Bytes may be called: the kernels can apply every channel's factor, and all addends are
  /// 0.
  bool vectors() const { return vectors_; }
  /// Scales sums whose column 0 is channel `channel`.  REQUIRES: vectors(), an output of 8 bits.
  void Bytes(const Kernels& kernels, const Sums& sums, std::int64_t channel) const;
  /// The stored integer of one sum.
  std::int64_t Stored(std::int64_t sum, std::int64_t channel) const;
  /// The FLOAT result of one sum: float32.S4 with an output scale of 1.
  float Real(std::int64_t sum, std::int64_t channel) const;

 private:
  Result<void> AddChannel(const ScaledSum& sum, bool narrow_scales);
  void AddMultiplier(Multiplier multiplier);
  void Pad(std::int32_t lanes);

  Epilogue::Kind kind_ = Epilogue::Kind::kFloat32;
  StoredType output_;
  bool vectors_ = true;
  std::vector<std::int64_t> addend_;
  std::vector<float> factor_;
  std::vector<double> binary64_;
  std::vector<Multiplier> multiplier_;
  std::vector<std::int32_t> mantissa_, shift_;
};

}  // namespace qtx::backend::engine
