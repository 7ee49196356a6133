#include "engine/ops/enclosed.h"

#include <utility>

namespace qtx::backend::engine {

Enclosed::Enclosed(const Number& number, mpfr_prec_t bits)
    : interval_(number.finite() ? number.value() : mpq_class(), bits) {
  if (number.finite()) return;
  state_ = number.nan() ? State::kNan : State::kInfinite;
  sign_ = number.Sign();
}

Enclosed operator+(const Enclosed& a, const Enclosed& b) {
  if (a.finite() && b.finite()) return Enclosed(a.interval_ + b.interval_);
  if (a.nan() || b.finite()) return a;
  if (b.nan() || a.finite()) return b;
  if (a.undecided() || b.undecided()) return a.undecided() ? a : b;
  return a.sign_ == b.sign_ ? a : Enclosed(Enclosed::State::kNan, 0, a.interval_);
}

Enclosed operator*(const Enclosed& a, const Enclosed& b) {
  if (a.finite() && b.finite()) return Enclosed(a.interval_ * b.interval_);
  if (a.nan() || b.nan()) return a.nan() ? a : b;
  if (a.undecided() || b.undecided()) return a.undecided() ? a : b;
  const auto sign = [](const Enclosed& x) {
    if (!x.finite()) return x.sign_;
    const auto [low, high] = x.interval_.Ends();
    return sgn(low) > 0 || (sgn(low) == 0 && sgn(high) > 0 && !x.interval_.IsPoint()) ? 1
           : sgn(high) < 0                                                            ? -1
                                                                                      : 0;
  };
  const Enclosed& other = a.finite() ? a : b;
  const int product = sign(a) * sign(b);
  if (product != 0) return {Enclosed::State::kInfinite, product, a.interval_};
  const bool zero = other.finite() && other.interval_.IsPoint();
  return {zero ? Enclosed::State::kNan : Enclosed::State::kUndecided, 0, a.interval_};
}

Enclosed operator-(const Enclosed& a) {
  Enclosed y = a;
  y.interval_ = -a.interval_;
  y.sign_ = -a.sign_;
  return y;
}

Enclosed SigmoidOf(const Enclosed& x) {
  if (x.finite()) return Enclosed(Interval::Sigmoid(x.interval_));
  if (x.state_ != Enclosed::State::kInfinite) return x;
  return x.Point(Number::Of(x.sign_ > 0 ? 1 : 0));
}

Enclosed TanhOf(const Enclosed& x) {
  if (x.finite()) return Enclosed(Tanh(x.interval_));
  return x.state_ == Enclosed::State::kInfinite ? x.Point(Number::Of(x.sign_)) : x;
}

Enclosed ReluOf(const Enclosed& x) {
  if (x.finite()) return Enclosed(GreaterOf(x.interval_, Interval(0, x.interval_.bits())));
  return x.state_ == Enclosed::State::kInfinite && x.sign_ < 0 ? x.Point(Number()) : x;
}

Enclosed Clamped(const Enclosed& x, const mpq_class& bound) {
  if (x.state_ == Enclosed::State::kInfinite) {
    return x.Point(Number(mpq_class(x.sign_ * bound)));
  }
  if (!x.finite()) return x;
  const mpfr_prec_t bits = x.interval_.bits();
  const Interval above = GreaterOf(x.interval_, Interval(mpq_class(-bound), bits));
  return Enclosed(LesserOf(above, Interval(bound, bits)));
}

std::vector<Enclosed> EnclosedOf(const format::Tensor& tensor, mpfr_prec_t bits) {
  const NumberReader read(tensor);
  std::vector<Enclosed> values;
  for (std::int64_t i = 0; i < format::ElementCount(tensor); ++i) {
    values.emplace_back(read(i), bits);
  }
  return values;
}

bool Settle(std::span<const Enclosed> values, mpfr_prec_t bits, NumberWriter& writer,
            std::vector<bool>& settled, std::int64_t first) {
  settled.resize(values.size());
  bool all = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (settled[i]) continue;
    const std::int64_t element = first + static_cast<std::int64_t>(i);
    if (values[i].finite()) {
      settled[i] = writer.PutIfCertain(element, values[i].interval());
      if (!settled[i] && bits == kMostBits) writer.PutTie(element, values[i].interval());
    } else {
      settled[i] = !values[i].undecided();
      // A factor of an infinity that no bits tell from zero is zero.
      writer.Put(element, settled[i] ? values[i].special() : Number::Nan());
    }
    all = all && settled[i];
  }
  return all;
}

}  // namespace qtx::backend::engine
