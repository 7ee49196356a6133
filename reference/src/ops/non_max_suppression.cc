#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "ops/order.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// An exact real, or what IEEE 754 has where one is not finite; zero has no sign.
struct BoxReal {
  Real real;

  explicit BoxReal(const Dyadic& value) : real(ToReal(value)) {}
  explicit BoxReal(Real value) : real(std::move(value)) {}
  explicit BoxReal(int value) : real{true, 0, value} {}

  double sign() const { return real.finite ? sgn(real.value) : real.special; }
  bool is_nan() const { return !real.finite && std::isnan(real.special); }
};

BoxReal Special(double value) { return BoxReal(Real{false, value, {}}); }

BoxReal Plus(const BoxReal& a, const BoxReal& b) {
  if (a.real.finite && b.real.finite) {
    return BoxReal(Real{true, 0, a.real.value + b.real.value});
  }
  return Special((a.real.finite ? 0 : a.real.special) + (b.real.finite ? 0 : b.real.special));
}

BoxReal Minus(const BoxReal& a, const BoxReal& b) {
  if (!b.real.finite) return Plus(a, Special(-b.real.special));
  return Plus(a, BoxReal(Real{true, 0, -b.real.value}));
}

BoxReal Multiplied(const BoxReal& a, const BoxReal& b) {
  if (a.real.finite && b.real.finite) {
    return BoxReal(Real{true, 0, a.real.value * b.real.value});
  }
  return Special(a.sign() * b.sign());
}

BoxReal Half(const BoxReal& a) {
  return a.real.finite ? BoxReal(Real{true, 0, a.real.value / 2}) : a;
}

bool IsLess(const BoxReal& a, const BoxReal& b) {
  if (a.real.finite && b.real.finite) return a.real.value < b.real.value;
  return (a.real.finite ? 0 : a.real.special) < (b.real.finite ? 0 : b.real.special);
}

bool IsNan(const BoxReal& a) { return a.is_nan(); }

// Whether a over b, which is above 0, is greater than `limit`.
bool Exceeds(const BoxReal& a, const BoxReal& b, const BoxReal& limit) {
  if (a.real.finite && b.real.finite) {
    return IsLess(limit, BoxReal(Real{true, 0, a.real.value / b.real.value}));
  }
  if (a.real.finite) return IsLess(limit, BoxReal(0));  // over infinity
  return b.real.finite && IsLess(limit, a);
}

BoxReal Least(const BoxReal& a, const BoxReal& b) {
  if (IsNan(a) || IsNan(b)) return IsNan(a) ? a : b;
  return IsLess(b, a) ? b : a;
}
BoxReal Greatest(const BoxReal& a, const BoxReal& b) {
  if (IsNan(a) || IsNan(b)) return IsNan(a) ? a : b;
  return IsLess(a, b) ? b : a;
}

struct Box {
  std::array<BoxReal, 2> from, to;
  BoxReal area;
};

// The corners of a box, of which `at` gives the four coordinates.
template <typename At>
Box BoxOf(const At& at, bool centred) {
  const auto end = [&](int d, bool to) -> BoxReal {
    const BoxReal first = at(d);
    const BoxReal second = at(d + 2);
    if (!centred) return to ? Greatest(first, second) : Least(first, second);
    return to ? Plus(first, Half(second)) : Minus(first, Half(second));
  };
  Box box{{end(0, false), end(1, false)}, {end(0, true), end(1, true)}, BoxReal(0)};
  box.area = Multiplied(Minus(box.to[0], box.from[0]), Minus(box.to[1], box.from[1]));
  return box;
}

// Source: non_max_suppression.S3.
bool Suppresses(const Box& a, const Box& b, const BoxReal& limit) {
  const BoxReal zero(0);
  const auto overlap = [&](std::size_t d) -> BoxReal {
    return Minus(Least(a.to[d], b.to[d]), Greatest(a.from[d], b.from[d]));
  };
  const BoxReal rows = overlap(0);
  const BoxReal columns = overlap(1);
  if (!IsLess(zero, rows) || !IsLess(zero, columns)) return false;
  const BoxReal common = Multiplied(rows, columns);
  const BoxReal all = Minus(Plus(a.area, b.area), common);
  return IsLess(zero, a.area) && IsLess(zero, b.area) && IsLess(zero, common) &&
         IsLess(zero, all) && Exceeds(common, all, limit);
}

// The boxes of a class by falling score, without those that take no part.
// Source: non_max_suppression.S1, non_max_suppression.S2.
std::vector<std::int64_t> Candidates(const Order& scores, const std::optional<Order>& threshold,
                                     std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> boxes;
  for (std::int64_t i = 0; i < count; ++i) {
    if (scores.IsNan(first + i)) continue;
    const bool passes =
        !threshold || (!threshold->IsNan(0) && scores.Compare(first + i, *threshold, 0) > 0);
    if (passes) boxes.push_back(i);
  }
  std::ranges::stable_sort(boxes, [&](std::int64_t i, std::int64_t j) {
    return scores.Compare(first + i, first + j) > 0;
  });
  return boxes;
}

// Image, class and box of all that are selected.
Result<std::vector<std::int64_t>> Select(const Call& call) {
  const Domain domain = call.arithmetic.domain;
  const auto number = [domain](const Operand& x, std::int64_t i) {
    return BoxReal(domain == Domain::kFloat32 ? ToDyadic(static_cast<double>(x.binary32(i)))
                                              : x.exact(i));
  };
  QTX_ASSIGN_OR_RETURN(const Operand boxes, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const Order scores, Order::Make(call, 1, domain));
  std::optional<Order> threshold;
  if (call.Input(4) != nullptr) {
    QTX_ASSIGN_OR_RETURN(threshold, Order::Make(call, 4, domain));
  }
  QTX_ASSIGN_OR_RETURN(const std::optional<Operand> limits, OptionalOperandAt(call, 3));
  const BoxReal limit = limits ? number(*limits, 0) : BoxReal(0);
  const std::int64_t most = call.Input(2) == nullptr ? 0 : IntegersAt(call, 2)[0];
  const bool centred = call.Int("center_point_box") != 0;
  const format::Dims& dims = call.inputs[1]->dims;
  std::vector<std::int64_t> rows;
  for (std::int64_t e = 0; e < dims[0] * dims[1] && most > 0; ++e) {
    std::vector<Box> selected;
    const std::int64_t image = e / dims[1];
    for (const std::int64_t i : Candidates(scores, threshold, e * dims[2], dims[2])) {
      if (std::ssize(selected) == most) break;
      const std::int64_t first = (image * dims[2] + i) * 4;
      Box box = BoxOf([&](int d) { return number(boxes, first + d); }, centred);
      if (std::ranges::any_of(selected,
                              [&](const Box& other) { return Suppresses(box, other, limit); })) {
        continue;
      }
      selected.push_back(std::move(box));
      rows.insert(rows.end(), {image, e % dims[1], i});
    }
  }
  return rows;
}

// Source: non_max_suppression.S1 to non_max_suppression.S3.
Result<format::Tensor> NonMaxSuppression(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const std::vector<std::int64_t> rows, Select(call));
  QTX_ASSIGN_OR_RETURN(format::Tensor y,
                       format::MakeTensor(format::ElementType::kInt64, {std::ssize(rows) / 3, 3}));
  std::ranges::copy(rows, y.As<std::int64_t>().begin());
  return y;
}

}  // namespace

const Operator kNonMaxSuppression = {.op_type = "NonMaxSuppression", .run = NonMaxSuppression};

}  // namespace qtx::reference::ops
