// The windows of convolutions and pools, for fault models: which elements each output reads.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "qtx/format/model.h"
#include "qtx/format/window.h"

namespace qtx::conformance {

/// The spatial axes of a convolution or pool of input dims `x`; nullopt where they cannot be.
std::optional<std::vector<format::WindowAxis>> AxesOf(const format::Node& node,
                                                      const format::Dims& x,
                                                      const format::Dims& kernel);

/// Begin of every axis, then ends, as in the attribute pads.
format::Dims PadsOf(const std::vector<format::WindowAxis>& axes);
format::Dims OutputsOf(const std::vector<format::WindowAxis>& axes);

/// The elements of one plane of the input that one output reads.
struct Window {
  std::vector<std::int64_t> elements;
  std::int64_t padding = 0;  // positions in the padding
  std::int64_t beyond = 0;   // positions beyond the padding, which ceil_mode may add
};

class Windows {
 public:
  /// Of a pool with input dims `x`; nullopt for other operators.  Source: average_pool.S1, S3.
  static std::optional<Windows> Of(const format::Node& node, const format::Dims& x);

  std::int64_t image() const;                                    // elements of a plane of the input
  std::int64_t outputs() const;                                  // of the output
  format::Dims output_dims() const { return OutputsOf(axes_); }  // spatial
  Window At(std::int64_t output) const;

 private:
  explicit Windows(std::vector<format::WindowAxis> axes) : axes_(std::move(axes)) {}

  std::vector<format::WindowAxis> axes_;
};

}  // namespace qtx::conformance
