// The windows of convolutions and pools, for fault models: which elements each output reads.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "qtx/format/model.h"
#include "qtx/format/shape.h"

namespace qtx::conformance {

/// The elements of one plane of the input that one output reads.
struct Window {
  std::vector<std::int64_t> elements;
  std::int64_t padding = 0;  // positions in the padding
  std::int64_t beyond = 0;   // positions beyond the padding, which ceil_mode may add
};

/// Begin of every spatial axis, then ends: of the attribute pads, or as auto_pad computes them.
/// nullopt where an attribute has another number of values than `kernel`.
/// Source: conv.S5.
std::optional<format::Dims> PadsOf(const format::Node& node, const format::Dims& x,
                                   const format::Dims& kernel);

/// The sizes of the output's spatial axes; nullopt as above, and where a window does not fit.
/// Source: conv.S5, average_pool.S3.
std::optional<format::Dims> OutputsOf(const format::Node& node, const format::Dims& x,
                                      const format::Dims& kernel);

class Windows {
 public:
  /// Of a pool with input dims `x`; nullopt for other operators.  Source: average_pool.S1, S3.
  static std::optional<Windows> Of(const format::Node& node, const format::Dims& x);

  std::int64_t image() const;                                   // elements of a plane of the input
  std::int64_t outputs() const;                                 // of the output
  const format::Dims& output_dims() const { return outputs_; }  // spatial
  Window At(std::int64_t output) const;

 private:
  format::Dims size_, outputs_, kernel_, strides_, dilations_, pads_;
};

}  // namespace qtx::conformance
