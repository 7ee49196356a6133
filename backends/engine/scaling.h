// From sums of products to results in the arithmetics other than `exact`: per channel a binary32
// factor or an integer multiplier, and a kernel that applies them.
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
  /// Integer multipliers: the product of the operands' scales is rounded to binary32 first.
  bool narrow_scales = false;

  bool is_exact() const { return kind == Kind::kExact; }
};

/// What quantizes to stored integers: offset and bounds as they are held.
struct StoredType {
  double scale = 1;
  std::int32_t offset = 0;
  format::IntegerRange range;
};

/// clamp(half_even(quotient) + offset); NaN gives the offset.  Source: float32.S2.
std::int64_t StoredOf(float quotient, const StoredType& type);
/// The same, ties away from zero.  Source: tflite.S9.
std::int64_t StoredHalfAway(float quotient, const StoredType& type);

/// One sum of a channel: products with the unit `scale`, and an integer that they are added to.
struct ScaledSum {
  double scale = 1;  // of two binary32, exactly their product
  std::int64_t addend = 0;
};

class Scaling {
 public:
  Scaling() = default;
  /// `lanes`: how many columns a kernel may read past the last.  REQUIRES: not kExact.
  /// Errors: kUnsupported for factors that the arithmetic refuses (tflite.S12).
  static Result<Scaling> Make(Epilogue epilogue, std::span<const ScaledSum> sums,
                              const StoredType& output, std::int32_t lanes);
  /// `count` channels of one integer multiplier; kOnce or kTwice.
  static Scaling OfMultiplier(Epilogue::Kind kind, Multiplier multiplier, std::size_t count,
                              const StoredType& output, std::int32_t lanes);

  /// True where Bytes may be called: the kernels have every channel's factor, and nothing is added.
  bool vectors() const { return vectors_; }
  /// Sums of channels `channel` and on.  REQUIRES: vectors(), an output of 8 bits.
  void Bytes(const Kernels& kernels, const Sums& sums, std::int64_t channel) const;
  /// One sum to its stored integer.
  std::int64_t Stored(std::int64_t sum, std::int64_t channel) const;
  /// One sum to its FLOAT result: float32.S4, of an output scale of 1.
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
