#include "packed_rows.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace qtx::calibrate {
namespace {

constexpr std::size_t kPanel = PackedRows::kPanel;
constexpr std::size_t kHalf = kPanel / 2;  // columns of the left factor at a time
constexpr std::size_t kExact = 128;        // rows whose products of 46 bits add up to 2^53

using Four = double __attribute__((vector_size(32)));
using Tile = std::array<std::int64_t, kHalf * kPanel>;

// Sums over `rows` of left[row, i] * right[row, j]; both are rows of a panel. Nothing is rounded,
// so that the order of the sums and fused additions change nothing.
__attribute__((always_inline)) inline void TileOf(const double* left, const double* right,
                                                  std::size_t rows, Tile* tile) {
  tile->fill(0);
  for (std::size_t first = 0; first < rows; first += kExact) {
    const std::size_t end = std::min(rows, first + kExact);
    Four low[kHalf] = {}, high[kHalf] = {};
    for (std::size_t row = first; row < end; ++row) {
      Four a{}, b{};
      std::memcpy(&a, right + row * kPanel, sizeof a);
      std::memcpy(&b, right + row * kPanel + kHalf, sizeof b);
      for (std::size_t i = 0; i < kHalf; ++i) {
        const double x = left[row * kPanel + i];
        low[i] += x * a;
        high[i] += x * b;
      }
    }
    for (std::size_t i = 0; i < kHalf; ++i) {
      for (std::size_t j = 0; j < kHalf; ++j) {
        (*tile)[i * kPanel + j] += static_cast<std::int64_t>(low[i][j]);
        (*tile)[i * kPanel + kHalf + j] += static_cast<std::int64_t>(high[i][j]);
      }
    }
  }
}

void PortableTile(const double* left, const double* right, std::size_t rows, Tile* tile) {
  TileOf(left, right, rows, tile);
}

using TileFunction = decltype(&PortableTile);

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void Avx2Tile(const double* left, const double* right,
                                                  std::size_t rows, Tile* tile) {
  TileOf(left, right, rows, tile);
}

TileFunction BestTile() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? Avx2Tile : PortableTile;
}
#else
TileFunction BestTile() { return PortableTile; }
#endif

}  // namespace

void PackedRows::AddProducts(std::size_t rows, __int128* sums) const {
  static const TileFunction kTile = BestTile();
  Tile tile;
  __int128* row = sums;  // of element (i, i)
  for (std::size_t block = 0; block < size_; block += kHalf) {
    const double* left = &panels_[block / kPanel * kPanel * kRows + block % kPanel];
    const std::size_t height = std::min(kHalf, size_ - block);
    for (std::size_t panel = block / kPanel * kPanel; panel < size_; panel += kPanel) {
      kTile(left, &panels_[panel * kRows], rows, &tile);
      const std::size_t end = std::min(size_, panel + kPanel);
      __int128* to = row;
      for (std::size_t i = block; i < block + height; ++i) {
        for (std::size_t j = std::max(i, panel); j < end; ++j)
          to[j - i] += tile[(i - block) * kPanel + j - panel];
        to += size_ - i;
      }
    }
    for (std::size_t i = block; i < block + height; ++i) row += size_ - i;
  }
}

}  // namespace qtx::calibrate
