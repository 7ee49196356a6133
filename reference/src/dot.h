// Integer dot products, in a file of their own so that it alone is compiled for vectorisation.
#pragma once

#include <cstddef>
#include <cstdint>

namespace qtx::reference {

/// Sum of a[i] * b[i].  REQUIRES: |a[i]|, |b[i]| <= 255.
std::int64_t Dot(const std::int16_t* a, const std::int16_t* b, std::size_t count);
/// Sum of a[i] * b[i].  REQUIRES: |a[i]|, |b[i]| < 2^17 and count < 2^29.
std::int64_t Dot(const std::int32_t* a, const std::int32_t* b, std::size_t count);

}  // namespace qtx::reference
