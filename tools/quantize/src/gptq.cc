#include "gptq.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace qtx::quantize {
namespace {

constexpr double kDamping = 0.01;  // of the mean diagonal; section 3.3 of the paper

Error NoGram(std::size_t row) {
  return {ErrorCode::kInvalid, "row " + std::to_string(row),
          "expected sums X^T X, which have no negative eigenvalue"};
}

// The upper triangular V with V V^T = h, in the place of h's upper triangle: from the last column
// to the first.
Result<void> Factor(std::vector<double>& h, std::size_t size) {
  std::vector<double> column(size);
  for (std::size_t c = size; c-- > 0;) {
    const double pivot = h[c * size + c];
    if (!(pivot > 0)) return NoGram(c);
    const double root = std::sqrt(pivot);
    h[c * size + c] = root;
    for (std::size_t i = 0; i < c; ++i) column[i] = h[i * size + c] /= root;
    for (std::size_t i = 0; i < c; ++i) {
      const double factor = column[i];
      if (factor == 0) continue;
      for (std::size_t j = i; j < c; ++j) h[i * size + j] -= factor * column[j];
    }
  }
  return {};
}

// The sums of rows in another order, in which `order` names them.
Gram Reordered(const Gram& gram, const std::vector<std::size_t>& order) {
  const auto size = static_cast<std::size_t>(gram.size);
  Gram result{.size = gram.size};
  result.sums.reserve(gram.sums.size());
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = i; j < size; ++j) {
      const auto [first, second] = std::minmax(order[i], order[j]);
      result.sums.push_back(gram.sums[first * size - first * (first + 1) / 2 + second]);
    }
  }
  return result;
}

}  // namespace

std::vector<std::size_t> ByDiagonal(const Gram& gram) {
  const auto size = static_cast<std::size_t>(gram.size);
  std::vector<double> diagonal(size);
  for (std::size_t i = 0, next = 0; i < size; next += size - i++) diagonal[i] = gram.sums[next];
  std::vector<std::size_t> order(size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return diagonal[i]; });
  return order;
}

Result<std::vector<double>> DampedSums(const Gram& gram) {
  const auto size = static_cast<std::size_t>(gram.size);
  std::vector<double> h(size * size);
  double sum = 0;
  std::size_t next = 0;
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = i; j < size; ++j) h[i * size + j] = h[j * size + i] = gram.sums[next++];
    const double diagonal = h[i * size + i];
    if (!(diagonal >= 0) || !std::isfinite(diagonal)) return NoGram(i);
    sum += diagonal;
  }
  const double mean = sum > 0 ? sum / static_cast<double>(size) : 1;
  for (std::size_t i = 0; i < size; ++i) h[i * size + i] += kDamping * mean;
  return h;
}

// With V V^T = H, the inverse is V^-T V^-1, so U = V^-1: U[i, j] = -(sum of V[i, k] U[k, j], i < k
// <= j) / V[i, i].
Result<std::vector<double>> InverseFactor(const Gram& gram) {
  const auto size = static_cast<std::size_t>(gram.size);
  QTX_ASSIGN_OR_RETURN(std::vector<double> v, DampedSums(gram));
  QTX_RETURN_IF_ERROR(Factor(v, size));
  std::vector<double> u(size * size);
  for (std::size_t i = size; i-- > 0;) {
    double* const row = &u[i * size];
    for (std::size_t k = i + 1; k < size; ++k) {
      const double factor = v[i * size + k];
      for (std::size_t j = k; j < size; ++j) row[j] -= factor * u[k * size + j];
    }
    row[i] = 1;
    for (std::size_t j = i; j < size; ++j) row[j] /= v[i * size + i];
  }
  return u;
}

Result<void> Retarget(const Gram& gram, std::vector<double>& weights) {
  QTX_ASSIGN_OR_RETURN(const std::vector<double> h, DampedSums(gram));
  QTX_ASSIGN_OR_RETURN(const std::vector<double> u, InverseFactor(gram));
  const auto size = static_cast<std::size_t>(gram.size);
  const std::size_t columns = weights.size() / size;
  const auto add = [columns](double factor, const double* from, double* to) {
    for (std::size_t c = 0; c < columns; ++c) to[c] += factor * from[c];
  };
  // (X^T Y + d) W, then U of it, then U^T: U^T U is the inverse.
  std::vector<double> target(weights.size()), half(weights.size());
  std::size_t next = 0;  // of the triangle
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j)
      add(gram.cross[i * size + j], &weights[j * columns], &target[i * columns]);
    add(h[i * size + i] - gram.sums[next], &weights[i * columns], &target[i * columns]);
    next += size - i;
  }
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = i; j < size; ++j)
      add(u[i * size + j], &target[j * columns], &half[i * columns]);
  }
  std::ranges::fill(weights, 0);
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = i; j < size; ++j)
      add(u[i * size + j], &half[i * columns], &weights[j * columns]);
  }
  return {};
}

Result<void> RoundRows(const Gram& gram, std::vector<double>& weights,
                       const RowRounding& rounding) {
  const auto size = static_cast<std::size_t>(gram.size);
  std::vector<std::size_t> order = rounding.order;
  if (order.empty()) {
    order.resize(size);
    std::iota(order.begin(), order.end(), std::size_t{0});
  }
  QTX_ASSIGN_OR_RETURN(const std::vector<double> u, InverseFactor(Reordered(gram, order)));
  const std::size_t columns = weights.size() / size;
  std::vector<double> errors(columns);
  for (std::size_t turn = 0; turn < size; ++turn) {
    const std::size_t k = order[turn];
    QTX_RETURN_IF_ERROR(rounding.begin(static_cast<std::int64_t>(k)));
    for (std::size_t c = 0; c < columns; ++c) {
      const double value = weights[k * columns + c];
      const double stored = rounding.stored(
          static_cast<std::int64_t>(k), static_cast<std::int64_t>(c), static_cast<float>(value));
      errors[c] = (value - stored) / u[turn * size + turn];
    }
    for (std::size_t j = turn + 1; j < size; ++j) {
      const double factor = u[turn * size + j];
      if (factor == 0) continue;
      double* const row = &weights[order[j] * columns];
      for (std::size_t c = 0; c < columns; ++c) row[c] -= errors[c] * factor;
    }
  }
  return {};
}

}  // namespace qtx::quantize
