// Packing for the inner-product kernels, and the product of one panel of rows with all columns.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/kernels.h"
#include "engine/requantize.h"

namespace qtx::backend::engine {

/// Operand a: rows in panels of at most max_rows, each [groups][rows][group], k padded with zeros.
template <typename T>
struct PackedRows {
  std::vector<T> data;
  std::int64_t rows = 0, groups = 0;
  int max_rows = 0, group = 0;

  void Reset(const GemmKernel<T>& kernel, std::int64_t row_count, std::int64_t depth) {
    rows = row_count;
    max_rows = kernel.max_rows;
    group = kernel.group;
    groups = (depth + group - 1) / group;
    data.assign(static_cast<std::size_t>(rows * groups * group), T{0});
  }
  int PanelRows(std::int64_t first) const {
    return static_cast<int>(std::min<std::int64_t>(max_rows, rows - first));
  }
  /// The panel that begins at row `first` (a multiple of max_rows).
  const T* Panel(std::int64_t first) const { return data.data() + first * groups * group; }
  T& At(std::int64_t row, std::int64_t k) {
    const std::int64_t first = row / max_rows * max_rows;
    const std::int64_t line = k / group * PanelRows(first) + row - first;
    return data[static_cast<std::size_t>((first * groups + line) * group + k % group)];
  }
};

/// Operand b: columns in panels of kernel.columns, each [groups][columns][group].
template <typename T>
struct PackedColumns {
  std::vector<T> data;
  std::int64_t columns = 0, groups = 0, panel_size = 0;

  void Reset(const GemmKernel<T>& kernel, std::int64_t column_count, std::int64_t depth) {
    groups = (depth + kernel.group - 1) / kernel.group;
    columns = (column_count + kernel.columns - 1) / kernel.columns * kernel.columns;
    panel_size = groups * kernel.columns * kernel.group;
    data.resize(static_cast<std::size_t>(columns * groups * kernel.group));
  }
  /// Packs `kernel.group` rows (k values `index` * group and on) over all columns.
  void PackGroup(const GemmKernel<T>& kernel, std::int64_t index, const T* const* rows) {
    kernel.interleave(rows, columns, panel_size,
                      data.data() + index * kernel.columns * kernel.group);
  }
};

/// The most k groups whose sum is certain to fit int32, where a product is at most `largest` in
/// magnitude.
inline std::int64_t SafeGroups(int group, std::int64_t largest) {
  return std::numeric_limits<std::int32_t>::max() / (std::max<std::int64_t>(largest, 1) * group);
}

/// Accumulators of one row panel over all columns of `b`.
class PanelSums {
 public:
  /// acc[r][c] for the panel; in int64 when `safe_groups` is less than the depth, else in int32.
  template <typename T>
  void Multiply(const GemmKernel<T>& kernel, const PackedRows<T>& a, std::int64_t first,
                const PackedColumns<T>& b, std::int64_t safe_groups) {
    rows_ = a.PanelRows(first);
    columns_ = b.columns;
    wide_ = safe_groups < a.groups;
    narrow_sums_.assign(static_cast<std::size_t>(rows_ * columns_), 0);  // the sum at depth 0
    if (wide_) wide_sums_.assign(narrow_sums_.size(), 0);
    for (std::int64_t done = 0; done < a.groups; done += safe_groups) {
      const std::int64_t groups = std::min(safe_groups, a.groups - done);
      const T* left = a.Panel(first) + done * rows_ * kernel.group;
      const T* right = b.data.data() + done * kernel.columns * kernel.group;
      for (std::int64_t c = 0; c < columns_; c += kernel.columns, right += b.panel_size) {
        kernel.multiply(left, right, groups, rows_, narrow_sums_.data() + c, columns_);
      }
      for (std::size_t i = 0; wide_ && i < wide_sums_.size(); ++i) wide_sums_[i] += narrow_sums_[i];
    }
  }

  /// Stores row `r`, `n` columns, as elements element.. of `out`. `step` 0: all of `channel`; 1:
  /// column c is of `channel` + c.
  void Store(Requantizer& requantizer, int r, std::int64_t n, std::int64_t channel,
             std::int64_t step, std::int64_t element, std::byte* out) const {
    const std::int64_t base = r * columns_;
    for (std::int64_t i = 0; wide_ && i < n; ++i) {
      requantizer.Single(wide_sums_[static_cast<std::size_t>(base + i)], channel + i * step,
                         element + i, out);
    }
    if (wide_) return;
    if (step == 0) {
      requantizer.Row(narrow_sums_.data() + base, n, channel, element, out);
    } else {
      requantizer.Columns(narrow_sums_.data() + base, n, channel, element, out);
    }
  }

  int rows() const { return rows_; }

 private:
  int rows_ = 0;
  std::int64_t columns_ = 0;
  bool wide_ = false;
  std::vector<std::int32_t> narrow_sums_;
  std::vector<std::int64_t> wide_sums_;
};

}  // namespace qtx::backend::engine
