// The windows of a pool.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/common.h"
#include "ops/window.h"

namespace qtx::reference {

/// The window of AveragePool, LpPool or MaxPool over input 0, [N, C, spatial...].
/// Errors: kTooLarge.
Result<Window> PoolWindow(const Call& call);

/// Input 0, [N, C, spatial...], as planes to pool whole.
struct Planes {
  std::int64_t count = 1;
  std::int64_t pixels = 1;  // of each plane
};
Planes PlanesOf(const Call& call);

/// The windows of all N * C planes, in an order that computes each position's taps once.
class PoolWalk {
 public:
  PoolWalk(const Call& call, const Window& window);
  /// Advances; false after the last window.
  bool Next();
  std::int64_t element() const { return plane_ * window_->positions() + position_; }
  const std::vector<std::int64_t>& sources() const { return sources_; }  // never empty
  std::int64_t padded_count() const { return window_->PaddedCount(position_); }

 private:
  const Window* window_;
  Planes planes_;
  std::int64_t plane_ = -1;
  std::int64_t position_ = 0;
  std::vector<Tap> taps_;
  std::vector<std::int64_t> sources_;
};

}  // namespace qtx::reference
