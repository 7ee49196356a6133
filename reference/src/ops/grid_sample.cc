#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "ops/move.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::Dims;

// Coordinates are exact rationals, binary32 numbers where the arithmetic computes in them, and
// binary64 where one is not finite and IEEE 754 decides.
Rational ToNearest(const Rational& c) { return Rational(Round(c, TieRule::kHalfEven)); }
float ToNearest(float c) { return std::nearbyint(c); }
double ToNearest(double c) { return std::nearbyint(c); }

Rational TowardZero(const Rational& c) { return Rational(Round(c, TieRule::kTowardZero)); }
float TowardZero(float c) { return std::trunc(c); }
double TowardZero(double c) { return std::trunc(c); }

Rational Floor(const Rational& c) {
  mpz_class floor;
  mpz_fdiv_q(floor.get_mpz_t(), c.get_num_mpz_t(), c.get_den_mpz_t());
  return Rational(floor);
}
float Floor(float c) { return std::floor(c); }

bool IsFinite(const Rational&) { return true; }
bool IsFinite(float c) { return std::isfinite(c); }
bool IsFinite(double c) { return std::isfinite(c); }

// Of a whole number of 0 or more.
bool IsOdd(const Rational& whole) { return mpz_odd_p(whole.get_num_mpz_t()) != 0; }
bool IsOdd(float whole) { return std::fmod(whole, 2.0F) == 1; }
bool IsOdd(double whole) { return std::fmod(whole, 2.0) == 1; }

std::int64_t ToInteger(const Rational& whole) { return whole.get_num().get_si(); }
std::int64_t ToInteger(float whole) { return static_cast<std::int64_t>(whole); }

struct SampleRules {
  bool nearest = false;
  bool corners = false;
  std::string padding;
};

// Where a coordinate of grid lies on an axis of x.  Source: grid_sample.S1 to grid_sample.S3.
template <typename Number>
class SampledAxis {
 public:
  SampledAxis(const SampleRules& rules, std::int64_t size)
      : rules_(&rules),
        size_(Number(static_cast<long>(size))),
        end_(Number(static_cast<long>(size - 1))),
        low_(Number(rules.corners ? 0.0 : -0.5)),
        span_(rules.corners ? end_ : size_),
        high_(low_ + span_) {}

  /// nullopt where it is not finite.
  std::optional<Number> At(const Number& g) const {
    Number c = Mapped(g);
    if (rules_->nearest) c = ToNearest(c);
    if (rules_->padding != "zeros") c = Bounded(c);
    return IsFinite(c) ? std::optional(c) : std::nullopt;
  }

 private:
  Number Mapped(const Number& g) const {
    const Number shifted = g + 1;
    if (rules_->corners) {
      const Number half = shifted / 2;
      return half * end_;
    }
    const Number scaled = shifted * size_;
    const Number less = scaled - 1;
    return less / 2;
  }

  Number Bounded(const Number& c) const {
    const Number inside = rules_->padding == "reflection" ? Reflected(c) : c;
    if (!(inside == inside)) return inside;  // NaN
    return inside < 0 ? Number(0) : inside > end_ ? end_ : inside;
  }

  Number Reflected(const Number& c) const {
    if (span_ == 0) return c;
    if (c < low_) return FromEnd(low_ - c, true);
    if (c > high_) return FromEnd(c - high_, false);
    return c;
  }

  // At a distance beyond the low end, or the high one.
  Number FromEnd(const Number& distance, bool from_low) const {
    const Number turns = TowardZero(Number(distance / span_));
    const Number whole = turns * span_;
    const Number rest = distance - whole;
    return IsOdd(turns) == from_low ? Number(high_ - rest) : Number(low_ + rest);
  }

  const SampleRules* rules_;
  Number size_, end_, low_, span_, high_;
};

// The one or two elements of an axis about a point, and their weights.
template <typename Number>
struct SamplePair {
  std::int64_t low = 0;
  bool single = false;
  Number near = 1, far = 0;
};

template <typename Number>
SamplePair<Number> PairAt(const Number& c, std::int64_t size) {
  const Number floor = Floor(c);
  // Farther off all elements are outside, and their weights do not matter.
  if (floor < -1 || floor > Number(static_cast<long>(size))) return {size, true, 1, 0};
  if (floor == c) return {ToInteger(floor), true, 1, 0};
  const Number next = floor + 1;
  return {ToInteger(floor), false, Number(next - c), Number(c - floor)};
}

// Walks the points of grid. Borrows both operands.
class GridWalk {
 public:
  GridWalk(const Call& call, const Operand& grid)
      : grid_(&grid),
        x_dims_(call.inputs[0]->dims),
        rules_{.nearest = call.String("mode") == "nearest",
               .corners = call.Int("align_corners") != 0,
               .padding = call.String("padding_mode")} {}

  const SampleRules& rules() const { return rules_; }
  std::size_t axes() const { return x_dims_.size() - 2; }
  std::int64_t size(std::size_t axis) const { return x_dims_[axis + 2]; }

  /// The coordinates of point `i` along the axes of x; nullopt where one is not finite.
  std::optional<std::vector<Rational>> Exact(std::int64_t i) const {
    std::vector<Rational> point;
    for (std::size_t axis = 0; axis < axes(); ++axis) {
      const Dyadic g = grid_->exact(Element(i, axis));
      if (g.kind != Dyadic::Kind::kFinite) {
        const auto c = SampledAxis<double>(rules_, size(axis)).At(ToReal(g).special);
        if (!c) return std::nullopt;
        point.emplace_back(*c);
        continue;
      }
      point.push_back(*SampledAxis<Rational>(rules_, size(axis)).At(ToRational(g)));
    }
    return point;
  }

  std::optional<std::vector<float>> Binary32(std::int64_t i) const {
    std::vector<float> point;
    for (std::size_t axis = 0; axis < axes(); ++axis) {
      const auto c = SampledAxis<float>(rules_, size(axis)).At(grid_->binary32(Element(i, axis)));
      if (!c) return std::nullopt;
      point.push_back(*c);
    }
    return point;
  }

 private:
  // The last axis of x comes first.
  std::int64_t Element(std::int64_t i, std::size_t axis) const {
    const auto count = static_cast<std::int64_t>(axes());
    return i * count + count - 1 - static_cast<std::int64_t>(axis);
  }

  const Operand* grid_;
  const Dims& x_dims_;
  SampleRules rules_;
};

// Which elements of a plane of x a point takes, and their weights, in row-major order.
template <typename Number>
struct SampleTap {
  std::int64_t source = 0;
  Number weight = 1;
};
template <typename Number>
using SampleTaps = std::vector<SampleTap<Number>>;

// Weights are multiplied from the last axis to the first.
template <typename Number>
SampleTaps<Number> TapsOf(const GridWalk& walk, const std::optional<std::vector<Number>>& point) {
  SampleTaps<Number> taps;
  if (!point) return taps;
  taps.push_back({});
  std::int64_t stride = 1;
  for (std::size_t axis = walk.axes(); axis-- > 0;) {
    const SamplePair<Number> pair = PairAt((*point)[axis], walk.size(axis));
    SampleTaps<Number> next;
    const auto add = [&](std::int64_t at, const Number& weight) {
      if (at < 0 || at >= walk.size(axis)) return;
      for (const SampleTap<Number>& tap : taps) {
        next.push_back({at * stride + tap.source, static_cast<Number>(tap.weight * weight)});
      }
    };
    add(pair.low, pair.near);
    if (!pair.single) add(pair.low + 1, pair.far);
    taps.swap(next);
    stride *= walk.size(axis);
  }
  return taps;
}

// As IEEE 754 has it.
Real WeightedSum(const Operand& x, std::int64_t plane, const SampleTaps<Rational>& taps) {
  Real sum;
  for (const auto& tap : taps) {
    const Real value = ToReal(x.exact(plane + tap.source));
    if (value.finite) {
      sum.value += tap.weight * value.value;
    } else {
      sum.special += value.special;
      sum.finite = false;
    }
  }
  return sum;
}

float WeightedSum(const Operand& x, std::int64_t plane, const SampleTaps<float>& taps) {
  float sum = 0;
  for (const auto& tap : taps) sum += tap.weight * x.binary32(plane + tap.source);
  return sum;
}

void PutSum(Output* output, std::int64_t element, const Real& sum) {
  output->PutReal(element, sum);
}
void PutSum(Output* output, std::int64_t element, float sum) { output->PutFloat(element, sum); }

// Calls use(element, plane, taps) for each element of y: `plane` is where that of x begins.
template <typename PointAt, typename Use>
void ForEachSample(const Dims& x, const Dims& y, const GridWalk& walk, const PointAt& point_at,
                   const Use& use) {
  const std::int64_t points = Product(y, 2, y.size());
  const std::int64_t plane = Product(x, 2, x.size());
  for (std::int64_t n = 0; n < y[0]; ++n) {
    for (std::int64_t p = 0; p < points; ++p) {
      const auto taps = TapsOf(walk, point_at(n * points + p));
      for (std::int64_t c = n * y[1]; c < (n + 1) * y[1]; ++c) use(c * points + p, c * plane, taps);
    }
  }
}

template <typename PointAt>
Result<format::Tensor> MoveSamples(const Call& call, const Dims& dims, const GridWalk& walk,
                                   const PointAt& point_at) {
  const format::Tensor& x = *call.inputs[0];
  std::vector<std::int64_t> elements, sources, outside;
  ForEachSample(x.dims, dims, walk, point_at,
                [&](std::int64_t element, std::int64_t plane, const auto& taps) {
                  if (taps.empty()) return outside.push_back(element);
                  elements.push_back(element);
                  sources.push_back(plane + taps[0].source);
                });
  QTX_ASSIGN_OR_RETURN(Mover mover, Mover::Make(call, x, dims));
  QTX_RETURN_IF_ERROR(mover.Copy(x, elements, sources));
  QTX_RETURN_IF_ERROR(mover.Fill(nullptr, outside));
  return mover.Take();
}

// Source: grid_sample.S1 to grid_sample.S5.
Result<format::Tensor> GridSample(const Call& call) {
  const format::Tensor& x = *call.inputs[0];
  QTX_ASSIGN_OR_RETURN(const Operand grid, OperandAt(call, 1));
  QTX_ASSIGN_OR_RETURN(const Dims dims, call.OutputDims());
  const GridWalk walk(call, grid);
  const auto exact = [&walk](std::int64_t i) { return walk.Exact(i); };
  const auto binary32 = [&walk](std::int64_t i) { return walk.Binary32(i); };
  const bool in_binary32 = call.arithmetic.domain == Domain::kFloat32 && IsReal(x.elem_type);
  if (walk.rules().nearest) {
    return in_binary32 ? MoveSamples(call, dims, walk, binary32)
                       : MoveSamples(call, dims, walk, exact);
  }
  QTX_ASSIGN_OR_RETURN(const Operand operand, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Make(call, dims));
  const auto put = [&](std::int64_t element, std::int64_t plane, const auto& taps) {
    PutSum(&output, element, WeightedSum(operand, plane, taps));
  };
  if (in_binary32) {
    ForEachSample(x.dims, dims, walk, binary32, put);
  } else {
    ForEachSample(x.dims, dims, walk, exact, put);
  }
  return output.Take();
}

}  // namespace

const Operator kGridSample = {.op_type = "GridSample", .run = GridSample};

}  // namespace qtx::reference::ops
