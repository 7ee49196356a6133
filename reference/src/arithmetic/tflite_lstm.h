// What TFLite's LSTM of 8-bit activations and a 16-bit cell state computes, element by element.
// Source: tflite.S18.
#pragma once

#include <array>
#include <cstdint>

#include "arithmetic/round.h"

namespace qtx::reference {

class TfliteLstm {
 public:
  static constexpr std::size_t kGates = 4;

  struct Scales {
    float x = 1, hidden = 1;           // of the input, and of the state h and the output
    std::array<float, kGates> w = {};  // of each gate's weights of x
    std::array<float, kGates> r = {};  // and of h
    int cell_exponent = 0;             // the state c is in units of 2^cell_exponent
  };
  explicit TfliteLstm(const Scales& scales);

  /// The argument of a gate's activation in units of 2^-12, from its sums over x and over h.
  std::int16_t Argument(std::size_t gate, std::int64_t of_x, std::int64_t of_h) const;
  /// f * c + i * g before the clamp to the cell's range; gates in units of 2^-15.
  std::int64_t Cell(std::int16_t f, std::int64_t c, std::int16_t i, std::int16_t g) const;
  /// o * tanh(c) in units of h's scale, without its offset.
  std::int64_t Hidden(std::int16_t o, std::int64_t c) const;

 private:
  std::array<FixedMultiplier, kGates> of_x_, of_h_;
  FixedMultiplier hidden_;
  int cell_exponent_;
};

}  // namespace qtx::reference
