// Pools, and operators that work element by element.
#if defined(QTX_FLOAT_ELEMENTWISE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QTX_FLOAT_ELEMENTWISE_INL_H_
#undef QTX_FLOAT_ELEMENTWISE_INL_H_
#else
#define QTX_FLOAT_ELEMENTWISE_INL_H_
#endif

#include <limits>

#include "float/kernels/function_inl.h"
#include "float/kernels/kernels.h"
#include "float/kernels/vector_inl.h"

HWY_BEFORE_NAMESPACE();
namespace qtx::backend::floats::HWY_NAMESPACE {

void Maxima(const WindowRows& window) {
  const WindowRows w = window;
  for (std::int64_t y = 0; y < w.rows; ++y) {
    const float* row = w.plane + y * w.pitch;
    for (std::int64_t x = 0; x < w.columns; x += kLanes) {
      Vector most = Set(-std::numeric_limits<float>::infinity());
      for (std::int64_t t = 0; t < w.taps; ++t) {
        const Vector v = Load(row + w.offsets[t] + x);
        // Once `most` is NaN nothing is greater.
        most = hn::IfThenElse(hn::Or(hn::Gt(v, most), hn::IsNaN(v)), v, most);
      }
      StoreSome(most, w.out + y * w.columns + x, w.columns - x);
    }
  }
}

void Means(const WindowRows& window) {
  const WindowRows w = window;
  for (std::int64_t y = 0; y < w.rows; ++y) {
    const float* row = w.plane + y * w.pitch;
    for (std::int64_t x = 0; x < w.columns; x += kLanes) {
      Vector sum = Load(row + w.offsets[0] + x);
      for (std::int64_t t = 1; t < w.taps; ++t) {
        sum = hn::Add(sum, Load(row + w.offsets[t] + x));
      }
      const std::int64_t left = w.columns - x;
      const Vector divisors = LoadSome(w.divisors + y * w.columns + x, left);
      StoreSome(hn::Div(sum, divisors), w.out + y * w.columns + x, left);
    }
  }
}

template <typename F>
HWY_INLINE void Map(const UnaryRun& run, F f) {
  for (std::int64_t i = 0; i < run.n; i += kLanes) {
    StoreSome(f(LoadSome(run.x + i, run.n - i)), run.y + i, run.n - i);
  }
}

HWY_INLINE Vector HardSigmoid(Vector x, Vector p, Vector q) {
  return Clamp(Fma(p, x, q), Set(0), Set(1));
}

template <Unary kFunction>
void RunUnary(const UnaryRun& run) {
  const Vector p = Set(run.p);
  const Vector q = Set(run.q);
  Map(run, [&](Vector x) HWY_ATTR {
    if constexpr (kFunction == Unary::kClamp) return Clamp(x, p, q);
    if constexpr (kFunction == Unary::kLeakyRelu) {
      return hn::IfThenElse(hn::Lt(x, Set(0)), hn::Mul(p, x), x);
    }
    if constexpr (kFunction == Unary::kHardSigmoid) return HardSigmoid(x, p, q);
    if constexpr (kFunction == Unary::kHardSwish) return hn::Mul(x, HardSigmoid(x, p, q));
    if constexpr (kFunction == Unary::kExp) return Exp(hn::Sub(x, p));
    if constexpr (kFunction == Unary::kSigmoid) return Sigmoid(x);
    if constexpr (kFunction == Unary::kTanh) return Tanh(x);
    if constexpr (kFunction == Unary::kSqrt) return hn::Sqrt(x);
  });
}

template <Binary kOperation>
HWY_INLINE Vector Combine(Vector a, Vector b) {
  if constexpr (kOperation == Binary::kAdd) return hn::Add(a, b);
  if constexpr (kOperation == Binary::kSub) return hn::Sub(a, b);
  if constexpr (kOperation == Binary::kMul) return hn::Mul(a, b);
  if constexpr (kOperation == Binary::kDiv) return hn::Div(a, b);
}

template <Binary kOperation>
void RunBinary(const BinaryRun& run) {
  const auto take = [](const float* from, std::int64_t i, int step, std::int64_t left)
                        HWY_ATTR { return step == 0 ? Set(*from) : LoadSome(from + i, left); };
  for (std::int64_t i = 0; i < run.n; i += kLanes) {
    const std::int64_t left = run.n - i;
    StoreSome(
        Combine<kOperation>(take(run.a, i, run.a_step, left), take(run.b, i, run.b_step, left)),
        run.y + i, left);
  }
}

void Normalize(const UnaryRun& run, float mean, float factor, float shift) {
  Map(run, [&](Vector x) HWY_ATTR { return Fma(hn::Sub(x, Set(mean)), Set(factor), Set(shift)); });
}

}  // namespace qtx::backend::floats::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
