#include "ops/resample.h"

#include <algorithm>
#include <array>

namespace qtx::reference {
namespace {

Result<std::string> OneOf(const format::Node& node, std::string_view name, std::string fallback,
                          std::span<const std::string_view> values) {
  std::string value = node.StringOr(name, std::move(fallback));
  if (std::ranges::find(values, value) != values.end()) return value;
  return Error{ErrorCode::kInvalid, "attribute '" + std::string(name) + "'",
               "found '" + value + "', which is no " + std::string(name)};
}

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

Result<ResizeRules> ResizeRulesOf(const format::Node& node) {
  constexpr std::array<std::string_view, 3> kModes = {"nearest", "linear", "cubic"};
  constexpr std::array<std::string_view, 6> kCoordinates = {
      "half_pixel",    "half_pixel_symmetric", "pytorch_half_pixel",
      "align_corners", "asymmetric",           "tf_crop_and_resize"};
  constexpr std::array<std::string_view, 4> kNearest = {"round_prefer_floor", "round_prefer_ceil",
                                                        "floor", "ceil"};
  ResizeRules rules;
  QTX_ASSIGN_OR_RETURN(rules.mode, OneOf(node, "mode", "nearest", kModes));
  QTX_ASSIGN_OR_RETURN(rules.coordinates,
                       OneOf(node, "coordinate_transformation_mode", "half_pixel", kCoordinates));
  QTX_ASSIGN_OR_RETURN(rules.nearest, OneOf(node, "nearest_mode", "round_prefer_floor", kNearest));
  if (rules.mode == "cubic") {
    return Error{ErrorCode::kUnsupported, "attribute 'mode'", "cubic is not in the reference"};
  }
  if (node.IntOr("antialias", 0) != 0) {
    return Error{ErrorCode::kUnsupported, "attribute 'antialias'", "found 1, expected 0"};
  }
  return rules;
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
