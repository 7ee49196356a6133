#include "block_scales.h"

#include <algorithm>
#include <cmath>

#include "qtx/format/element_type.h"

namespace qtx::quantize {
namespace {

using format::ElementType;
using format::Tensor;

constexpr int kE8M0Bias = 127;

int PowerOfTwo(float greatest, int element) {
  return greatest == 0 ? 0 : std::clamp(std::ilogb(greatest) - element, -kE8M0Bias, kE8M0Bias);
}

Tensor Factors(ElementType type, std::size_t count) {
  return {type, {static_cast<std::int64_t>(count)}, std::nullopt, {}};
}

BlockScales MxScales(std::span<const float> greatest, double largest) {
  BlockScales scales{Factors(ElementType::kFloat8E8M0, greatest.size()), std::nullopt};
  for (const float value : greatest)
    scales.factors.bytes.push_back(std::byte(PowerOfTwo(value, std::ilogb(largest)) + kE8M0Bias));
  return scales;
}

BlockScales Nvfp4Scales(std::span<const float> greatest, double largest) {
  const auto most = static_cast<double>(format::StorageRange(ElementType::kFloat8E4M3FN).max);
  const auto all = static_cast<double>(std::ranges::max(greatest));
  // With the least factor, 2^-9, the least binary32.
  const float whole = std::max(static_cast<float>(all / (most * largest)), 0x1p-140F);
  BlockScales scales{Factors(ElementType::kFloat8E4M3FN, greatest.size()), whole};
  for (const float value : greatest) {
    // The divisor is exact, and a quotient of 24 by 27 bits is on its side of a tie in binary64.
    const double factor = static_cast<double>(value) / (static_cast<double>(whole) * largest);
    scales.factors.bytes.push_back(std::byte(
        format::EncodeSmallFloat(ElementType::kFloat8E4M3FN, std::clamp(factor, 0x1p-9, most))));
  }
  return scales;
}

}  // namespace

BlockScales BlockScalesOf(std::span<const float> greatest, ElementType storage, ScaleType choice) {
  const auto largest = static_cast<double>(format::StorageRange(storage).max);
  return choice == ScaleType::kNvfp4 ? Nvfp4Scales(greatest, largest) : MxScales(greatest, largest);
}

std::vector<float> Products(const BlockScales& scales) {
  std::vector<float> products;
  for (const std::byte code : scales.factors.bytes) {
    const auto bits = std::to_integer<std::uint32_t>(code);
    if (scales.whole) {
      const double factor = format::DecodeSmallFloat(ElementType::kFloat8E4M3FN, bits);
      products.push_back(static_cast<float>(factor * static_cast<double>(*scales.whole)));
    } else {
      products.push_back(std::ldexp(1.0F, static_cast<int>(bits) - kE8M0Bias));
    }
  }
  return products;
}

}  // namespace qtx::quantize
