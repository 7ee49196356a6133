#include "level_products.h"

#include <bit>
#include <cstdint>
#include <span>

#include "product.h"

namespace qtx::format {
namespace {

constexpr int kFloatBits = 24;   // bits of a binary32
constexpr int kDoubleBits = 53;  // of a binary64; the exponents of four factors fit it, too

// An upper bound of the bits that a factor of the level has.
int SignificantBits(const Level& level) {
  std::uint32_t mantissas = 0;
  for (const float factor : level.factors) mantissas |= std::bit_cast<std::uint32_t>(factor);
  mantissas = (mantissas & 0x7fffffU) | 0x800000U;
  return kFloatBits - std::countr_zero(mantissas);
}

// Steps through the parameters line by line along the last named axis.
class Lines {
 public:
  Lines(const Dims& counts, const Dims& block, const std::vector<Level>& levels)
      : counts_(counts), block_(block), levels_(levels), at_(counts.size(), 0) {
    for (const Level& level : levels) {
      strides_.push_back(RowMajorStrides(level.counts));
      const bool alone = counts.empty() || level.counts.back() == 1;
      repeats_.push_back(alone ? length() : level.blocks.back() / block.back());
    }
  }

  std::int64_t length() const { return counts_.empty() ? 1 : counts_.back(); }
  // Parameters of a line that share a factor.
  std::int64_t repeats(std::size_t level) const { return repeats_[level]; }
  // The factors of the current line.
  const float* Factors(std::size_t level) const {
    std::int64_t index = 0;
    for (std::size_t k = 0; k + 1 < at_.size(); ++k)
      index += at_[k] * block_[k] / levels_[level].blocks[k] * strides_[level][k];
    return levels_[level].factors.data() + index;
  }
  void Next() {
    if (at_.empty()) return;
    for (std::size_t k = at_.size() - 1; k-- > 0;) {
      if (++at_[k] < counts_[k]) return;
      at_[k] = 0;
    }
  }

 private:
  const Dims &counts_, &block_;
  const std::vector<Level>& levels_;
  Dims at_;
  std::vector<Dims> strides_;
  std::vector<std::int64_t> repeats_;
};

// Calls use(k, factor) for each parameter k of the line.
template <typename Use>
void ForEachFactor(const Lines& lines, std::size_t level, std::size_t length, const Use& use) {
  const float* factor = lines.Factors(level);
  const auto repeats = static_cast<std::size_t>(lines.repeats(level));
  if (repeats == 1) {
    for (std::size_t k = 0; k < length; ++k) use(k, static_cast<double>(factor[k]));
    return;
  }
  for (std::size_t k = 0; k < length; ++factor) {
    const auto value = static_cast<double>(*factor);
    for (const std::size_t end = std::min(k + repeats, length); k < end; ++k) use(k, value);
  }
}

// Products that a binary64 holds; `line` is room for them.
void MultiplyLine(const Lines& lines, std::size_t levels, std::span<double> line, float* to) {
  double* products = line.data();
  for (double& product : line) product = 1;
  for (std::size_t level = 0; level + 1 < levels; ++level) {
    ForEachFactor(lines, level, line.size(), [=](std::size_t k, double factor) {
      products[k] = level == 0 ? factor : products[k] * factor;
    });
  }
  ForEachFactor(lines, levels - 1, line.size(), [=](std::size_t k, double factor) {
    to[k] = static_cast<float>(products[k] * factor);
  });
}

float LongProduct(const Lines& lines, std::size_t levels, std::int64_t k) {
  Product product;
  for (std::size_t level = 0; level < levels; ++level)
    product.Times(lines.Factors(level)[k / lines.repeats(level)]);
  return product.Rounded();
}

}  // namespace

std::vector<float> Products(const Dims& counts, const Dims& block,
                            const std::vector<Level>& levels) {
  std::int64_t count = 1;
  for (const std::int64_t n : counts) count *= n;
  std::vector<float> values(static_cast<std::size_t>(count), 1.0F);
  if (levels.empty()) return values;
  int bits = 0;
  for (const Level& level : levels) bits += SignificantBits(level);
  Lines lines(counts, block, levels);
  std::vector<double> line(static_cast<std::size_t>(bits <= kDoubleBits ? lines.length() : 0));
  for (std::int64_t i = 0; i < count; i += lines.length(), lines.Next()) {
    float* to = values.data() + i;
    if (bits <= kDoubleBits) {
      MultiplyLine(lines, levels.size(), line, to);
      continue;
    }
    for (std::int64_t k = 0; k < lines.length(); ++k) to[k] = LongProduct(lines, levels.size(), k);
  }
  return values;
}

}  // namespace qtx::format
