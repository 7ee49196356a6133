// Rows of integers and their sums X^T X, in panels of columns that stay in a processor's caches.
// Products of integers up to 2^23 are summed in binary64 as long as that is exact, then in 64 bits,
// then in 128.
#pragma once

#include <cstddef>
#include <vector>

namespace qtx::calibrate {

class PackedRows {
 public:
  static constexpr std::size_t kRows = 512;  // at most
  static constexpr std::size_t kPanel = 8;   // columns

  explicit PackedRows(std::size_t size)
      : size_(size), panels_((size + kPanel - 1) / kPanel * kPanel * kRows) {}

  /// `integer`: at most 2^23 in magnitude. Elements that are not set are 0.
  void Set(std::size_t row, std::size_t column, float integer) {
    panels_[(column / kPanel * kRows + row) * kPanel + column % kPanel] =
        static_cast<double>(integer);
  }

  /// Adds X^T X of the first `rows` rows to `sums`, an upper triangle, row-major.
  /// REQUIRES: rows <= kRows.
  void AddProducts(std::size_t rows, __int128* sums) const;

 private:
  std::size_t size_;
  std::vector<double> panels_;  // [panel, kRows, kPanel]
};

}  // namespace qtx::calibrate
