// From integer accumulators to stored values, by the coordinates of a RequantizeRecipe.
// Source: exact.S1, exact.S2, float32.S4 and .S5, tflite.S1 to .S4, glow.S2, onednn.S2.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "arithmetic/output.h"
#include "arithmetic/round.h"

namespace qtx::reference {

/// Scales of an accumulator: real = accumulator * x * w[channel]; w has one value or one per
/// channel.
struct AccumulatorScales {
  float x = 1;
  std::vector<float> w = {1.0F};
  std::int64_t y_axis = 0;  // of the output, along which its channels lie
  float alpha = 1;          // of a QGemm: a factor of the accumulator, too
  float x_alone = 1;        // x before binary32 rounded its product with alpha
};

/// What is added to an accumulator: real = integer * scale; a scale of 0 says that there is none.
struct Bias {
  std::int64_t integer = 0;
  float scale = 0;
};

/// Requantizes into `output`, an integer tensor or FLOAT (with multiplier kExact, any). Borrows it.
/// A factor outside the recipe's exponents refuses the output.
class Requantizer {
 public:
  Requantizer(const RequantizeRecipe& recipe, AccumulatorScales scales, Output* output);
  void Put(std::int64_t element, std::size_t channel, std::int64_t accumulator,
           const Bias& bias = {});
  /// The same for an accumulator of any size.  REQUIRES: not kExact.
  void PutWide(std::int64_t element, std::size_t channel, const mpz_class& accumulator,
               const Bias& bias = {});
  /// The scaled integer before the offset and the clamp.  REQUIRES: kMantissa or kPreShift.
  std::int64_t Scaled(std::int64_t element, std::size_t channel, std::int64_t accumulator) const;

 private:
  // The factor in the forms that recipes use; each recipe fills its own.
  struct Factor {
    double number = 0;  // (x * w) / y, or x * w of kTwoSteps; a binary32 where the recipe says so
    float step = 1;     // 1 / y of kTwoSteps
    FixedMultiplier fixed;
    PreShift shifted;
  };
  // A sum in both widths that products have, each rounded once.
  struct FloatSum {
    float binary32 = 0;
    double binary64 = 0;
  };
  bool IsFixed() const {
    return recipe_.multiplier == RequantizeRecipe::Multiplier::kMantissa ||
           recipe_.multiplier == RequantizeRecipe::Multiplier::kPreShift;
  }
  // The bias as it is added to the accumulator, 0 where that is done elsewhere (float32.S5,
  // tflite.S4); nullopt beyond 62 bits, where WideBias gives it.
  std::optional<std::int64_t> SmallBias(std::size_t channel, const Bias& bias) const;
  mpz_class WideBias(std::size_t channel, const Bias& bias) const;
  double Number(std::size_t channel, float y) const;
  // Refuses a factor that no element has, too: definitions.S16.
  void CheckFactors(const format::Quantization& y) const;
  Factor MakeFactor(std::size_t channel, float y) const;
  // The factor of an element; `own` holds it where the output has several scales.
  const Factor& FactorAt(std::int64_t element, std::size_t channel, Factor* own) const {
    if (!factors_.empty()) return factors_[factors_.size() == 1 ? 0 : channel];
    *own = MakeFactor(channel, output_->scale(element));
    return *own;
  }
  // Of kMantissa, for an element of that channel.
  RequantizeRecipe::Rounds RoundsOf(std::size_t channel) const;
  float w(std::size_t channel) const { return scales_.w[scales_.w.size() == 1 ? 0 : channel]; }
  template <typename T>
  void PutQuotient(std::int64_t element, T scaled);
  void PutTwoSteps(std::int64_t element, const Factor& factor, float sum, const Bias& bias);
  // A sum times the factor, by a recipe that multiplies floats.
  void PutProduct(std::int64_t element, std::size_t channel, const FloatSum& sum, const Bias& bias);
  // A sum of at most 63 bits, bias included, not yet as the accumulator holds it.
  void PutHeld(std::int64_t element, std::size_t channel, std::int64_t sum, const Bias& bias);

  RequantizeRecipe recipe_;
  AccumulatorScales scales_;
  Output* output_;
  std::vector<Factor> factors_;  // per channel, when the output has one scale
};

}  // namespace qtx::reference
