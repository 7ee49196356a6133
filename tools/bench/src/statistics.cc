#include "qtx/bench/statistics.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace qtx::bench {
namespace {

double Quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

}  // namespace

Spread SpreadOf(std::vector<double> values) {
  assert(!values.empty());
  std::ranges::sort(values);
  return {Quantile(values, 0.25), Quantile(values, 0.5), Quantile(values, 0.75)};
}

Spread SpeedRatio(std::span<const double> own, std::span<const double> peer) {
  assert(own.size() == peer.size());
  std::vector<double> ratios(own.size());
  std::ranges::transform(peer, own, ratios.begin(), [](double p, double o) { return p / o; });
  return SpreadOf(std::move(ratios));
}

}  // namespace qtx::bench
