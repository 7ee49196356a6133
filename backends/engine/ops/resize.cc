// Resize: nearest and linear, with exact coordinates and weights.  Source: spec/ops/resize.md.
#include "engine/ops/resize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "engine/elements.h"
#include "engine/ops/linear_resize.h"
#include "engine/ops/operators.h"
#include "engine/ops/select.h"
#include "engine/ops/strided_move.h"

namespace qtx::backend::engine {
namespace {

using format::Dims;

// Elements along one axis that make up a position of y's, with their weights; none: outside.
struct Blend {
  struct Part {
    std::int64_t at = 0;
    mpq_class weight;
  };
  std::vector<Part> parts;
};

Blend NearestAt(const mpq_class& x, const ResizeAxis& axis, const std::string& rounding) {
  const mpq_class half(1, 2);
  mpz_class at = FloorOf(x);
  if (rounding == "ceil") at = -FloorOf(-x);
  if (rounding == "round_prefer_floor") at = -FloorOf(half - x);
  if (rounding == "round_prefer_ceil") at = FloorOf(x + half);
  return {{{Within(at, axis.from), 1}}};
}

Blend LinearAt(const mpq_class& x, const ResizeAxis& axis) {
  const mpz_class floor = FloorOf(x);
  const mpq_class fraction = x - floor;
  Blend blend;
  const std::int64_t first = Within(floor, axis.from);
  const std::int64_t second = Within(floor + 1, axis.from);
  if (fraction != 1) blend.parts.push_back({first, 1 - fraction});
  if (sgn(fraction) == 0) return blend;
  if (first == second) return {{{first, 1}}};
  blend.parts.push_back({second, fraction});
  return blend;
}

std::vector<Blend> BlendsOf(const ResizeAxis& axis, const ResizeModes& modes) {
  std::vector<Blend> blends;
  for (std::int64_t i = 0; i < axis.to; ++i) {
    if (!axis.resized) {
      blends.push_back({{{i, 1}}});
      continue;
    }
    const mpq_class x = CoordinateOf(i, axis, modes.coordinates);
    if (modes.crops && (sgn(x) < 0 || x > mpq_class(axis.from - 1))) {
      blends.emplace_back();
    } else {
      blends.push_back(modes.linear ? LinearAt(x, axis) : NearestAt(x, axis, modes.rounding));
    }
  }
  return blends;
}

// Coordinates of y, one after the other, as blends of x's.
class Blended : public Step {
 public:
  Blended(const Value* x, Value* y, std::vector<std::vector<Blend>> blends, Number outside)
      : x_(x), y_(y), blends_(std::move(blends)), outside_(std::move(outside)) {}

  Result<void> Run() override {
    const NumberReader x(x_->tensor);
    const Dims strides = format::RowMajorStrides(x_->tensor.dims);
    NumberWriter writer(y_->tensor);
    for (std::int64_t i = 0; i < format::ElementCount(y_->tensor); ++i) {
      writer.Put(i, At(i, x, strides));
    }
    return {};
  }

 private:
  Number At(std::int64_t element, const NumberReader& x, const Dims& strides) const {
    std::vector<Blend::Part> parts{{0, 1}};
    for (std::size_t d = blends_.size(); d-- > 0;) {
      const auto size = static_cast<std::int64_t>(blends_[d].size());
      const Blend& blend = blends_[d][static_cast<std::size_t>(element % size)];
      element /= size;
      if (blend.parts.empty()) return outside_;
      std::vector<Blend::Part> product;
      for (const Blend::Part& a : blend.parts) {
        for (const Blend::Part& b : parts) {
          product.push_back({a.at * strides[d] + b.at, a.weight * b.weight});
        }
      }
      parts = std::move(product);
    }
    Number sum;
    for (const Blend::Part& part : parts) sum = sum + Number(part.weight) * x(part.at);
    return sum;
  }

  const Value* x_;
  Value* y_;
  std::vector<std::vector<Blend>> blends_;  // of each axis
  Number outside_;
};

// The places of linear Resize, with weights as integers over their common divisor.
Result<std::vector<LinearAxis>> LinearAxesOf(const NodePlan& node,
                                             const std::vector<std::vector<Blend>>& blends,
                                             const std::vector<ResizeAxis>& axes) {
  std::vector<LinearAxis> all;
  for (std::size_t d = 0; d < axes.size(); ++d) {
    mpz_class divisor = 1;
    for (const Blend& blend : blends[d]) {
      for (const Blend::Part& part : blend.parts) divisor = lcm(divisor, part.weight.get_den());
    }
    if (divisor > (1 << 22)) return node.Unsupported("weights of this many digits");
    LinearAxis& axis = all.emplace_back();
    axis.divisor = divisor.get_si();
    axis.resized = axes[d].resized;
    for (const Blend& blend : blends[d]) {
      const auto weight = [&](std::size_t i) {
        const mpq_class scaled = blend.parts[i].weight * mpq_class(divisor);
        return static_cast<std::int32_t>(scaled.get_num().get_si());
      };
      LinearPlace place{.first = blend.parts[0].at, .first_weight = weight(0)};
      place.second = place.first;
      if (blend.parts.size() > 1) {
        place.second = blend.parts[1].at;
        place.second_weight = weight(1);
      }
      axis.places.push_back(place);
    }
  }
  return all;
}

// The elements that nearest Resize takes along an axis, as runs: `count` places apart by `step`,
// each `repeats` times.
struct Stride {
  std::int64_t count = 0, step = 0, repeats = 1;
};
std::optional<Stride> StrideOf(const std::vector<Blend>& blends) {
  const auto at = [&](std::size_t i) { return blends[i].parts[0].at; };
  Stride stride;
  while (static_cast<std::size_t>(stride.repeats) < blends.size() &&
         at(static_cast<std::size_t>(stride.repeats)) == at(0)) {
    ++stride.repeats;
  }
  const auto repeats = static_cast<std::size_t>(stride.repeats);
  if (blends.size() % repeats != 0) return std::nullopt;
  stride.count = static_cast<std::int64_t>(blends.size() / repeats);
  if (repeats < blends.size()) stride.step = at(repeats) - at(0);
  for (std::size_t i = 0; i < blends.size(); ++i) {
    if (at(i) != at(0) + static_cast<std::int64_t>(i / repeats) * stride.step) return std::nullopt;
  }
  return stride;
}

// Nearest Resize by strides.  Errors: kUnsupported for other places.
StepResult PrepareStridedResize(const NodePlan& node, const Dims& dims,
                                const std::vector<std::vector<Blend>>& blends) {
  std::vector<Stride> strides;
  for (const std::vector<Blend>& axis : blends) {
    const auto stride = StrideOf(axis);
    if (!stride.has_value()) return node.Unsupported("places that are not evenly apart");
    strides.push_back(*stride);
  }
  return PrepareStridedMove(node, {.output_of_several = {},
                                   .dims = dims,
                                   .parts = [&](const std::vector<Dims>& x, const Dims& y) {
                                     MovedPart part;
                                     for (std::size_t d = 0; d < strides.size(); ++d) {
                                       const Stride& s = strides[d];
                                       part.first_from += blends[d][0].parts[0].at * x[0][d];
                                       part.dims.insert(part.dims.end(), {s.count, s.repeats});
                                       part.from.insert(part.from.end(), {s.step * x[0][d], 0});
                                       part.to.insert(part.to.end(), {s.repeats * y[d], y[d]});
                                     }
                                     return std::vector{std::move(part)};
                                   }});
}

Sources SourcesOf(const std::vector<std::vector<Blend>>& blends, const Dims& from) {
  const Dims strides = format::RowMajorStrides(from);
  Sources sources{0};
  for (std::size_t d = 0; d < blends.size(); ++d) {
    Sources next;
    for (const std::int64_t base : sources) {
      for (const Blend& blend : blends[d]) {
        next.push_back(base + blend.parts[0].at * strides[d]);
      }
    }
    sources = std::move(next);
  }
  return sources;
}

}  // namespace

StepResult PrepareResize(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const format::Tensor* x_type, node.TypeOf(0));
  const ResizeModes modes = ResizeModesOf(node);
  QTX_ASSIGN_OR_RETURN(const auto axes, ResizeAxesOf(node, x_type->dims, modes));
  Dims dims;
  for (const ResizeAxis& axis : axes) dims.push_back(axis.to);
  const bool empty = std::ranges::find(dims, 0) != dims.end();
  const bool blends = modes.linear || modes.crops;
  std::vector<std::vector<Blend>> all;
  for (const ResizeAxis& axis : axes) {
    all.push_back(empty ? std::vector<Blend>() : BlendsOf(axis, modes));
  }
  if (!empty && !modes.crops) {
    StepResult step = node.Unsupported("");
    if (modes.linear) {
      const auto linear = LinearAxesOf(node, all, axes);
      if (linear.has_value()) step = PrepareLinearResize(node, dims, *linear);
    } else {
      step = PrepareStridedResize(node, dims, all);
    }
    if (step.has_value() || step.error().code != ErrorCode::kUnsupported) return step;
  }
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(dims));
  QTX_RETURN_IF_ERROR(
      CheckTypes(node, std::span(&x, 1), y, blends ? Plain::kNumbers : Plain::kAny));
  if (empty) return MakeSelection({x}, y, Sources());
  if (!blends) return MakeSelection({x}, y, SourcesOf(all, x->tensor.dims));
  const float outside = node.Float("extrapolation_value");
  return std::make_unique<Blended>(x, y, std::move(all), Number::OfDouble(outside));
}

}  // namespace qtx::backend::engine
