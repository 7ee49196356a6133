#include "ops/pool.h"

#include <algorithm>

namespace qtx::reference {

using format::Dims;

Result<void> CheckPoolAttributes(const format::Node& node) {
  if (node.Find("kernel_shape") == nullptr) {
    return Error{ErrorCode::kInvalid, "attribute 'kernel_shape'", "is required"};
  }
  return CheckWindowAttributes(node);
}

Result<Window> PoolWindow(const Call& call) {
  const Dims& x = call.inputs[0]->dims;
  if (x.size() < 3) {
    return Error{ErrorCode::kInvalid, InputName(call, 0),
                 "found shape " + format::ToString(x) + ", expected rank 3 or more"};
  }
  const Dims kernel = call.node.IntsOr("kernel_shape", {});
  if (kernel.size() + 2 != x.size()) {
    return Error{ErrorCode::kInvalid, "attribute 'kernel_shape'",
                 "found " + std::to_string(kernel.size()) + " values, expected " +
                     std::to_string(x.size() - 2)};
  }
  const Dims pads = call.node.IntsOr("pads", {});
  for (std::size_t i = 0; i < pads.size(); ++i) {
    // With a pad as large as the kernel a window could lie outside the input.
    if (pads[i] >= kernel[i % kernel.size()]) {
      return Error{ErrorCode::kInvalid, "attribute 'pads'",
                   "found " + std::to_string(pads[i]) + ", expected less than the kernel's " +
                       std::to_string(kernel[i % kernel.size()])};
    }
  }
  return Window::Make(call.node, std::span(x).subspan(2), kernel);
}

Dims PoolDims(const Call& call, const Window& window) {
  Dims dims = {call.inputs[0]->dims[0], call.inputs[0]->dims[1]};
  dims.insert(dims.end(), window.output().begin(), window.output().end());
  return dims;
}

Result<Planes> PlanesOf(const Call& call) {
  Planes planes{call.inputs[0]->dims, 0, 0};
  const std::int64_t total = format::ElementCount(*call.inputs[0]);
  if (planes.dims.size() < 3 || total == 0) {
    return Error{
        ErrorCode::kInvalid, InputName(call, 0),
        "found shape " + format::ToString(planes.dims) + ", expected rank 3 or more, not empty"};
  }
  planes.count = planes.dims[0] * planes.dims[1];
  planes.pixels = total / planes.count;
  std::fill(planes.dims.begin() + 2, planes.dims.end(), 1);
  return planes;
}

PoolWalk::PoolWalk(const Call& call, const Window& window)
    : window_(&window),
      planes_(call.inputs[0]->dims[0] * call.inputs[0]->dims[1]),
      pixels_(planes_ == 0 ? 0 : format::ElementCount(*call.inputs[0]) / planes_) {
  window_->TapsAt(0, &taps_);
}

bool PoolWalk::Next() {
  if (planes_ == 0) return false;
  if (++plane_ == planes_) {
    plane_ = 0;
    if (++position_ == window_->positions()) return false;
    window_->TapsAt(position_, &taps_);
  }
  sources_.clear();
  for (const Tap& tap : taps_) sources_.push_back(plane_ * pixels_ + tap.input);
  return true;
}

}  // namespace qtx::reference
