// Matrices of FLOAT products as their kernels read them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "engine/kernels.h"

namespace qtx::backend::engine {

/// The columns of a panel of n, with those that make them whole for the kernels. Binary32: two
/// short vectors take as long as the one that holds both.
template <typename Real>
std::int64_t PanelWidth(std::int64_t n) {
  const std::int64_t width = (n + kRealColumns - 1) / kRealColumns * kRealColumns;
  return sizeof(Real) == sizeof(float) && width % 16 == 12 ? width + kRealColumns : width;
}

/// A matrix [depth][columns], element (k, c) at from[k * row_step + c * column_step], as panels of
/// `width` columns: [panel][depth][PanelWidth], the last one narrower, and 0 beyond the columns.
template <typename W, typename Real = W>
struct RealPanels {
  std::vector<W> values;
  double greatest = 0;  // sum of the magnitudes of a column, without NaN

  RealPanels(const W* from, std::int64_t depth, std::int64_t columns, std::int64_t row_step,
             std::int64_t column_step, std::int64_t width) {
    for (std::int64_t first = 0; first < columns; first += width) {
      const std::int64_t n = std::min(width, columns - first);
      std::vector<double> magnitudes(static_cast<std::size_t>(n));
      for (std::int64_t k = 0; k < depth; ++k) {
        for (std::int64_t c = 0; c < n; ++c) {
          const W value = from[k * row_step + (first + c) * column_step];
          values.push_back(value);
          magnitudes[static_cast<std::size_t>(c)] += std::fabs(static_cast<double>(value));
        }
        values.resize(values.size() + static_cast<std::size_t>(PanelWidth<Real>(n) - n));
      }
      for (const double magnitude : magnitudes) greatest = std::max(greatest, magnitude);
    }
  }
};

}  // namespace qtx::backend::engine
