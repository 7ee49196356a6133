// Normalisation: (x - mean) / sqrt(variance + epsilon), times a gain, plus a bias.
// Source: exact.S2, exact.S6, float32.S3.
#pragma once

#include <cstdint>

#include "arithmetic/output.h"
#include "operand.h"

namespace qtx::reference {

/// What a group of elements is normalised by.
struct Moments {
  Real mean = {true, 0, 0};    // 0 where none is subtracted
  Real spread = {true, 0, 1};  // variance (or mean square) plus epsilon
  float mean32 = 0;            // the same by float32.S3
  float spread32 = 1;

  bool finite() const { return mean.finite && spread.finite; }
};

/// A gain or bias, and which of its elements; without an operand it is absent.
struct Coefficient {
  const Operand* operand = nullptr;
  std::int64_t index = 0;
};

enum class Centre { kMean, kZero };

/// The moments of elements [first, first + count) of x. The variance is the population's; about
/// zero it is the mean square.  REQUIRES: count > 0.
Moments MomentsOf(const Operand& x, std::int64_t first, std::int64_t count, Centre centre,
                  float epsilon);

/// Puts normalised elements. Borrows the output.
class Normalizer {
 public:
  Normalizer(const Arithmetic& arithmetic, Output* output)
      : in_binary32_(DomainFor(arithmetic, *output) == Domain::kFloat32), output_(output) {}

  /// Of the elements put from now on.
  void SetMoments(Moments moments);
  /// (x - mean) / sqrt(spread) * gain + bias; an absent gain is 1, an absent bias 0.
  void Put(std::int64_t element, const Coefficient& x, const Coefficient& gain,
           const Coefficient& bias);

 private:
  void PutFloat32(std::int64_t element, const Coefficient& x, const Coefficient& gain,
                  const Coefficient& bias);
  bool PutFast(std::int64_t element, double x, double gain, double bias);
  void PutRooted(std::int64_t element, const Rational& factor, const Rational& bias);
  void PutSpecial(std::int64_t element, const Dyadic& x, const Dyadic& gain, const Dyadic& bias);

  friend void PutInverse(const Arithmetic& arithmetic, const Moments& moments, std::int64_t element,
                         Output* output);

  bool in_binary32_;
  Output* output_;
  Moments moments_;
  double mean_ = 0;     // nearest binary64
  double inverse_ = 0;  // 1 / sqrt(spread), within 4 rounding units
};

/// Puts the mean.
void PutMean(const Arithmetic& arithmetic, const Moments& moments, std::int64_t element,
             Output* output);
/// Puts 1 / sqrt(spread).
void PutInverse(const Arithmetic& arithmetic, const Moments& moments, std::int64_t element,
                Output* output);

}  // namespace qtx::reference
