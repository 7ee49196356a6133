#include "descent.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace qtx::quantize {
namespace {

constexpr int kRounds = 64, kScaleRounds = 16;
constexpr double kGain = 0.999;  // of the error, below which a round of scales was worth it
constexpr auto kFactors = std::to_array<float>({1, 0.9F, 0.8F, 0.7F, 0.6F});  // of the scales

class Descent {
 public:
  Descent(std::span<const double> h, Filter& filter)
      : h_(h), filter_(filter), size_(filter.reals.size()), left_(size_), pull_(size_) {
    for (std::size_t k = 0; k < size_; ++k) Move(k, filter.reals[k] - Stored(k));
  }

  void Run() {
    double before = Error();
    for (int round = 0; filter_.fits_scales && round < kScaleRounds; ++round) {
      ChangeCodes();
      for (std::size_t b = 0; b < filter_.scales.size(); ++b) ChangeScale(b);
      const double after = Error();
      if (!(after < before * kGain)) break;
      before = after;
    }
    for (int round = 0; round < kRounds && ChangeCodes(); ++round) {
    }
  }

  double Error() const {
    double error = 0;
    for (std::size_t k = 0; k < size_; ++k) error += left_[k] * pull_[k];
    return error;
  }

 private:
  double ScaleOf(std::size_t k) const {
    return static_cast<double>(filter_.scales[k / static_cast<std::size_t>(filter_.block)]);
  }
  double Stored(std::size_t k) const { return ScaleOf(k) * static_cast<double>(filter_.codes[k]); }

  // Adds `by` to w - q at k, and its part to H (w - q).
  void Move(std::size_t k, double by) {
    if (by == 0) return;
    left_[k] += by;
    const double* const row = &h_[k * size_];
    for (std::size_t j = 0; j < size_; ++j) pull_[j] += by * row[j];
  }

  bool ChangeCodes() {
    bool changed = false;
    for (std::size_t k = 0; k < size_; ++k) changed |= ChangeCode(k);
    return changed;
  }

  // The error is a parabola in each code.
  bool ChangeCode(std::size_t k) {
    const format::IntegerRange& limits =
        filter_.limits[k / static_cast<std::size_t>(filter_.block)];
    const double best = pull_[k] / (h_[k * size_ + k] * ScaleOf(k));
    const double step = std::nearbyint(std::clamp(best, -0x1p20, 0x1p20));
    const std::int64_t code =
        std::clamp(filter_.codes[k] + static_cast<std::int64_t>(step), limits.min, limits.max);
    // Of a tie the code stays, so that rounds end.
    const auto change = static_cast<double>(code - filter_.codes[k]);
    if (change == 0 || std::abs(best - change) >= std::abs(best)) return false;
    filter_.codes[k] = code;
    Move(k, -change * ScaleOf(k));
    return true;
  }

  // And in each scale: z are the codes of its block, and the best step is z^T H (w - q) / z^T H z.
  void ChangeScale(std::size_t block) {
    const std::size_t first = block * static_cast<std::size_t>(filter_.block);
    const std::size_t end = std::min(size_, first + static_cast<std::size_t>(filter_.block));
    double along = 0, curve = 0;
    for (std::size_t k = first; k < end; ++k) {
      const auto code = static_cast<double>(filter_.codes[k]);
      if (code == 0) continue;
      along += code * pull_[k];
      double product = 0;
      for (std::size_t j = first; j < end; ++j)
        product += h_[k * size_ + j] * static_cast<double>(filter_.codes[j]);
      curve += code * product;
    }
    float& scale = filter_.scales[block];
    if (!(curve > 0)) return;
    const auto best = static_cast<float>(static_cast<double>(scale) + along / curve);
    const float chosen = std::max(best, filter_.least_scale);
    if (!std::isnormal(best) || best <= 0 || chosen == scale) return;
    const double by = static_cast<double>(scale) - static_cast<double>(chosen);
    scale = chosen;
    for (std::size_t k = first; k < end; ++k) Move(k, by * static_cast<double>(filter_.codes[k]));
  }

  std::span<const double> h_;
  Filter& filter_;
  std::size_t size_;
  std::vector<double> left_;  // w - q
  std::vector<double> pull_;  // H (w - q)
};

// Until no change of one code lowers the error.  Returns what is left.
double DescendFrom(std::span<const double> h, Filter& filter) {
  Descent descent(h, filter);
  descent.Run();
  return descent.Error();
}

void RoundToNearest(float factor, Filter& filter) {
  for (float& scale : filter.scales) {
    scale = std::max({scale * factor, filter.least_scale, std::numeric_limits<float>::min()});
  }
  for (std::size_t k = 0; k < filter.reals.size(); ++k) {
    const std::size_t b = k / static_cast<std::size_t>(filter.block);
    const double at = filter.reals[k] / static_cast<double>(filter.scales[b]);
    const double rounded = std::nearbyint(std::clamp(at, -0x1p24, 0x1p24));
    filter.codes[k] =
        std::clamp(static_cast<std::int64_t>(rounded), filter.limits[b].min, filter.limits[b].max);
  }
}

}  // namespace

void Descend(std::span<const double> h, Filter& filter) {
  const Filter start = filter;
  double least = DescendFrom(h, filter);
  for (const float factor : kFactors) {
    if (factor != 1 && !start.fits_scales) break;
    Filter other = start;
    RoundToNearest(factor, other);
    const double error = DescendFrom(h, other);
    if (error >= least) continue;
    least = error;
    filter = std::move(other);
  }
}

}  // namespace qtx::quantize
