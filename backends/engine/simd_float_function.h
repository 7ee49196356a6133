// Functions of FLOAT by binary64, and the rounding of binary64 to binary32 where an error bound
// decides it, as templates over an instruction set's vectors: see simd_kernels.h, whose rules for
// such templates hold here, too.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/kernels.h"
#include "engine/simd_real.h"

namespace qtx::backend::engine::simd {

/// Vectors of binary64 and of as many binary32. The elements' types are arguments, or the compiler
/// would check conversions of vectors before it knows how long they are.
template <typename Simd, typename Float = float, typename Double = double>
struct FloatVectors {
  static constexpr int kLanes = Simd::kLanes / 2;
  typedef Double Real __attribute__((vector_size(kLanes * sizeof(Double))));
  typedef std::int64_t Bits __attribute__((vector_size(kLanes * sizeof(double))));
  typedef Float Single __attribute__((vector_size(kLanes * sizeof(Float))));

  // a * b + c, rounded once where the instruction set can.
  static void MulAdd(const Real& a, const Real& b, const Real& c, Real& to) {
    if constexpr (requires { Simd::MulAddD(a, b, c); }) {
      to = Simd::MulAddD(a, b, c);
    } else {
      to = a * b + c;
    }
  }
  static void Load(const float* p, Real& to) { RealVectors<Simd, Float, double>::Load(p, to); }
  static void Round(const Real& from, Single& to) {
    if constexpr (requires { Simd::NarrowD(from); }) {
      to = Simd::NarrowD(from);
    } else {
      to = __builtin_convertvector(from, Single);
    }
  }
};

/// For x in [-kExpReach, kExpReach]: exp(x) = power * (1 + rest), where power is a power of two.
/// With u = 2^-53: k ln 2 in two parts, of which the first has 32 bits and so an exact product,
/// leaves |r| <= 0.35 within u (and r = x where k = 0). The series of exp(r) - 1 to r^13 errs by
/// 2^-56 of itself. It is r + r^2 q, where q has its even and its odd powers evaluated side by
/// side: |q| < 0.57 and its error, of coefficients and of what each step rounds, is below 4 u, so
/// that of r^2 q is below 2 u of r. `rest` is within 8 u of itself, or where k is not 0 within 8 u.
inline constexpr double kExpReach = 200;

template <typename V>
void ExpParts(const typename V::Real& x, typename V::Real& power, typename V::Real& rest) {
  using Real = typename V::Real;
  using Bits = typename V::Bits;
  constexpr double kRounder = 0x1.8p52;  // a sum with it has k in its low bits
  constexpr double kLn2High = 0x1.62e42feep-1;
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  const Real rounded = x * 0x1.71547652b82fep0 + kRounder;
  const Real k = rounded - kRounder;
  const Real none{};
  Real r;
  V::MulAdd(-k, none + kLn2Low, x - k * kLn2High, r);
  const Real square = r * r;
  Real even = none + 1.0 / 479001600;
  Real odd = none + 1.0 / 6227020800;
  const auto step = [&square, &none](Real& sum, double next) {
    V::MulAdd(sum, square, none + next, sum);
  };
  step(even, 1.0 / 3628800);
  step(odd, 1.0 / 39916800);
  step(even, 1.0 / 40320);
  step(odd, 1.0 / 362880);
  step(even, 1.0 / 720);
  step(odd, 1.0 / 5040);
  step(even, 1.0 / 24);
  step(odd, 1.0 / 120);
  step(even, 1.0 / 2);
  step(odd, 1.0 / 6);
  Real q;
  V::MulAdd(odd, r, even, q);
  V::MulAdd(q, square, r, rest);
  Bits bits;
  __builtin_memcpy(&bits, &rounded, sizeof(bits));
  bits = (bits + 1023) << 52;
  __builtin_memcpy(&power, &bits, sizeof(bits));
}

template <typename V>
typename V::Real NotBelowReach(const typename V::Real& x) {
  return x < -kExpReach ? typename V::Real{} - kExpReach : x;  // NaN stays
}

// What is beyond kExpReach rounds to the same binary32 as what is there: 0, 1 or infinity. The
// others are within 2^-48 of themselves.
struct ExpOf {
  template <typename V>
  static typename V::Real Value(const typename V::Real& x) {
    const auto within = NotBelowReach<V>(x);
    typename V::Real power, rest;
    ExpParts<V>(within > kExpReach ? typename V::Real{} + kExpReach : within, power, rest);
    return power + power * rest;
  }
};

struct SigmoidOfFloat {
  template <typename V>
  static typename V::Real Value(const typename V::Real& x) {
    typename V::Real power, rest;
    ExpParts<V>(NotBelowReach<V>(x < 0 ? x : -x), power, rest);
    const typename V::Real decay = power + power * rest;
    return (x < 0 ? decay : typename V::Real{} + 1.0) / (decay + 1.0);
  }
};

// By exp(-2 |x|) - 1, in which nothing cancels: it is `rest` where the power is 1.
struct TanhOfFloat {
  template <typename V>
  static typename V::Real Value(const typename V::Real& x) {
    typename V::Real power, rest;
    ExpParts<V>(NotBelowReach<V>((x < 0 ? x : -x) * 2.0), power, rest);
    const typename V::Real less = power * rest + (power - 1.0);
    const typename V::Real value = less / (less + 2.0);  // of -|x|
    return x < 0 ? value : -value;
  }
};

/// Lists the elements of y[0, n) that are not those of `low`; the first has index `first`.
template <typename V>
std::int64_t ListDoubtful(const float* low, const float* y, std::int64_t n, std::int64_t first,
                          std::int32_t* doubtful) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    if (!(low[i] == y[i])) doubtful[count++] = static_cast<std::int32_t>(first + i);
  }
  return count;
}

/// Rounds what lies between two bounds to y[0, n), and lists the elements whose bounds round
/// differently. bounds(i, count, below, above) sets the lanes of `count` elements from i on.
template <typename V, typename Bounds>
std::int64_t RoundBetween(std::int64_t n, const Bounds& bounds, float* y, std::int32_t* doubtful) {
  constexpr std::int64_t kLanes = V::kLanes;
  constexpr std::int64_t kBlock = 64;
  float low[std::size_t{kBlock}];
  std::int64_t count = 0;
  for (std::int64_t first = 0; first < n; first += kBlock) {
    const std::int64_t end = first + kBlock < n ? first + kBlock : n;
    typename V::Real below, above;
    typename V::Single least, most;
    auto equal = typename V::Single{} == typename V::Single{};
    std::int64_t i = first;
    for (; i + kLanes <= end; i += kLanes) {
      bounds(i, kLanes, below, above);
      V::Round(below, least);
      V::Round(above, most);
      equal &= least == most;
      __builtin_memcpy(low + (i - first), &least, sizeof(least));
      __builtin_memcpy(y + i, &most, sizeof(most));
    }
    bool all = IsAll(equal);
    if (i < end) {
      const auto bytes = static_cast<std::size_t>(end - i) * sizeof(float);
      bounds(i, end - i, below, above);
      V::Round(below, least);
      V::Round(above, most);
      __builtin_memcpy(low + (i - first), &least, bytes);
      __builtin_memcpy(y + i, &most, bytes);
      all = false;
    }
    if (!all) count += ListDoubtful<V>(low, y + first, end - first, first, doubtful + count);
  }
  return count;
}

/// `count` elements of p, the rest 0.
template <typename V, typename T>
void LoadPart(const T* p, std::int64_t count, typename V::Real& to) {
  if (count == V::kLanes) {
    if constexpr (sizeof(T) == sizeof(float)) {
      V::Load(p, to);
    } else {
      __builtin_memcpy(&to, p, sizeof(to));
    }
    return;
  }
  to = typename V::Real{};
  for (std::int64_t i = 0; i < count; ++i) to[i] = p[i];
}

template <typename Simd, typename Function>
std::int64_t RunFloatFunction(const float* x, std::int64_t n, float* y, std::int32_t* doubtful) {
  using V = FloatVectors<Simd>;
  const auto bounds = [x](std::int64_t i, std::int64_t count, typename V::Real& below,
                          typename V::Real& above) {
    typename V::Real argument;
    LoadPart<V>(x + i, count, argument);
    const auto value = Function::template Value<V>(argument);
    below = value - value * 0x1p-46;
    above = value + value * 0x1p-46;
  };
  return RoundBetween<V>(n, bounds, y, doubtful);
}

template <typename Simd>
std::int64_t RunSettle(const RealSums<double>& of, std::int32_t* doubtful) {
  using V = FloatVectors<Simd>;
  const RealSums<double> s = of;
  const auto bounds = [&s](std::int64_t i, std::int64_t count, typename V::Real& below,
                           typename V::Real& above) {
    typename V::Real sum;
    LoadPart<V>(s.sums + i, count, sum);
    sum *= s.factor;
    if (s.addend_step == 0) {
      sum += static_cast<double>(*s.addend);
    } else {
      typename V::Real addend;
      LoadPart<V>(s.addend + i, count, addend);
      sum += addend;
    }
    below = sum - s.bound;
    above = sum + s.bound;
  };
  return RoundBetween<V>(s.n, bounds, s.y, doubtful);
}

// A sum with 1.5 * 2^52 is rounded to an integer, which its low bits hold.
template <typename Simd, typename Integer = std::int32_t>
bool RunNearestQuotients(const double* x, std::int64_t n, double divisor, double low, double high,
                         Integer* nearest) {
  using V = FloatVectors<Simd>;
  typedef Integer Words __attribute__((vector_size(V::kLanes * sizeof(Integer))));
  constexpr double kRounder = 0x1.8p52;
  constexpr double kDoubt = 0.5 - 0x1p-30;
  typename V::Bits certain = ~typename V::Bits{};
  for (std::int64_t i = 0; i < n; i += V::kLanes) {
    const std::int64_t count = n - i < V::kLanes ? n - i : std::int64_t{V::kLanes};
    typename V::Real value;
    LoadPart<V>(x + i, count, value);
    value /= divisor;
    value = value < low ? typename V::Real{} + low : value;
    value = value > high ? typename V::Real{} + high : value;
    const typename V::Real rounded = value + kRounder;
    const typename V::Real fraction = value - (rounded - kRounder);
    certain &= (fraction < kDoubt) & (fraction > -kDoubt);
    typename V::Bits bits;
    __builtin_memcpy(&bits, &rounded, sizeof(bits));
    const Words words = __builtin_convertvector(bits, Words);
    __builtin_memcpy(nearest + i, &words, static_cast<std::size_t>(count) * sizeof(Integer));
  }
  for (int lane = 0; lane < V::kLanes; ++lane) {
    if (certain[lane] == 0) return false;
  }
  return true;
}

template <typename Simd>
void RunExponentials(const double* x, std::int64_t n, double* y) {
  using V = FloatVectors<Simd>;
  for (std::int64_t i = 0; i < n; i += V::kLanes) {
    const std::int64_t count = n - i < V::kLanes ? n - i : std::int64_t{V::kLanes};
    typename V::Real argument;
    LoadPart<V>(x + i, count, argument);
    const typename V::Real value = ExpOf::Value<V>(argument);
    __builtin_memcpy(y + i, &value, static_cast<std::size_t>(count) * sizeof(double));
  }
}

}  // namespace qtx::backend::engine::simd
