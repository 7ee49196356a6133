// From integer accumulators to stored values, by the coordinates of a RequantizeRecipe.
// Source: exact.S1, exact.S2, float32.S4 and .S5, tflite.S2 to .S4.
#pragma once

#include <cstdint>
#include <vector>

#include "arithmetic/output.h"
#include "arithmetic/round.h"

namespace qtx::reference {

/// Scales of an accumulator: real = accumulator * x * w[channel]; w has one value or one per
/// channel.
struct AccumulatorScales {
  float x = 1;
  std::vector<float> w = {1.0F};
};

/// What is added to an accumulator: real = integer * scale; a scale of 0 says that there is none.
struct Bias {
  std::int64_t integer = 0;
  float scale = 0;
};

/// Requantizes into `output`, an integer tensor or FLOAT (with multiplier kExact, any). Borrows it.
class Requantizer {
 public:
  Requantizer(const RequantizeRecipe& recipe, AccumulatorScales scales, Output* output);
  /// Recipes other than kExact add the bias to the accumulator; where its scale is not binary32
  /// x * w, it is brought to that scale first (float32.S5); kFixed31 ignores its scale (tflite.S4).
  void Put(std::int64_t element, std::size_t channel, std::int64_t accumulator,
           const Bias& bias = {});

 private:
  std::int64_t WithBias(std::size_t channel, std::int64_t accumulator, const Bias& bias) const;
  float FloatFactor(std::size_t channel, float y) const;
  double DoubleFactor(std::size_t channel, float y) const;
  float w(std::size_t channel) const { return scales_.w[scales_.w.size() == 1 ? 0 : channel]; }
  void PutFloat32(std::int64_t element, std::size_t channel, std::int64_t sum);
  void PutFixed(std::int64_t element, std::size_t channel, std::int64_t sum);

  RequantizeRecipe recipe_;
  AccumulatorScales scales_;
  Output* output_;
  std::vector<float> float_factors_;  // per channel, when the output has one scale
  std::vector<FixedMultiplier> fixed_factors_;
};

}  // namespace qtx::reference
