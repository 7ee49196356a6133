#include "dyadic_histogram.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace qtx::calibrate {
namespace {

constexpr int kLowestExponent = -149;  // of a binary32's last bit
constexpr int kMantissaBits = 23;
constexpr int kNormalExponents = 126;  // beyond it 2^k or 2^-k is no normal float
constexpr std::size_t kBlock = 4096;   // values whose bins are computed at once
constexpr std::size_t kSets =
    4;  // sets of counters, since consecutive additions to one counter stall
constexpr std::int64_t kMaxIndex = std::int64_t{1} << 53;  // indices are exact in a double

// floor(index / 2^bits).
std::int64_t Coarser(std::int64_t index, int bits) { return index >> std::min(bits, 62); }

// floor(value / width): the cast rounds toward zero, which is one too much for negative fractions.
std::int64_t BinOf(double value, int exponent) {
  return static_cast<std::int64_t>(std::floor(std::ldexp(value, -exponent)));
}

// The same for many floats, minus `first`.  REQUIRES: the width and its reciprocal are normal
// floats. A quotient that underflows to 0 is still rounded down, because the comparison uses the
// value itself.
void FindBins(std::span<const float> values, int exponent, std::int32_t first, std::int32_t* bins) {
  const float width = std::ldexp(1.0F, exponent);
  const float reciprocal = std::ldexp(1.0F, -exponent);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto truncated = static_cast<std::int32_t>(values[i] * reciprocal);
    const float bound = static_cast<float>(truncated) * width;
    bins[i] = truncated - std::int32_t{values[i] < bound} - first;
  }
}

}  // namespace

DyadicHistogram::Range DyadicHistogram::range() const {
  return {exponent_, first_, first_ + size_ - 1};
}

void DyadicHistogram::Pack() {
  const auto zeros = static_cast<std::size_t>(std::ranges::count(counts_, 0U));
  if (4 * (counts_.size() - zeros) > counts_.size()) return;  // an entry is two words
  packed_.reserve(counts_.size() - zeros);
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] != 0) packed_.emplace_back(static_cast<std::uint32_t>(i), counts_[i]);
  }
  counts_ = Counts();
}

// REQUIRES: the counts are packed.
DyadicHistogram::Counts DyadicHistogram::Unpacked() const {
  Counts counts(static_cast<std::size_t>(size_));
  for (const auto& [bin, count] : packed_) counts[bin] = count;
  return counts;
}

void DyadicHistogram::Unpack() {
  if (counts_.empty()) counts_ = Unpacked();
  packed_ = Packed();
}

void DyadicHistogram::Reach(Range range) {
  Range to = range;
  if (!counts_.empty()) {
    const Range from = this->range();
    to.exponent = std::max(range.exponent, exponent_);
    to.first = std::min(Coarser(range.first, to.exponent - range.exponent),
                        Coarser(from.first, to.exponent - from.exponent));
    to.last = std::max(Coarser(range.last, to.exponent - range.exponent),
                       Coarser(from.last, to.exponent - from.exponent));
  }
  for (; to.last - to.first >= max_bins_; ++to.exponent) {
    to.first = Coarser(to.first, 1);
    to.last = Coarser(to.last, 1);
  }
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(to.last - to.first + 1));
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    const std::int64_t index =
        Coarser(first_ + static_cast<std::int64_t>(i), to.exponent - exponent_);
    counts[static_cast<std::size_t>(index - to.first)] += counts_[i];
  }
  exponent_ = to.exponent;
  first_ = to.first;
  size_ = std::ssize(counts);
  counts_ = std::move(counts);
}

void DyadicHistogram::Cover(float min, float max) {
  const double largest = std::max(std::abs(double{min}), std::abs(double{max}));
  // At least one ulp of the largest magnitude, subnormals and zero included.
  int exponent = kLowestExponent;
  if (largest > 0) exponent = std::max(exponent, std::ilogb(largest) - kMantissaBits);
  const Range range{exponent, BinOf(min, exponent), BinOf(max, exponent)};
  Unpack();
  const Range now = this->range();
  const bool covered = !counts_.empty() && exponent <= exponent_ &&
                       Coarser(range.first, exponent_ - exponent) >= now.first &&
                       Coarser(range.last, exponent_ - exponent) <= now.last;
  if (!covered) Reach(range);
}

void DyadicHistogram::AddBlock(std::span<const float> values, bool all_finite,
                               std::span<std::uint32_t> scratch) {
  std::array<std::int32_t, kBlock> bins;
  const auto first = static_cast<std::int32_t>(first_);
  std::size_t count = 0;
  if (all_finite && std::abs(exponent_) < kNormalExponents) {
    FindBins(values, exponent_, first, bins.data());
    count = values.size();
  } else {
    for (const float value : values) {
      if (!std::isfinite(value)) continue;
      bins[count++] = static_cast<std::int32_t>(BinOf(value, exponent_)) - first;
    }
  }
  if (scratch.empty()) {
    for (std::size_t i = 0; i < count; ++i) ++counts_[static_cast<std::size_t>(bins[i])];
    return;
  }
  const std::size_t size = counts_.size();
  std::size_t i = 0;
  for (; i + kSets <= count; i += kSets) {
    for (std::size_t set = 0; set < kSets; ++set) {
      ++scratch[set * size + static_cast<std::size_t>(bins[i + set])];
    }
  }
  for (; i < count; ++i) ++scratch[static_cast<std::size_t>(bins[i])];
}

void DyadicHistogram::Fold(std::span<std::uint32_t> scratch) {
  for (std::size_t i = 0; i < scratch.size(); ++i) counts_[i % counts_.size()] += scratch[i];
  std::ranges::fill(scratch, 0U);
}

void DyadicHistogram::Add(std::span<const float> values, bool all_finite) {
  // Separate counters pay off only for enough values.
  std::vector<std::uint32_t> scratch;
  Unpack();
  if (values.size() >= 2 * kSets * counts_.size()) scratch.resize(kSets * counts_.size());
  std::size_t pending = 0;
  while (!values.empty()) {
    const std::span<const float> block = values.first(std::min(values.size(), kBlock));
    values = values.subspan(block.size());
    AddBlock(block, all_finite, scratch);
    pending += block.size();
    if (pending >= std::size_t{1} << 31 && !scratch.empty()) {
      Fold(scratch);
      pending = 0;
    }
  }
  if (!scratch.empty()) Fold(scratch);
  Pack();
}

void DyadicHistogram::Add(const DyadicHistogram& other) {
  if (other.size_ == 0) return;
  Unpack();
  Reach(other.range());
  const Counts unpacked = other.counts_.empty() ? other.Unpacked() : Counts();
  const Counts& more = other.counts_.empty() ? unpacked : other.counts_;
  for (std::size_t i = 0; i < more.size(); ++i) {
    const std::int64_t index =
        Coarser(other.first_ + static_cast<std::int64_t>(i), exponent_ - other.exponent_);
    counts_[static_cast<std::size_t>(index - first_)] += more[i];
  }
  Pack();
}

std::optional<DyadicHistogram> DyadicHistogram::From(const format::Histogram& histogram,
                                                     std::int64_t max_bins) {
  const auto size = std::ssize(histogram.counts);
  if (size == 0 || size > format::kMaxHistogramBins) return std::nullopt;
  const double width = (histogram.upper - histogram.lower) / static_cast<double>(size);
  int exponent = 0;
  if (!std::isfinite(width) || std::frexp(width, &exponent) != 0.5) return std::nullopt;
  --exponent;
  const double first = histogram.lower / width;
  const double last = histogram.upper / width - 1;
  const auto is_index = [](double index) {
    return std::abs(index) < static_cast<double>(kMaxIndex) && index == std::floor(index);
  };
  if (!is_index(first) || !is_index(last) || last - first + 1 != static_cast<double>(size) ||
      histogram.below != 0 || histogram.above != 0) {
    return std::nullopt;
  }
  DyadicHistogram result(max_bins);
  result.exponent_ = exponent;
  result.first_ = static_cast<std::int64_t>(first);
  result.size_ = size;
  result.counts_ = histogram.counts;
  result.Reach(result.range());  // down to max_bins
  result.Pack();
  return result;
}

std::optional<format::Histogram> DyadicHistogram::Finish() const {
  if (size_ == 0) return std::nullopt;
  format::Histogram histogram;
  histogram.lower = std::ldexp(static_cast<double>(first_), exponent_);
  histogram.upper = std::ldexp(static_cast<double>(first_ + size_), exponent_);
  histogram.counts = counts_.empty() ? Unpacked() : counts_;
  return histogram;
}

}  // namespace qtx::calibrate
