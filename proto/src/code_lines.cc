#include "code_lines.h"

#include <cstring>

#include "bit_runs.h"

namespace qtx::format::encoding {
namespace {

// Eight sums, each modulo 256.
std::uint64_t AddBytes(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kHigh = 0x80 * kEachByte;
  // The highest bits are added apart, so that no carry leaves its byte.
  return ((a & ~kHigh) + (b & ~kHigh)) ^ ((a ^ b) & kHigh);
}

// Eight codes of `width` bits, 4 or 2, as the lowest 8 * width bits.
std::uint64_t PackWord(std::uint64_t codes, unsigned width) {
  const unsigned gap = 8 - width;
  const std::uint64_t two = (1U << 2 * width) - 1U, four = (1U << 4 * width) - 1U;
  codes = (codes | codes >> gap) & two * 0x0001000100010001U;
  codes = (codes | codes >> 2 * gap) & four * 0x0000000100000001U;
  return codes | codes >> 4 * gap;
}

// The inverse of PackWord.
std::uint64_t UnpackWord(std::uint64_t codes, unsigned width) {
  const unsigned gap = 8 - width;
  const std::uint64_t one = (1U << width) - 1U, two = (1U << 2 * width) - 1U;
  const std::uint64_t four = (std::uint64_t{1} << 4 * width) - 1U;
  codes = (codes | codes << 4 * gap) & four * 0x0000000100000001U;
  codes = (codes | codes << 2 * gap) & two * 0x0001000100010001U;
  return (codes | codes << gap) & one * kEachByte;
}

}  // namespace

void MakeCodes(std::span<std::uint8_t> bytes, std::uint8_t flip, std::uint8_t add,
               std::uint8_t mask) {
  const std::uint64_t flips = flip * kEachByte, adds = add * kEachByte, masks = mask * kEachByte;
  for (std::size_t i = 0; i < bytes.size(); i += 8)
    StoreWord(bytes.data() + i, AddBytes(LoadWord(bytes.data() + i) ^ flips, adds) & masks);
}

bool MakeBits(std::span<std::uint8_t> bytes, std::uint8_t flip, std::uint8_t add, std::uint8_t mask,
              std::uint8_t bits) {
  const auto minus = static_cast<std::uint8_t>(-add);
  const std::uint64_t flips = flip * kEachByte, adds = minus * kEachByte, masks = mask * kEachByte;
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    const std::uint64_t word = AddBytes(LoadWord(bytes.data() + i), adds) & masks;
    all |= word;
    StoreWord(bytes.data() + i, word ^ flips);
  }
  return (all & ~(bits * kEachByte)) == 0;
}

void PackLine(const std::uint8_t* codes, std::int64_t count, int width, std::int64_t element,
              std::byte* bytes) {
  if (width == 8) {
    std::memcpy(bytes + element, codes, static_cast<std::size_t>(count));
    return;
  }
  const std::int64_t per_byte = 8 / width;
  std::int64_t i = 0;
  const auto put = [&] {
    const std::int64_t at = element + i;
    bytes[at / per_byte] |= static_cast<std::byte>(codes[i] << (at % per_byte * width));
  };
  for (; i < count && (element + i) % per_byte != 0; ++i) put();
  std::byte* to = bytes + (element + i) / per_byte;
  for (; i + 8 <= count; i += 8, to += width) {
    const std::uint64_t word = PackWord(LoadWord(codes + i), static_cast<unsigned>(width));
    std::memcpy(to, &word, static_cast<std::size_t>(width));
  }
  for (; i < count; ++i) put();
}

void UnpackLine(const std::byte* bytes, std::int64_t element, int width, std::int64_t count,
                std::uint8_t* codes) {
  if (width == 8) {
    std::memcpy(codes, bytes + element, static_cast<std::size_t>(count));
    return;
  }
  const std::int64_t per_byte = 8 / width;
  const unsigned mask = (1U << static_cast<unsigned>(width)) - 1U;
  std::int64_t i = 0;
  const auto get = [&] {
    const std::int64_t at = element + i;
    const auto byte = static_cast<unsigned>(bytes[at / per_byte]);
    codes[i] = static_cast<std::uint8_t>(byte >> (at % per_byte * width) & mask);
  };
  for (; i < count && (element + i) % per_byte != 0; ++i) get();
  const std::byte* from = bytes + (element + i) / per_byte;
  for (; i + 8 <= count; i += 8, from += width) {
    std::uint64_t word = 0;
    std::memcpy(&word, from, static_cast<std::size_t>(width));
    StoreWord(codes + i, UnpackWord(word, static_cast<unsigned>(width)));
  }
  for (; i < count; ++i) get();
}

}  // namespace qtx::format::encoding
