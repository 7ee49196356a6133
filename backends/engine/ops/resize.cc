// Resize: nearest and linear, with exact coordinates and weights.  Source: spec/ops/resize.md.
#include "engine/ops/resize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "engine/elements.h"
#include "engine/ops/operators.h"
#include "engine/ops/select.h"

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
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  const ResizeModes modes = ResizeModesOf(node);
  QTX_ASSIGN_OR_RETURN(const auto axes, ResizeAxesOf(node, x->tensor.dims, modes));
  Dims dims;
  for (const ResizeAxis& axis : axes) dims.push_back(axis.to);
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(dims));
  const bool empty = std::ranges::find(dims, 0) != dims.end();
  const bool blends = modes.linear || modes.crops;
  QTX_RETURN_IF_ERROR(
      CheckTypes(node, std::span(&x, 1), y, blends ? Plain::kNumbers : Plain::kAny));
  std::vector<std::vector<Blend>> all;
  for (const ResizeAxis& axis : axes) {
    all.push_back(empty ? std::vector<Blend>() : BlendsOf(axis, modes));
  }
  if (empty) return MakeSelection({x}, y, Sources());
  if (!blends) return MakeSelection({x}, y, SourcesOf(all, x->tensor.dims));
  const float outside = node.Float("extrapolation_value");
  return std::make_unique<Blended>(x, y, std::move(all), Number::OfDouble(outside));
}

}  // namespace qtx::backend::engine
