#include "ops/pool.h"

namespace qtx::reference {

Result<Window> PoolWindow(const Call& call) {
  return Window::Make(call.node, std::span(call.inputs[0]->dims).subspan(2),
                      call.node.IntsOr("kernel_shape", {}));
}

Planes PlanesOf(const Call& call) {
  const format::Dims& dims = call.inputs[0]->dims;
  Planes planes;
  for (std::size_t i = 0; i < dims.size(); ++i) (i < 2 ? planes.count : planes.pixels) *= dims[i];
  return planes;
}

PoolWalk::PoolWalk(const Call& call, const Window& window)
    : window_(&window), planes_(PlanesOf(call)) {
  window_->TapsAt(0, &taps_);
}

bool PoolWalk::Next() {
  if (planes_.count == 0) return false;
  if (++plane_ == planes_.count) {
    plane_ = 0;
    if (++position_ == window_->positions()) return false;
    window_->TapsAt(position_, &taps_);
  }
  sources_.clear();
  for (const Tap& tap : taps_) sources_.push_back(plane_ * planes_.pixels + tap.input);
  return true;
}

}  // namespace qtx::reference
