#include "arithmetic/tflite_words.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "arithmetic/fixed16.h"
#include "arithmetic/round.h"

namespace qtx::reference {
namespace {

using std::int64_t;

constexpr int64_t kMost16 = std::numeric_limits<std::int16_t>::max();

int64_t HalfAway(double value) { return static_cast<int64_t>(std::round(value)); }

// 2^16 / (1 + exp(-i / 24)), raised by half of what a line to the next entry misses in the middle.
// binary64 decides: no entry lies within 2^-8 of a tie.
using SigmoidTable = std::array<int64_t, 256>;
const SigmoidTable& Sigmoids() {
  static const SigmoidTable kTable = [] {
    const auto sigmoid = [](double v) { return 0x1p16 / (1 + std::exp(-v / 24)); };
    SigmoidTable entries;
    for (std::size_t i = 0; i + 1 < entries.size(); ++i) {
      const auto at = static_cast<double>(i);
      entries[i] = HalfAway(0.75 * sigmoid(at) - 0.25 * sigmoid(at + 1) + 0.5 * sigmoid(at + 0.5));
    }
    entries.back() = (1 << 16) - 1;
    return entries;
  }();
  return kTable;
}

// 512 intervals of a function in units of 2^-15, whose ends are lowered by half of what a line
// between them is too high in the middle, all of it rounded.
using Samples = std::array<int64_t, 513>;
template <typename Function>
Samples Sampled(Function function) {
  Samples samples;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto at = static_cast<double>(i);
    const int64_t sample = HalfAway(function(at));
    const int64_t line = HalfAway((function(at + 1) + static_cast<double>(sample)) / 2);
    const int64_t excess = line - HalfAway(function(at + 0.5));
    const bool last = i + 1 == samples.size();
    samples[i] = Saturated16(last ? sample : sample - HalfAway(static_cast<double>(excess) / 2));
  }
  return samples;
}

int64_t Interpolated(const Samples& samples, int64_t value) {
  const auto i = static_cast<std::size_t>(256 + (value >> 7));
  const int64_t slope = samples[i + 1] - samples[i];
  return samples[i] + ((slope * (value & 127) + 64) >> 7);
}

const Samples& Exponentials() {  // of [-10, 0]
  static const Samples kSamples =
      Sampled([](double i) { return 0x1p15 * std::exp(10 * (i - 512) / 512); });
  return kSamples;
}

const Samples& Reciprocals() {  // of [1, 2]
  static const Samples kSamples = Sampled([](double i) { return 0x1p15 / (1 + i / 512); });
  return kSamples;
}

}  // namespace

std::optional<WordSigmoid> WordSigmoid::Make(const Arithmetic& arithmetic, Function function,
                                             float x_scale) {
  WordSigmoid sigmoid;
  sigmoid.function_ = function;
  if (arithmetic.litert == Arithmetic::LiteRt::kBuiltin) {
    const int most = function == Function::kTanh ? 1 : 0;
    for (int k = 0; k <= most; ++k) {
      if (x_scale == std::ldexp(0x1p-12F, k)) sigmoid.doublings_ = k;
    }
  }
  double multiplier = static_cast<double>(x_scale) * 4096 * 3;  // exact
  if (multiplier >= 0x1p15) return std::nullopt;
  constexpr double kHalf = 32767.0 / 2;
  for (; multiplier <= kHalf && sigmoid.shift_ <= 30; multiplier *= 2) ++sigmoid.shift_;
  sigmoid.multiplier_ = static_cast<int64_t>(multiplier);
  return sigmoid;
}

int64_t WordSigmoid::operator()(int64_t x) const {
  if (doublings_ < 0) return OfTable(x);
  const auto argument = static_cast<std::int16_t>(Saturated16(x * (int64_t{1} << doublings_)));
  return function_ == Function::kTanh ? Tanh16(argument, 3) : Logistic16(argument);
}

int64_t WordSigmoid::OfTable(int64_t x) const {
  const int64_t round = shift_ > 0 ? int64_t{1} << (shift_ - 1) : 0;
  const int64_t v = (x * multiplier_ + round) >> shift_;
  const int64_t magnitude = std::abs(v);
  const int bits = function_ == Function::kTanh ? 8 : 9;  // of an entry's interval
  const int64_t i = magnitude >> bits;
  int64_t value = function_ == Function::kTanh ? int64_t{65535} << 8 : kMost16 << 10;
  if (i < 255) {
    const auto at = static_cast<std::size_t>(i);
    const int64_t rest = magnitude & ((1 << bits) - 1);
    value = (Sigmoids()[at] << bits) + rest * (Sigmoids()[at + 1] - Sigmoids()[at]);
  }
  if (function_ == Function::kTanh) {
    constexpr int64_t kOne = 1 << 23;
    return (v >= 0 ? value - kOne + 128 : kOne - value + 127) >> 8;
  }
  return (v >= 0 ? value + 512 : (1 << 25) - value + 511) >> 10;
}

void PutWordSoftmaxRow(const Operand& input, std::span<const int64_t> row, Output* output) {
  constexpr double kStep = 10.0 / 65535;
  const FixedMultiplier factor = ToFixed(static_cast<double>(input.scale(0)) / kStep);
  int64_t max = std::numeric_limits<std::int16_t>::min();
  for (const int64_t i : row) max = std::max<int64_t>(max, input.stored(i));
  std::vector<int64_t> exponentials;
  int64_t sum = 0;
  for (const int64_t i : row) {
    const int64_t below = MultiplyFixed(input.stored(i) - max, factor,
                                        RequantizeRecipe::Rounds::kTwiceWrapped, TieRule::kHalfUp);
    exponentials.push_back(Interpolated(Exponentials(), Saturated16(below + kMost16)));
    sum += exponentials.back();
  }
  const int zeros = std::countl_zero(static_cast<std::uint32_t>(sum));
  const int64_t shifted = ((sum << (zeros - 1)) + (1 << 13)) >> 14;
  const int64_t reciprocal =
      Interpolated(Reciprocals(), Saturated16(shifted - (1 << 15) - (1 << 16)));
  const int right = 31 - zeros;
  for (std::size_t k = 0; k < row.size(); ++k) {
    const int64_t share = RoundShift(exponentials[k] * reciprocal, right, TieRule::kHalfUp);
    output->PutStored(row[k], std::clamp<int64_t>(share, 0, kMost16));
  }
}

}  // namespace qtx::reference
