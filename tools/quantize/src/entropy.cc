// NVIDIA's entropy calibration: of all thresholds, the one where the histogram of the clipped
// values loses the least information when its bins are merged to as many levels as are stored.
// Source: S. Migacz, "8-bit Inference with TensorRT", GTC 2017, slides 35 to 40. As in NVIDIA's
// pytorch-quantization (calib/histogram.py), the bin of zero counts as much as the next, or the
// zeros of a Relu would forbid every merge, and of equal divergences the widest threshold wins.
// Their histogram has the bins that are merged. Here a bin of the statistics may cover several of
// them, and then all that the bin of zero covers count as much as the next.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "elementary.h"
#include "searches.h"

namespace qtx::quantize {
namespace {

constexpr std::size_t kMostBins = 2048;

// 2048, or so many fewer that a bin holds 16 of `count` values on average, zeros apart: the gaps of
// a sparse histogram would decide instead of its shape. NVIDIA's text assumes many values.
std::size_t BinsFor(double count) {
  std::size_t bins = kMostBins;
  while (bins > 1 && static_cast<double>(16 * bins) > count) bins /= 2;
  return bins;
}

// Masses over bins of equal width from 0 to `top`, each shared out by how much of it a bin holds.
std::vector<double> BinsOf(const std::vector<Mass>& masses, double top, std::size_t size) {
  std::vector<double> bins(size);
  const double width = top / static_cast<double>(size);
  const auto bin = [width, size](double x) {  // counts above a histogram may lie beyond `top`
    return static_cast<std::size_t>(std::clamp(x / width, 0.0, static_cast<double>(size - 1)));
  };
  for (const Mass& mass : masses) {
    const std::size_t first = bin(mass.lower), last = bin(mass.upper);
    if (first == last) {
      bins[first] += mass.count;
      continue;
    }
    const double density = mass.count / (mass.upper - mass.lower);
    for (std::size_t i = first; i <= last; ++i) {
      const double lower = std::max(mass.lower, width * static_cast<double>(i));
      const double upper =
          i == last ? mass.upper : std::min(mass.upper, width * static_cast<double>(i + 1));
      bins[i] += density * std::max(0.0, upper - lower);
    }
  }
  return bins;
}

// How far from 0 the masses that hold 0 reach, and how many numbers they have.
struct Zeros {
  double reach = 0;
  double count = 0;
};
Zeros ZerosOf(const Distribution& data) {
  Zeros zeros;
  for (const Mass& mass : data.masses) {
    if (mass.lower > 0 || mass.upper < 0) continue;
    zeros.reach = std::max({zeros.reach, -mass.lower, mass.upper});
    zeros.count += mass.count;
  }
  return zeros;
}

// The divergence of P, the first `kept` bins with what lies beyond in the last, from Q, the same
// bins merged to `levels` and spread again over those that are not empty. Bins do not divide
// evenly: level j has those from floor(j * kept / levels) on. Infinite where Q says that what P has
// cannot be, and where more than half of the values lie beyond: Q, made of the rest alone, would be
// as sure of a single value.
double Divergence(std::span<const double> bins, std::size_t kept, std::size_t levels,
                  double outside, double total) {
  const double inside = total - outside;
  if (!(inside >= outside)) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (std::size_t j = 0; j < levels; ++j) {
    const std::size_t first = j * kept / levels, end = (j + 1) * kept / levels;
    double level = 0;
    double filled = 0;
    for (std::size_t i = first; i < end; ++i) {
      level += bins[i];
      filled += bins[i] > 0 ? 1 : 0;
    }
    for (std::size_t i = first; i < end; ++i) {
      const double p = (bins[i] + (i + 1 == kept ? outside : 0)) / total;
      if (p == 0) continue;
      if (bins[i] == 0) return std::numeric_limits<double>::infinity();
      sum += p * Log2(p / (level / filled / inside));
    }
  }
  return sum;
}

// One side of zero may use every stored integer where the offset can lie at the other end.
std::size_t LevelsOf(const Range& extremes, const TypeSpec& spec) {
  const bool one_sided = extremes.min >= 0 || extremes.max <= 0;
  const bool movable = spec.scheme == format::Scheme::kAsymmetric ||
                       spec.scheme == format::Scheme::kAsymmetricPow2 ||
                       (spec.scheme == format::Scheme::kSymmetricUint8 && extremes.min >= 0) ||
                       format::StorageRange(spec.storage).min == 0;
  const int bits = format::BitWidth(spec.storage) - (one_sided && movable ? 0 : 1);
  return std::size_t{1} << bits;
}

}  // namespace

// Both sides of 0 are cut at each other's ends, so that what overlaps is equal and can be joined.
std::vector<Mass> Magnitudes(const Distribution& data) {
  std::vector<Mass> sides;
  for (const Mass& mass : data.masses) {
    if (mass.lower >= 0) {
      sides.push_back(mass);
    } else if (mass.upper <= 0) {
      sides.push_back({-mass.upper, -mass.lower, mass.count});
    } else {
      const double below = mass.count * (-mass.lower / (mass.upper - mass.lower));
      sides.push_back({0, -mass.lower, below});
      sides.push_back({0, mass.upper, mass.count - below});
    }
  }
  std::vector<double> ends;
  for (const Mass& mass : sides) {
    ends.push_back(mass.lower);
    ends.push_back(mass.upper);
  }
  std::ranges::sort(ends);
  std::vector<Mass> masses;
  for (const Mass& mass : sides) {
    double from = mass.lower;
    auto end = std::ranges::upper_bound(ends, from);
    while (end != ends.end() && *end < mass.upper) {
      masses.push_back({from, *end, mass.count * ((*end - from) / (mass.upper - mass.lower))});
      from = *end;
      end = std::ranges::upper_bound(ends, from);
    }
    const bool whole = from == mass.lower;
    masses.push_back(
        {from, mass.upper,
         whole ? mass.count : mass.count * ((mass.upper - from) / (mass.upper - mass.lower))});
  }
  const auto place = [](const Mass& mass) { return std::pair(mass.lower, mass.upper); };
  std::ranges::sort(masses, {}, place);
  std::vector<Mass> joined;
  for (const Mass& mass : masses) {
    if (!joined.empty() && place(joined.back()) == place(mass)) {
      joined.back().count += mass.count;
    } else {
      joined.push_back(mass);
    }
  }
  return joined;
}

Range LeastDivergence(const Distribution& data, const TypeSpec& spec) {
  const Range all = *data.extremes;
  const double top = std::max(-all.min, all.max);
  const std::size_t levels = LevelsOf(all, spec);
  const Zeros zeros = ZerosOf(data);
  const std::size_t size = BinsFor(data.count - zeros.count);
  const double width = top / static_cast<double>(size);
  if (!(width > 0) || levels >= size) return all;
  std::vector<double> bins = BinsOf(Magnitudes(data), top, size);
  const double covered = std::max(1.0, std::ceil(zeros.reach / width));
  if (covered >= static_cast<double>(size)) return all;
  const auto next = static_cast<std::size_t>(covered);
  std::fill_n(bins.begin(), next, bins[next]);
  const double total = std::accumulate(bins.begin(), bins.end(), 0.0);
  double inside = 0;
  double least = std::numeric_limits<double>::infinity();
  std::size_t best = size;
  for (std::size_t kept = 1; kept <= size; ++kept) {
    inside += bins[kept - 1];
    if (kept < levels) continue;
    const double outside = kept == size ? 0 : std::max(0.0, total - inside);
    const double divergence = Divergence(bins, kept, levels, outside, total);
    if (divergence > least) continue;
    least = divergence;
    best = kept;
  }
  const double threshold = std::min(top, (static_cast<double>(best) + 0.5) * width);
  return {std::max(all.min, -threshold), std::min(all.max, threshold)};
}

}  // namespace qtx::quantize
