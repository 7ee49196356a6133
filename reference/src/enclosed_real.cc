#include "enclosed_real.h"

#include <cmath>
#include <optional>

namespace qtx::reference {

using Kind = EnclosedReal::Kind;

namespace {

// What IEEE 754 sees of a summand beside one that is not finite.
double Stand(const EnclosedReal& x) { return x.kind() == Kind::kSpecial ? x.special() : 0; }

// The sign of a factor as a number of that sign; nullopt while it is not certain.
std::optional<double> SignOf(const EnclosedReal& x) {
  if (x.kind() == Kind::kSpecial) return x.special();
  const Interval& interval = x.interval();
  if (interval.IsZero()) return 0;
  // An end that is 0 lies beyond the real: outwards rounded, as the sigmoid of -2^127 is.
  if (interval.low() >= 0) return 1;
  if (interval.high() <= 0) return -1;
  if (interval.bits() >= kLastBits) return 0;
  return std::nullopt;
}

}  // namespace

EnclosedReal::EnclosedReal(const Dyadic& value, int bits)
    : x_(value.kind == Dyadic::Kind::kFinite ? value : Dyadic{}, bits) {
  if (value.kind != Dyadic::Kind::kFinite) SetSpecial(ToReal(value).special);
}

void EnclosedReal::SetSpecial(double value) {
  kind_ = Kind::kSpecial;
  special_ = value;
}

void EnclosedReal::SetInteger(std::int64_t value) {
  kind_ = Kind::kFinite;
  x_ = Interval(Dyadic{.mantissa = value}, x_.bits());
}

EnclosedReal& EnclosedReal::operator+=(const EnclosedReal& b) {
  if (kind_ == Kind::kOpen || b.kind_ == Kind::kOpen) {
    kind_ = Kind::kOpen;
  } else if (kind_ == Kind::kFinite && b.kind_ == Kind::kFinite) {
    x_ += b.x_;
  } else {
    SetSpecial(Stand(*this) + Stand(b));
  }
  return *this;
}

EnclosedReal& EnclosedReal::operator-=(const EnclosedReal& b) {
  if (kind_ == Kind::kOpen || b.kind_ == Kind::kOpen) {
    kind_ = Kind::kOpen;
  } else if (kind_ == Kind::kFinite && b.kind_ == Kind::kFinite) {
    x_ -= b.x_;
  } else {
    SetSpecial(Stand(*this) - Stand(b));
  }
  return *this;
}

EnclosedReal& EnclosedReal::operator*=(const EnclosedReal& b) {
  if (kind_ == Kind::kOpen || b.kind_ == Kind::kOpen) {
    kind_ = Kind::kOpen;
  } else if (kind_ == Kind::kFinite && b.kind_ == Kind::kFinite) {
    x_ *= b.x_;
  } else {
    const auto left = SignOf(*this);
    const auto right = SignOf(b);
    if (left && right) {
      SetSpecial(*left * *right);  // 0 * inf is NaN
    } else {
      kind_ = Kind::kOpen;
    }
  }
  return *this;
}

EnclosedReal Clipped(EnclosedReal x, float bound) {
  const Interval limit(ToDyadic(static_cast<double>(bound)), x.x_.bits());
  const Interval zero(Dyadic{}, x.x_.bits());
  if (x.kind_ == Kind::kSpecial && std::isinf(x.special_)) {
    x.kind_ = Kind::kFinite;
    x.x_ = x.special_ > 0 ? limit : zero - limit;
  } else if (x.kind_ == Kind::kFinite) {
    x.x_ = Max(Min(std::move(x.x_), limit), zero - limit);
  }
  return x;
}

EnclosedReal Positive(EnclosedReal x) {
  const Interval zero(Dyadic{}, x.x_.bits());
  if (x.kind_ == Kind::kSpecial && x.special_ < 0) {
    x.SetInteger(0);
  } else if (x.kind_ == Kind::kFinite && (x.x_.low() >= 0 || x.x_.high() <= 0)) {
    x.x_ = Max(std::move(x.x_), zero);
  }
  return x;  // around 0 as it is: an end that is 0 would say that the real is not
}

EnclosedReal Bounded(EnclosedReal x, const std::function<Interval(Interval)>& f, int low,
                     int high) {
  if (x.kind_ == Kind::kSpecial && std::isinf(x.special_)) {
    x.SetInteger(x.special_ > 0 ? high : low);
  } else if (x.kind_ == Kind::kFinite) {
    x.x_ = f(std::move(x.x_));
  }
  return x;
}

}  // namespace qtx::reference
