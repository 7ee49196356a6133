// One operand of an elementwise operation, read in the order of the result's elements.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/buffer.h"

namespace qtx::backend::engine {

/// The layout of an operand that meets a result of `layout`: an operand of another rank has its
/// elements in order.
inline Layout OperandLayout(const format::Dims& operand, const format::Dims& to, Layout layout) {
  return operand.size() == to.size() ? layout : Layout::kRowMajor;
}

/// ONNX's multidirectional broadcast of a buffer.
class Broadcast {
 public:
  Broadcast() = default;
  /// `from`: dims and layout of the operand; `to`: those of the result, to which it broadcasts.
  Broadcast(const format::Dims& from, Layout from_layout, const format::Dims& to, Layout to_layout);

  /// True if element i of the result meets element i of the operand.
  bool in_order() const { return in_order_; }
  /// Elements `first` to `first` + n of the result, n >= 1: those in place if they are in order,
  /// else copied to `out`.
  template <typename T>
  const T* Take(const T* stored, std::int64_t first, std::int64_t n, T* out) const {
    if (in_order_) return stored + first;
    const Axis& inner = axes_.back();
    std::int64_t at = first % inner.count;
    std::int64_t outer = first / inner.count;
    for (std::int64_t i = 0; i < n; at = 0, ++outer) {
      const std::int64_t run = std::min(n - i, inner.count - at);
      const T* from = stored + Outer(outer);
      if (inner.stride == 0) {
        std::fill_n(out + i, run, *from);
      } else if (inner.stride == 1) {
        std::copy_n(from + at, run, out + i);
      } else {
        for (std::int64_t k = 0; k < run; ++k) out[i + k] = from[(at + k) * inner.stride];
      }
      i += run;
    }
    return out;
  }

 private:
  struct Axis {
    std::int64_t count = 1, stride = 0;  // of the operand
  };
  // Where the run `index` of the innermost axis begins.
  std::int64_t Outer(std::int64_t index) const {
    std::int64_t element = 0;
    for (std::size_t d = axes_.size() - 1; d-- > 0; index /= axes_[d].count) {
      element += index % axes_[d].count * axes_[d].stride;
    }
    return element;
  }

  std::vector<Axis> axes_{Axis{}};  // in the order of the result's memory; never empty
  bool in_order_ = true;
};

}  // namespace qtx::backend::engine
