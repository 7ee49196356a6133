// What reading and writing records have in common.
#pragma once

#include <cstdint>
#include <cstring>

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

// Eight bytes as one word, for operations on each.
constexpr std::uint64_t kEachByte = 0x0101010101010101;

inline std::uint64_t LoadWord(const void* from) {
  std::uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}
inline void StoreWord(void* to, std::uint64_t word) { std::memcpy(to, &word, sizeof word); }

}  // namespace qtx::format
