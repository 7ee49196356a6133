#include "engine/double_double.h"

namespace qtx::backend::engine {

// exp(-x) = 2^-k * exp(r / 256)^256 with r = k ln 2 - x, |r| <= 0.35. The reduction errs by at most
// k times the error of ln 2 (2^-108), that is 2^-98 absolute for k < 866, so as much relative in
// the result. The series to r^14 / 14! errs below (0.35 / 256)^15 / 15! < 2^-180. To keep the
// squarings from wiping out low bits they act on exp - 1: (1 + f)^2 - 1 = 2f + f^2, whose eight
// steps add a few 2^-100 each, relative to f.
DoubleDouble ExpOfNegative(const DoubleDouble& x) {
  if (x.high >= 600) return {};
  constexpr DoubleDouble kLn2{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
  constexpr int kHalvings = 8;
  const double k = std::nearbyint(x.high / kLn2.high);
  DoubleDouble r = kLn2 * DoubleDouble{k, 0} - x;
  r = {std::ldexp(r.high, -kHalvings), std::ldexp(r.low, -kHalvings)};
  DoubleDouble series{};
  for (double n = 14; n >= 1; --n) {
    series = (series + DoubleDouble{1, 0}) * r / DoubleDouble{n, 0};
  }
  for (int i = 0; i < kHalvings; ++i) series = series * DoubleDouble{2, 0} + series * series;
  const DoubleDouble result = series + DoubleDouble{1, 0};
  const int exponent = -static_cast<int>(k);
  return {std::ldexp(result.high, exponent), std::ldexp(result.low, exponent)};
}

}  // namespace qtx::backend::engine
