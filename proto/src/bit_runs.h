// Runs of bits, read and written: the one routine for all records.
// Source: spec/format/encoding.md, encoding.S3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "qtx/format/bit_field.h"

namespace qtx::format::encoding {

inline constexpr std::size_t kSlack = 8;  // bytes behind a record, for reads of 64 bits

// Eight bytes as one word, for operations on each.
inline constexpr std::uint64_t kEachByte = 0x0101010101010101;

inline std::uint64_t LoadWord(const void* from) {
  std::uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}
inline void StoreWord(void* to, std::uint64_t word) { std::memcpy(to, &word, sizeof word); }

/// Moves `width` bits of each of `count` bytes from `down` to `up`, and ORs them into `to`.
inline void MoveBits(const void* from, std::int32_t count, int width, int down, int up, void* to) {
  const auto* in = static_cast<const std::uint8_t*>(from);
  auto* out = static_cast<std::uint8_t*>(to);
  const std::uint64_t mask = (1U << static_cast<unsigned>(width)) - 1U;
  std::int32_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const std::uint64_t values = LoadWord(in + i) >> down & mask * kEachByte;
    StoreWord(out + i, LoadWord(out + i) | values << up);
  }
  for (; i < count; ++i)
    out[i] |= static_cast<std::uint8_t>((static_cast<unsigned>(in[i]) >> down & mask) << up);
}

/// True if the values of the run lie one in each byte.
inline bool HasOneInEachByte(const BitRun& run) {
  return run.stride == 8 && run.bit % 8 + run.width <= 8;
}

/// ORs the bits of one record, behind which kSlack bytes can be read, into `values`, which are 0.
/// REQUIRES: T holds the width of a value.
template <typename T>
void ReadRuns(const std::byte* record, std::span<const BitRun> runs, T* values) {
  for (const BitRun& run : runs) {
    T* to = values + run.first;
    if constexpr (sizeof(T) == 1) {
      if (HasOneInEachByte(run)) {
        MoveBits(record + run.bit / 8, run.count, run.width, run.bit % 8, run.value_bit, to);
        continue;
      }
    }
    const std::uint64_t mask = (std::uint64_t{1} << run.width) - 1;
    // Values side by side are taken from one word while it has more.
    const bool dense = run.stride == run.width;
    std::int64_t bit = run.bit;
    std::uint64_t word = 0;
    std::int32_t left = 0;
    for (std::int32_t i = 0; i < run.count; ++i, bit += run.stride) {
      if (left < run.width) {
        word = LoadWord(record + bit / 8) >> (bit % 8);
        left = dense ? 56 : 0;
      }
      to[i] |= static_cast<T>(static_cast<T>(word & mask) << run.value_bit);
      word >>= run.width;
      left -= run.width;
    }
  }
}

inline void WriteBits(std::byte* record, std::int64_t bit, std::uint64_t bits) {
  bits <<= static_cast<unsigned>(bit % 8);
  for (std::byte* to = record + bit / 8; bits != 0; ++to, bits >>= 8U)
    *to |= static_cast<std::byte>(bits);
}

/// The inverse. Sets bits of the record that are 0.
template <typename T>
void WriteRuns(const T* values, std::span<const BitRun> runs, std::byte* record) {
  for (const BitRun& run : runs) {
    const T* from = values + run.first;
    if constexpr (sizeof(T) == 1) {
      if (HasOneInEachByte(run)) {
        MoveBits(from, run.count, run.width, run.value_bit, run.bit % 8, record + run.bit / 8);
        continue;
      }
    }
    const std::uint64_t mask = (std::uint64_t{1} << run.width) - 1;
    for (std::int32_t i = 0; i < run.count; ++i) {
      const std::uint64_t bits = std::uint64_t{from[i]} >> run.value_bit & mask;
      WriteBits(record, run.bit + std::int64_t{i} * run.stride, bits);
    }
  }
}

}  // namespace qtx::format::encoding
