// Highway's vectors of binary32 as the kernels use them. Included once for each target.
#if defined(QTX_FLOAT_VECTOR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QTX_FLOAT_VECTOR_INL_H_
#undef QTX_FLOAT_VECTOR_INL_H_
#else
#define QTX_FLOAT_VECTOR_INL_H_
#endif

#include <cmath>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace qtx::backend::floats::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Lanes = hn::ScalableTag<float>;
using Vector = hn::Vec<Lanes>;
inline constexpr int kLanes = HWY_LANES(float);

HWY_INLINE Vector Load(const float* from) { return hn::LoadU(Lanes(), from); }
HWY_INLINE Vector Set(float value) { return hn::Set(Lanes(), value); }
HWY_INLINE void Store(Vector v, float* to) { hn::StoreU(v, Lanes(), to); }

/// a * b + c, rounded once.
HWY_INLINE Vector Fma(Vector a, Vector b, Vector c) {
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
  float x[kLanes], y[kLanes], z[kLanes];
  Store(a, x);
  Store(b, y);
  Store(c, z);
  for (int i = 0; i < kLanes; ++i) z[i] = std::fma(x[i], y[i], z[i]);
  return Load(z);
#else
  return hn::MulAdd(a, b, c);
#endif
}

/// NaN stays, and so does -0 between the bounds.
HWY_INLINE Vector Clamp(Vector x, Vector low, Vector high) {
  const Vector raised = hn::IfThenElse(hn::Lt(x, low), low, x);
  return hn::IfThenElse(hn::Gt(raised, high), high, raised);
}

/// The first n of a vector's lanes, or all of them; no memory beyond those is touched.
HWY_INLINE Vector LoadSome(const float* from, std::int64_t n) {
  if (n >= kLanes) return Load(from);
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  return hn::MaskedLoad(hn::FirstN(Lanes(), static_cast<std::size_t>(n)), Lanes(), from);
#else
  float lanes[kLanes] = {};
  std::memcpy(lanes, from, static_cast<std::size_t>(n) * sizeof(float));
  return Load(lanes);
#endif
}
HWY_INLINE void StoreSome(Vector v, float* to, std::int64_t n) {
  if (n >= kLanes) {
    Store(v, to);
    return;
  }
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  hn::BlendedStore(v, hn::FirstN(Lanes(), static_cast<std::size_t>(n)), Lanes(), to);
#else
  float lanes[kLanes];
  Store(v, lanes);
  std::memcpy(to, lanes, static_cast<std::size_t>(n) * sizeof(float));
#endif
}

}  // namespace qtx::backend::floats::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
