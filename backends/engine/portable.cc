// The kernels in plain C++, for any machine.
#include <cmath>
#include <cstring>

#include "engine/simd_kernels.h"

namespace qtx::backend::engine {
namespace {

constexpr int kWidth = 4;

template <typename T>
struct Lanes {
  T at[kWidth];
};

template <typename T, typename Function>
Lanes<T> Each(Function function) {
  Lanes<T> result;
  for (int i = 0; i < kWidth; ++i) result.at[i] = function(i);
  return result;
}

struct Portable {
  using Byte = std::uint8_t;
  using I32 = Lanes<std::int32_t>;
  using F32 = Lanes<float>;
  static constexpr int kLanes = kWidth;

  static I32 Load(const std::int32_t* p) {
    return Each<std::int32_t>([p](int i) { return p[i]; });
  }
  static void Store(std::int32_t* p, const I32& v) { std::memcpy(p, v.at, sizeof(v.at)); }
  static I32 Set(std::int32_t x) {
    return Each<std::int32_t>([x](int) { return x; });
  }
  static I32 AddI(const I32& a, const I32& b) {
    return Each<std::int32_t>([&](int i) { return a.at[i] + b.at[i]; });
  }
  static F32 SetF(float x) {
    return Each<float>([x](int) { return x; });
  }
  static F32 LoadF(const float* p) {
    return Each<float>([p](int i) { return p[i]; });
  }
  static F32 ToFloat(const I32& v) {
    return Each<float>([&](int i) { return static_cast<float>(v.at[i]); });
  }
  static I32 Nearest(const F32& v) {
    // Values below -2^31 become INT32_MIN.
    return Each<std::int32_t>([&](int i) {
      return static_cast<std::int32_t>(std::nearbyintf(v.at[i] < -0x1p31F ? -0x1p31F : v.at[i]));
    });
  }
  static F32 MulF(const F32& a, const F32& b) {
    return Each<float>([&](int i) { return a.at[i] * b.at[i]; });
  }
  static F32 MinF(const F32& a, const F32& b) {
    return Each<float>([&](int i) { return a.at[i] < b.at[i] ? a.at[i] : b.at[i]; });
  }
  static F32 MulAddF(const F32& a, const F32& b, const F32& c) {
    return Each<float>([&](int i) { return a.at[i] * b.at[i] + c.at[i]; });
  }
  static F32 Fraction(const F32& v, const I32& nearest) {
    return Each<float>([&](int i) { return v.at[i] - static_cast<float>(nearest.at[i]); });
  }
  static F32 AbsF(const F32& a) {
    return Each<float>([&](int i) { return std::fabs(a.at[i]); });
  }
  static F32 MaxAbsF(const F32& a, const F32& b) {
    return Each<float>([&](int i) { return std::fmax(a.at[i], std::fabs(b.at[i])); });
  }
  static unsigned AtLeast(const F32& a, const F32& b) {
    unsigned mask = 0;
    for (int i = 0; i < kWidth; ++i) mask |= (a.at[i] >= b.at[i] ? 1U : 0U) << i;
    return mask;
  }
  static void StoreNarrowed(std::uint8_t* p, const I32 (&v)[4], Narrowing narrowing,
                            std::int64_t n) {
    for (int i = 0; i < n; ++i) {
      // Far negative values stay below the range after the offset is added.
      std::int64_t stored = std::int64_t{v[i / kWidth].at[i % kWidth]} + narrowing.offset;
      if (stored < narrowing.low) stored = narrowing.low;
      if (stored > narrowing.high) stored = narrowing.high;
      p[i] = static_cast<std::uint8_t>(stored);
    }
  }
  static I32 LoadBytes(const std::uint8_t* p) {
    return Each<std::int32_t>([p](int i) { return p[i]; });
  }
};

// kGroup products a lane.
template <typename Activation, typename Weight, int kElements>
struct PlainDot {
  using A = Activation;
  using W = Weight;
  using Vector = const W*;
  struct Broadcast {
    const A* first;
    int step;  // 0: the same group for every lane
  };
  static constexpr int kGroup = kElements;
  static constexpr std::int32_t kPairLimit = 0;

  static Vector Load(const W* p) { return p; }
  static Broadcast Spread(const A* p) { return {p, 0}; }
  static Broadcast LoadValues(const A* p) { return {p, kGroup}; }
  static Portable::I32 Multiply(Portable::I32 sum, Broadcast a, Vector b) {
    for (int i = 0; i < kWidth; ++i) {
      for (int j = 0; j < kGroup; ++j) sum.at[i] += a.first[i * a.step + j] * b[i * kGroup + j];
    }
    return sum;
  }
};

using ByteDot = PlainDot<std::uint8_t, std::int8_t, 4>;
using WordDot = PlainDot<std::int16_t, std::int16_t, 2>;

}  // namespace

const Kernels& PortableKernels() {
  static constexpr Kernels kKernels = simd::MakeKernels<Portable, ByteDot>(
      "portable", simd::MakeProducts<Portable, ByteDot, 4, 4, 4, 4>(),
      simd::MakeProducts<Portable, WordDot, 4, 4, 4, 4>());
  return kKernels;
}

}  // namespace qtx::backend::engine
