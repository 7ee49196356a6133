// Rows of an operand as integers, for exact sums of products at the speed of integers.
#pragma once

#include <cstdint>
#include <vector>

#include "operand.h"
#include "rational.h"

namespace qtx::reference {

/// Rows of elements that lie evenly in an operand.
struct RowsView {
  std::int64_t start = 0, rows = 0, length = 0, row_stride = 0, stride = 1;  // in elements
  std::int64_t At(std::int64_t row, std::int64_t k) const {
    return start + row * row_stride + k * stride;
  }
};

/// The elements of each kBlock places of a row as integers times one power of two, where that takes
/// at most kBits bits. Borrows the operand.
class AlignedRows {
 public:
  AlignedRows(const Operand& operand, const RowsView& view);

  /// The sum over k of row i of `a` times row j of `b`, exactly.  REQUIRES: rows of one length.
  static ExactSum Product(const AlignedRows& a, std::int64_t i, const AlignedRows& b,
                          std::int64_t j);

 private:
  static constexpr std::int64_t kBlock = 64;
  static constexpr int kBits = 62;
  struct Block {
    std::int32_t exponent = 0;
    std::int32_t bits = 0;  // of the longest integer; above kBits: they are not aligned
  };
  void Align(std::int64_t row, std::int64_t begin, std::int64_t end);
  std::int64_t blocks() const { return (view_.length + kBlock - 1) / kBlock; }

  const Operand* operand_;
  RowsView view_;
  std::vector<std::int64_t> integers_;
  std::vector<Block> blocks_;
};

}  // namespace qtx::reference
