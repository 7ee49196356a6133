// The elements of ConvTranspose: which of x reach a position of y, by which weight.
// Source: conv_transpose.S1, conv_transpose.S4 to conv_transpose.S6.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/window.h"

namespace qtx::reference {

class TransposedWindow {
 public:
  /// `input` and `kernel` are spatial dimensions.  REQUIRES: `node` keeps the clauses of
  /// ConvTranspose.  Errors: kTooLarge.
  static Result<TransposedWindow> Make(const format::Node& node,
                                       std::span<const std::int64_t> input,
                                       std::span<const std::int64_t> kernel);
  std::int64_t positions() const { return layout_.positions; }
  /// The taps of row-major output position `position`, in kernel order.
  void TapsAt(std::int64_t position, std::vector<Tap>* taps) const;

 private:
  WindowLayout layout_;
};

}  // namespace qtx::reference
