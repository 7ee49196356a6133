#include "engine/ops/gate_sums.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace qtx::backend::engine {
namespace {

constexpr std::size_t Index(std::int64_t i) { return static_cast<std::size_t>(i); }

// The greatest magnitude and the greatest error of a vector; not finite if one of its is not.
Estimate Greatest(std::span<const Estimate> vector) {
  Estimate greatest;
  for (const Estimate& x : vector) {
    if (!std::isfinite(x.value) || !std::isfinite(x.error)) {
      return {0, std::numeric_limits<double>::infinity()};
    }
    greatest.value = std::max(greatest.value, std::fabs(x.value));
    greatest.error = std::max(greatest.error, x.error);
  }
  return greatest;
}

}  // namespace

GateSums::GateSums(const Kernels& kernels, std::int64_t rows, std::int64_t input,
                   std::int64_t hidden)
    : tile_(kernels.real_tile),
      rows_(rows),
      input_(input),
      hidden_(hidden),
      width_((rows + kRealColumns - 1) / kRealColumns * kRealColumns),
      vector_(Index(input + hidden)),
      products_(Index(width_)),
      errors_(Index(width_)) {
  for (std::int64_t k = 0; k < input + hidden; ++k) offsets_.push_back(k);
}

std::unique_ptr<GateSums> GateSums::Make(const Kernels& kernels, std::span<const Estimate> w,
                                         std::span<const Estimate> r, std::int64_t rows,
                                         std::int64_t input, std::int64_t hidden) {
  const auto exact = [](const Estimate& x) { return x.error == 0; };
  if (!std::ranges::all_of(w, exact) || !std::ranges::all_of(r, exact)) return nullptr;
  std::unique_ptr<GateSums> sums(new GateSums(kernels, rows, input, hidden));
  const std::size_t of_w = Index(rows * input), of_r = Index(rows * hidden);
  for (std::size_t d = 0; d * of_r < r.size(); ++d) {
    sums->Append(w.subspan(d * of_w, of_w), r.subspan(d * of_r, of_r));
  }
  return sums;
}

void GateSums::Append(std::span<const Estimate> w, std::span<const Estimate> r) {
  Panel panel{.weights = std::vector<double>(Index((input_ + hidden_) * width_)),
              .magnitudes = std::vector<double>(Index(hidden_ * width_)),
              .of_x = std::vector<double>(Index(rows_)),
              .of_h = std::vector<double>(Index(rows_))};
  for (std::int64_t g = 0; g < rows_; ++g) {
    for (std::int64_t k = 0; k < input_; ++k) {
      const double weight = w[Index(g * input_ + k)].value;
      panel.weights[Index(k * width_ + g)] = weight;
      panel.of_x[Index(g)] += std::fabs(weight);
    }
    for (std::int64_t k = 0; k < hidden_; ++k) {
      const double weight = r[Index(g * hidden_ + k)].value;
      panel.weights[Index((input_ + k) * width_ + g)] = weight;
      panel.magnitudes[Index(k * width_ + g)] = std::fabs(weight);
      panel.of_h[Index(g)] += std::fabs(weight);
    }
  }
  panels_.push_back(std::move(panel));
}

// sums[g] = vector_ . column g of the panel, of `taps` elements.
void GateSums::Multiply(const std::vector<double>& panel, std::int64_t taps,
                        std::vector<double>& sums) {
  RealTile<double> tile;
  tile.rows[0] = vector_.data();
  tile.row_count = 1;
  tile.values = panel.data();
  tile.offsets = offsets_.data();
  tile.taps = taps;
  tile.columns = width_;
  tile.sums = sums.data();
  tile_(tile);
}

// A sum of n products errs by at most 2 n u of the sum of their magnitudes (Higham, Accuracy and
// Stability of Numerical Algorithms, 3.1), which is at most the greatest magnitude of the vector
// times that of the weights. The errors of h, which grow from step to step, count by the weight
// that each has. The slack is for the roundings of the bound.
void GateSums::Compute(std::size_t direction, std::span<const Estimate> x,
                       std::span<const Estimate> h, std::vector<Estimate>& sums) {
  constexpr double kSlack = 1 + 0x1p-20;
  constexpr double kTiny = 0x1p-900;
  const Panel& panel = panels_[direction];
  const Estimate of_x = Greatest(x), of_h = Greatest(h);
  std::ranges::transform(h, vector_.begin(), &Estimate::error);
  Multiply(panel.magnitudes, hidden_, errors_);
  std::ranges::transform(x, vector_.begin(), &Estimate::value);
  std::ranges::transform(h, vector_.begin() + input_, &Estimate::value);
  Multiply(panel.weights, input_ + hidden_, products_);
  const double rounding = static_cast<double>(input_ + hidden_ + 4) * 0x1p-52;
  sums.resize(Index(rows_));
  for (std::size_t g = 0; g < sums.size(); ++g) {
    const double error = panel.of_x[g] * (of_x.error + of_x.value * rounding) + errors_[g] +
                         panel.of_h[g] * of_h.value * rounding;
    const bool known = std::isfinite(of_x.error) && std::isfinite(of_h.error);
    sums[g] = {products_[g], known ? error * kSlack + kTiny : of_x.error + of_h.error};
  }
}

}  // namespace qtx::backend::engine
