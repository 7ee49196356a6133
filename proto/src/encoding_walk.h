// What reading and writing records have in common.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "qtx/format/encoding.h"

namespace qtx::format {

// Steps through the records in row-major order.
class GridWalk {
 public:
  explicit GridWalk(const Dims& grid) : grid_(grid), at_(grid.size(), 0) {}
  std::int64_t StartOf(const FieldLayout& field) const {
    std::int64_t start = 0;
    for (std::size_t axis = 0; axis < at_.size(); ++axis) start += at_[axis] * field.step[axis];
    return start;
  }
  void Next() {
    for (std::size_t axis = at_.size(); axis-- > 0;) {
      if (++at_[axis] < grid_[axis]) return;
      at_[axis] = 0;
    }
  }

 private:
  const Dims& grid_;
  Dims at_;
};

// Records along the last axis lie side by side: the codes of such a band are put together line by
// line before they are packed.
struct CodeBands {
  CodeBands(const FieldLayout& field, const Dims& records, std::int64_t line)
      : grid(records),
        across(grid.empty() ? 1 : std::exchange(grid.back(), 1)),
        lines(field.per_record / line),
        length(across * line),
        width(BitWidth(field.type)),
        mask(static_cast<std::uint8_t>((1U << static_cast<unsigned>(width)) - 1)) {}
  // Room for those of a band, in eights.
  std::vector<std::uint8_t> Codes() const {
    return std::vector<std::uint8_t>(static_cast<std::size_t>((lines * length + 7) / 8 * 8));
  }

  Dims grid;  // of bands
  std::int64_t across, lines, length;
  int width;  // of a code in the tensor
  std::uint8_t mask;
};

}  // namespace qtx::format
