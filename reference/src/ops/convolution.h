// The products of Conv and ConvTranspose, which differ in what their windows reach.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "arithmetic/product.h"
#include "ops/window.h"

namespace qtx::reference {

/// Sizes of one call: x [batch, group * depth, pixels], w [channels, depth, kernel] or, transposed,
/// [group * depth, channels / group, kernel], y [batch, channels, positions].
struct Convolution {
  std::int64_t batch = 0;
  std::int64_t group = 1;
  std::int64_t depth = 0;
  std::int64_t channels = 0;
  std::int64_t pixels = 0;
  std::int64_t kernel = 0;
  std::int64_t positions = 0;
  bool transposed = false;
  /// The taps of a row-major output position, in kernel order.
  std::function<void(std::int64_t position, std::vector<Tap>* taps)> taps;
};

/// Puts every element of y: the sum of x * w over the taps, channel by channel, and the bias.
void Convolve(const Convolution& g, const Operand& x, const Operand& w, ProductSum* sum);

}  // namespace qtx::reference
