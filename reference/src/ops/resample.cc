#include "ops/resample.h"

namespace qtx::reference {
namespace {

mpz_class Floor(const Rational& value) {
  mpz_class floor;
  mpz_fdiv_q(floor.get_mpz_t(), value.get_num_mpz_t(), value.get_den_mpz_t());
  return floor;
}

std::int64_t Clamped(const mpz_class& index, std::int64_t size) {
  if (sgn(index) < 0) return 0;
  return index < static_cast<long>(size) ? index.get_si() : size - 1;
}

Rational Number(std::int64_t value) { return {static_cast<long>(value)}; }

// x_original of output coordinate `at`.  Source: resize.S4.
Rational Coordinate(const ResizeRules& rules, const ResizedAxis& axis, std::int64_t at) {
  const Rational half(1, 2);
  const Rational last = Number(axis.from - 1);
  if (rules.coordinates == "asymmetric") return Number(at) / axis.scale;
  if (rules.coordinates == "align_corners") {
    if (axis.length == 1) return 0;
    return Number(at) * last / (axis.length - 1);
  }
  if (rules.crops()) {
    if (axis.length <= 1) return half * (axis.roi_start + axis.roi_end) * last;
    return axis.roi_start * last +
           Number(at) * (axis.roi_end - axis.roi_start) * last / (axis.length - 1);
  }
  if (rules.coordinates == "pytorch_half_pixel" && axis.length <= 1) return 0;
  Rational centre = (Number(at) + half) / axis.scale - half;
  if (rules.coordinates != "half_pixel_symmetric") return centre;
  return half * Number(axis.from) * (1 - Number(axis.to) / axis.length) + centre;
}

// Source: resize.S5.
mpz_class Nearest(const std::string& mode, const Rational& x) {
  const Rational half(1, 2);
  if (mode == "floor") return Floor(x);
  if (mode == "ceil") return -Floor(-x);
  if (mode == "round_prefer_ceil") return Floor(x + half);
  return -Floor(half - x);  // round_prefer_floor: the least integer not below x - 1/2
}

}  // namespace

ResizeRules ResizeRulesOf(const Call& call) {
  return {call.String("mode"), call.String("coordinate_transformation_mode"),
          call.String("nearest_mode")};
}

std::vector<Sample> SamplesOf(const ResizeRules& rules, const ResizedAxis& axis) {
  std::vector<Sample> samples;
  for (std::int64_t at = 0; at < axis.to; ++at) {
    const Rational x = Coordinate(rules, axis, at);
    Sample sample;
    sample.outside = rules.crops() && (x < 0 || x > Number(axis.from - 1));
    if (rules.mode == "nearest") {
      sample.low = sample.high = Clamped(Nearest(rules.nearest, x), axis.from);
    } else {
      const mpz_class floor = Floor(x);
      sample.low = Clamped(floor, axis.from);
      sample.high_weight = x - floor;
      sample.high = sgn(sample.high_weight) == 0 ? sample.low : Clamped(floor + 1, axis.from);
    }
    samples.push_back(std::move(sample));
  }
  return samples;
}

}  // namespace qtx::reference
