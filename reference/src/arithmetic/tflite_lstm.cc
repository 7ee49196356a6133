#include "arithmetic/tflite_lstm.h"

#include "arithmetic/fixed16.h"
#include "arithmetic/tflite_kernels.h"

namespace qtx::reference {
namespace {

using std::int64_t;

// The unit of a gate's argument.
constexpr float kArgumentScale = 0x1p-12F;

// A sum in 32 bits that wrap, brought to the argument's unit.
int64_t Rescaled(int64_t sum, FixedMultiplier multiplier) {
  return MultiplyTwice(Accumulated(sum, RequantizeRecipe::Accumulator::kWrap32), multiplier);
}

}  // namespace

// Source: LiteRT f674577 kernels/unidirectional_sequence_lstm.cc PopulateQuantizedLstmParams8x8_16.
TfliteLstm::TfliteLstm(const Scales& scales) : cell_exponent_(scales.cell_exponent) {
  const auto factor = [](float a, float b) {
    return ToFixed(static_cast<double>(a * b / kArgumentScale));
  };
  for (std::size_t gate = 0; gate < kGates; ++gate) {
    of_x_[gate] = factor(scales.w[gate], scales.x);
    of_h_[gate] = factor(scales.r[gate], scales.hidden);
  }
  hidden_ = ToFixed(
      static_cast<double>(static_cast<float>(0x1p-30 / static_cast<double>(scales.hidden))));
}

// Source: the same, kernels/lstm_eval.cc CalculateLstmGateInteger8x8_16.
std::int16_t TfliteLstm::Argument(std::size_t gate, int64_t of_x, int64_t of_h) const {
  const int64_t first = Saturated16(Rescaled(of_x, of_x_[gate]));
  return static_cast<std::int16_t>(Saturated16(first + Rescaled(of_h, of_h_[gate])));
}

// Source: UpdateLstmCellInteger.
int64_t TfliteLstm::Cell(std::int16_t f, int64_t c, std::int16_t i, std::int16_t g) const {
  const int64_t kept = RoundShift(f * c, 15, TieRule::kHalfAway);
  const int64_t added = RoundShift(int64_t{i} * g, 30 + cell_exponent_, TieRule::kHalfAway);
  return Saturated16(kept + added);
}

// Source: CalculateLstmOutputInteger8x8_16.
int64_t TfliteLstm::Hidden(std::int16_t o, int64_t c) const {
  const int64_t tanh = Tanh16(static_cast<std::int16_t>(c), 15 + cell_exponent_);
  return MultiplyTwice(o * tanh, hidden_);
}

}  // namespace qtx::reference
