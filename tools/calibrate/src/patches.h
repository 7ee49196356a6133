// The patches of a Conv's input, one a position of its output: rows of X (im2col).
#pragma once

#include <cstdint>
#include <vector>

#include "qtx/format/result.h"
#include "qtx/format/shape.h"
#include "qtx/format/window.h"

namespace qtx::calibrate {

class Patches {
 public:
  /// Of an input [N, C, spatial...]; `axes`: its spatial axes.
  /// Errors: kTooLarge for more than kMaxElements rows.
  static Result<Patches> Make(const format::Dims& dims, std::vector<format::WindowAxis> axes);

  std::int64_t rows() const { return rows_; }
  std::int64_t taps() const { return taps_; }
  std::int64_t plane() const { return plane_; }  // elements of a channel

  /// For each row from `first` on, `count` of them, and each tap: the place in the row's first
  /// channel of the whole input, counted from the input's beginning; -1: padding.
  void Places(std::int64_t first, std::int64_t count, std::vector<std::int64_t>* places) const;

 private:
  std::int64_t PlaceOf(std::int64_t row, std::int64_t tap) const;

  std::vector<format::WindowAxis> axes_;
  std::int64_t rows_ = 1, taps_ = 1, plane_ = 1, image_ = 1;
};

}  // namespace qtx::calibrate
