// Codes as bytes, from the bits of records to the elements of a tensor, and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace qtx::format::encoding {

/// Each of the bytes, of which there is a multiple of 8: ((byte ^ flip) + add) & mask.
void MakeCodes(std::span<std::uint8_t> bytes, std::uint8_t flip, std::uint8_t add,
               std::uint8_t mask);
/// The inverse. False if what is flipped has other bits than those of `bits`.
bool MakeBits(std::span<std::uint8_t> bytes, std::uint8_t flip, std::uint8_t add, std::uint8_t mask,
              std::uint8_t bits);

/// ORs `count` codes of `width` bits (2, 4 or 8, and nothing above) into `bytes` from `element` on.
void PackLine(const std::uint8_t* codes, std::int64_t count, int width, std::int64_t element,
              std::byte* bytes);
/// The inverse.
void UnpackLine(const std::byte* bytes, std::int64_t element, int width, std::int64_t count,
                std::uint8_t* codes);

}  // namespace qtx::format::encoding
