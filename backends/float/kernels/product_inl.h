// Tiles of matrix products, and windows of products over one channel.
#if defined(QTX_FLOAT_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QTX_FLOAT_PRODUCT_INL_H_
#undef QTX_FLOAT_PRODUCT_INL_H_
#else
#define QTX_FLOAT_PRODUCT_INL_H_
#endif

#include "float/kernels/kernels.h"
#include "float/kernels/vector_inl.h"

HWY_BEFORE_NAMESPACE();
namespace qtx::backend::floats::HWY_NAMESPACE {

HWY_INLINE Vector Finish(Vector sum, const Epilogue& e, int row) {
  if (e.mean != nullptr) {
    sum = Fma(hn::Sub(sum, Set(e.mean[row])), Set(e.factor[row]), Set(e.shift[row]));
  }
  return e.clamps ? Clamp(sum, Set(e.low), Set(e.high)) : sum;
}

// All loops over rows and vectors are unrolled, or the sums would be an array in memory.
template <int kRows, int kVectors>
void RunTile(const Tile& tile) {
  const Tile t = tile;  // its own copy: c might alias the caller's
  Vector sums[std::size_t{kRows}][std::size_t{kVectors}];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      if (t.begins) {
        sums[r][v] = Set(t.initial == nullptr ? 0.0F : t.initial[r]);
      } else {
        sums[r][v] = Load(t.c + r * t.stride + v * kLanes);
      }
    }
  }
  const float* a = t.a;
  const float* b = t.b;
  for (std::int64_t k = 0; k < t.depth; ++k, a += kRows, b += kVectors * kLanes) {
    Vector columns[std::size_t{kVectors}];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) columns[v] = Load(b + v * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const Vector row = Set(a[r]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[r][v] = Fma(row, columns[v], sums[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      Store(sums[r][v], t.c + r * t.stride + v * kLanes);
    }
  }
}

void FinishTile(float* c, std::int64_t stride, int rows, int vectors, const Epilogue& epilogue) {
  const Epilogue e = epilogue;
  for (int r = 0; r < rows; ++r, c += stride) {
    for (int v = 0; v < vectors; ++v) Store(Finish(Load(c + v * kLanes), e, r), c + v * kLanes);
  }
}

template <int kVectors, int kRows>
void SetTiles(Kernels& kernels) {
  if constexpr (kRows > 0) {
    kernels.tile[kVectors - 1][kRows - 1] = RunTile<kRows, kVectors>;
    SetTiles<kVectors, kRows - 1>(kernels);
  }
}

HWY_INLINE void FillWith(Vector padding, std::int64_t n, float* out) {
  for (std::int64_t i = 0; i < n; i += kLanes) StoreSome(padding, out + i, n - i);
}

void FillRow(const PlaneRow& row) {
  const PlaneRow r = row;
  const Vector padding = Set(r.padding);
  FillWith(padding, r.before, r.out);
  float* out = r.out + r.before;
  std::int64_t i = 0;
  if (r.step == 1) {
    for (; i < r.count; i += kLanes) {
      StoreSome(LoadSome(r.from + i, r.count - i), out + i, r.count - i);
    }
  } else if (r.step == 2) {
    // Both of the last pair are there if a further one begins after it.
    for (; i + kLanes < r.count; i += kLanes) {
      Vector even;
      Vector odd;
      hn::LoadInterleaved2(Lanes(), r.from + 2 * i, even, odd);
      Store(even, out + i);
    }
  }
  for (; i < r.count; ++i) out[i] = r.from[i * r.step];
  FillWith(padding, r.after, out + r.count);
}

// kTaps: their number, or 0 for any.
template <int kTaps>
void RunProducts(const WindowRows& window) {
  const WindowRows w = window;
  Vector weights[std::size_t{kTaps == 0 ? 1 : kTaps}];
  const float* rows[std::size_t{kTaps == 0 ? 1 : kTaps}];
#pragma GCC unroll 9
  for (int t = 0; t < kTaps; ++t) {
    weights[t] = Set(w.weights[t]);
    rows[t] = w.plane + w.offsets[t];
  }
  for (std::int64_t y = 0; y < w.rows; ++y) {
    float* out = w.out + y * w.columns;
    for (std::int64_t x = 0; x < w.columns; x += kLanes) {
      const std::int64_t at = y * w.pitch + x;
      Vector sum = Set(w.initial);
      if constexpr (kTaps == 0) {
        for (std::int64_t t = 0; t < w.taps; ++t) {
          sum = Fma(Set(w.weights[t]), Load(w.plane + w.offsets[t] + at), sum);
        }
      } else {
#pragma GCC unroll 9
        for (int t = 0; t < kTaps; ++t) sum = Fma(weights[t], Load(rows[t] + at), sum);
      }
      if (w.epilogue != nullptr) sum = Finish(sum, *w.epilogue, 0);
      StoreSome(sum, out + x, w.columns - x);
    }
  }
}

void Products(const WindowRows& window) {
  window.taps == 9 ? RunProducts<9>(window) : RunProducts<0>(window);
}

}  // namespace qtx::backend::floats::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
