#include "super_block.h"

#include <array>
#include <cmath>

#include "qtx/format/tensor.h"

namespace qtx::reference::testing {
namespace {

using Bytes = std::span<const std::uint8_t>;
constexpr std::size_t kWeights = 256;

float Half(Bytes at) {
  const auto code = static_cast<std::uint32_t>(at[0] | at[1] << 8);
  return static_cast<float>(format::DecodeSmallFloat(format::ElementType::kFloat16, code));
}

std::int32_t Bits(std::uint8_t byte, std::size_t first, unsigned count) {
  return static_cast<std::int32_t>((static_cast<unsigned>(byte) >> first) & ((1U << count) - 1));
}

// Weight i of fields of 2 bits in two runs of 128: each of 32 bytes holds weights 32 apart.
std::int32_t TwoBits(Bytes bytes, std::size_t i) {
  return Bits(bytes[i / 128 * 32 + i % 32], i % 128 / 32 * 2, 2);
}

// Weight i of fields of 4 bits in four runs of 64: each of 32 bytes holds weights 32 apart.
std::int32_t FourBits(Bytes bytes, std::size_t i) {
  return Bits(bytes[i / 64 * 32 + i % 32], i % 64 / 32 * 4, 4);
}

SuperBlock Q2(Bytes b) {
  SuperBlock block{Half(b.subspan(80)), Half(b.subspan(82)), {}, {}, {}};
  for (std::size_t i = 0; i < kWeights; ++i) block.weight.push_back(TwoBits(b.subspan(16), i));
  for (std::size_t k = 0; k < 16; ++k) {
    block.scale.push_back(Bits(b[k], 0, 4));
    block.min.push_back(Bits(b[k], 4, 4));
  }
  return block;
}

// The third bit is set where 4 is not subtracted.
SuperBlock Q3(Bytes b) {
  SuperBlock block{Half(b.subspan(108)), 0, {}, {}, {}};
  for (std::size_t i = 0; i < kWeights; ++i) {
    const std::int32_t high = Bits(b[i % 32], i / 32, 1);
    block.weight.push_back(TwoBits(b.subspan(32), i) - (high != 0 ? 0 : 4));
  }
  const Bytes s = b.subspan(96, 12);
  for (std::size_t k = 0; k < 16; ++k) {
    const std::int32_t low = Bits(s[k % 8], k / 8 * 4, 4);
    block.scale.push_back((low | Bits(s[8 + k % 4], k / 4 * 2, 2) << 4) - 32);
  }
  return block;
}

// Six bits of scale and minimum for each of eight blocks, in twelve bytes.
void SixBits(Bytes s, SuperBlock& block) {
  for (std::size_t k = 0; k < 4; ++k) {
    block.scale.push_back(Bits(s[k], 0, 6));
    block.min.push_back(Bits(s[4 + k], 0, 6));
  }
  for (std::size_t k = 0; k < 4; ++k) {
    block.scale.push_back(Bits(s[8 + k], 0, 4) | Bits(s[k], 6, 2) << 4);
    block.min.push_back(Bits(s[8 + k], 4, 4) | Bits(s[4 + k], 6, 2) << 4);
  }
}

SuperBlock Q4(Bytes b) {
  SuperBlock block{Half(b), Half(b.subspan(2)), {}, {}, {}};
  SixBits(b.subspan(4), block);
  for (std::size_t i = 0; i < kWeights; ++i) block.weight.push_back(FourBits(b.subspan(16), i));
  return block;
}

SuperBlock Q5(Bytes b) {
  SuperBlock block{Half(b), Half(b.subspan(2)), {}, {}, {}};
  SixBits(b.subspan(4), block);
  for (std::size_t i = 0; i < kWeights; ++i) {
    const std::int32_t high = Bits(b[16 + i % 32], i / 32, 1);
    block.weight.push_back(FourBits(b.subspan(48), i) | high << 4);
  }
  return block;
}

// The low four bits lie in two runs of 128 weights: 64 bytes, whose halves are 64 weights apart.
SuperBlock Q6(Bytes b) {
  SuperBlock block{Half(b.subspan(208)), 0, {}, {}, {}};
  for (std::size_t i = 0; i < kWeights; ++i) {
    const std::int32_t low = Bits(b[i / 128 * 64 + i % 64], i % 128 / 64 * 4, 4);
    block.weight.push_back((low | TwoBits(b.subspan(128), i) << 4) - 32);
  }
  for (std::size_t k = 0; k < 16; ++k) {
    block.scale.push_back(static_cast<std::int8_t>(b[192 + k]));
  }
  return block;
}

const std::array kKQuants = {KQuant{"q2_k", 84, Q2}, KQuant{"q3_k", 110, Q3},
                             KQuant{"q4_k", 144, Q4}, KQuant{"q5_k", 176, Q5},
                             KQuant{"q6_k", 210, Q6}};

}  // namespace

std::span<const KQuant> KQuants() { return kKQuants; }

SuperBlock Canonical(SuperBlock block) {
  const std::size_t size = kWeights / block.scale.size();
  const bool none = block.d == 0;
  const bool negative = block.d < 0;
  block.d = none ? 1 : std::fabs(block.d);
  for (std::size_t i = 0; i < kWeights; ++i) {
    const std::int32_t scale = block.scale[i / size];
    if (none || scale == 0) block.weight[i] = 0;
    if ((scale < 0) != negative) block.weight[i] = -block.weight[i];
  }
  for (std::int32_t& scale : block.scale) scale = none || scale == 0 ? 1 : std::abs(scale);
  return block;
}

}  // namespace qtx::reference::testing
