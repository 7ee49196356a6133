#include "arithmetic/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

#include "arithmetic/function.h"
#include "arithmetic/root.h"

namespace qtx::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kUnit = 0x1p-53;  // rounding unit of binary64

bool IsFinite(const Dyadic& x) { return x.kind == Dyadic::Kind::kFinite; }
// Relative error 2^-53: a mantissa has at most 57 bits, and a DOUBLE is itself.
double Nearest(const Dyadic& x) { return std::ldexp(static_cast<double>(x.mantissa), x.exponent); }
double AsSpecial(const Real& x) { return x.finite ? sgn(x.value) : x.special; }

Real Sum(const Real& a, const Real& b) {
  if (a.finite && b.finite) return {true, 0, a.value + b.value};
  return {false, (a.finite ? 0 : a.special) + (b.finite ? 0 : b.special), {}};
}

RealFunction TanhFunction() {
  return {.enclose = [](Interval x) { return Tanh(std::move(x)); },
          .approximate = [](double x) { return Within(std::tanh(x), 8); }};
}

Real BiasOf(const Visibility& visible, const Operand* mask) {
  if (visible.masked) return {false, -kInfinity, {}};
  return visible.bias < 0 ? Real{} : ToReal(mask->exact(visible.bias));
}

bool SameScore(const Score& a, const Score& b) {
  return a.rooted == b.rooted && a.capped == b.capped && a.logit.value == b.logit.value &&
         a.bias == b.bias;
}
bool Before(const Score& a, const Score& b) {
  return std::tie(a.rooted, a.capped, a.logit.value, a.bias) <
         std::tie(b.rooted, b.capped, b.logit.value, b.bias);
}

}  // namespace

ScoreRule::ScoreRule(std::optional<float> scale, std::int64_t head_size, float softcap)
    : head_size_(head_size), softcap_(softcap) {
  if (scale) {
    scale_ = Rational(static_cast<double>(*scale));
  } else if (const auto root = RationalRoot(static_cast<long>(head_size), 2)) {
    scale_ = 1 / *root;
  }
  root_ = std::sqrt(scale ? *scale : 1 / std::sqrt(static_cast<float>(head_size)));
}

// Scores are equal only where logit and bias are: x / sqrt(n) + b differs where x does, since the
// root is irrational, and c tanh(x / c) + b by the theorem of Lindemann and Weierstrass (x = 0,
// which is rational, is settled).
Score ScoreRule::Of(const Real& product, const Real& bias, bool cap) const {
  Score score{.logit = product};
  if (scale_ && product.finite) {
    score.logit.value *= *scale_;
  } else if (scale_) {
    score.logit.special *= sgn(*scale_);  // 0 * infinity is NaN
  }
  const bool caps = cap && softcap_ > 0;
  if (caps && !score.logit.finite && !std::isnan(score.logit.special)) {
    const Rational limit(static_cast<double>(softcap_));
    score.logit = {true, 0, score.logit.special < 0 ? Rational(-limit) : limit};
  } else if (score.logit.finite && bias.finite && score.logit.value != 0) {
    score.rooted = !scale_;
    score.capped = caps;
  }
  if (score.settled()) {
    score.logit = Sum(score.logit, bias);
  } else {
    score.bias = bias.value;
  }
  return score;
}

Interval ScoreRule::Enclose(const Score& score, int bits) const {
  Interval x(score.logit.value, bits);
  if (score.rooted) x /= Sqrt(Interval(Rational(static_cast<long>(head_size_)), bits));
  if (score.capped) {
    const Interval cap(Rational(static_cast<double>(softcap_)), bits);
    x = Tanh(std::move(x) / cap) * cap;
  }
  return std::move(x) + Interval(score.bias, bits);
}

// With u = 2^-53: the logit is off by u, the root and the quotient by it by 3u more, the quotient
// by the cap by u, which tanh does not enlarge relatively; its own error is at most 8u (glibc
// manual, "Known Maximum Errors"), the product u; the bias is off by u, the sum by u of both. That
// is less than 16u of |logit| + |bias|, the capped logit being no larger than the logit.
Approximation ScoreRule::Approximate(const Score& score) const {
  double x = NearestDouble(score.logit.value);
  if (score.rooted) x /= std::sqrt(static_cast<double>(head_size_));
  const double bias = NearestDouble(score.bias);
  const double bound = (std::abs(x) + std::abs(bias)) * 16 * kUnit + 0x1p-1000;
  const auto cap = static_cast<double>(softcap_);
  if (score.capped) x = std::tanh(x / cap) * cap;
  return {x + bias, bound};
}

bool ScoreRule::IsLess(const Score& a, const Score& b) const {
  if (a.settled() && b.settled()) return a.logit.value < b.logit.value;
  const Approximation x = Approximate(a);
  const Approximation y = Approximate(b);
  if (std::abs(x.value - y.value) > x.bound + y.bound) return x.value < y.value;
  for (int bits = kFirstBits; bits <= kLastBits; bits *= 2) {
    const Interval difference = Enclose(a, bits) - Enclose(b, bits);
    if (difference.IsNegative()) return true;
    if ((Interval(0, bits) - difference).IsNegative()) return false;
  }
  return false;
}

float ScoreRule::Capped(float logit) const {
  if (!(softcap_ > 0)) return logit;
  return NearestFloat(TanhFunction(), logit / softcap_) * softcap_;
}

ExactAttention::ExactAttention(const ScoreRule& rule, const QueryRow<Dyadic>& row) : rule_(&rule) {
  const std::size_t size = row.query.size();
  bool blind = true, silent = true;  // all biases, all scores are minus infinity (attention.S7)
  for (std::size_t j = 0; j < row.visible.size(); ++j) {
    ExactSum sum;
    for (std::size_t d = 0; d < size; ++d) sum.AddProduct(row.query[d], row.keys[j * size + d]);
    products_.push_back(sum.Value());
    biases_.push_back(BiasOf(row.visible[j], row.mask));
    scores_.push_back(rule.Of(products_.back(), biases_.back()));
    const Score& score = scores_.back();
    blind = blind && !biases_.back().finite && biases_.back().special < 0;
    silent = silent && score.IsMinusInfinity();
    undefined_ = undefined_ || (!score.logit.finite && !score.IsMinusInfinity());
  }
  empty_ = blind || silent;
  if (!empty_ && !undefined_) Weigh();
}

void ExactAttention::PutScore(std::int64_t element, std::size_t key, ScoreStage stage,
                              Output* output) const {
  const Score score = stage == ScoreStage::kBiased
                          ? scores_[key]
                          : rule_->Of(products_[key], Real{}, stage == ScoreStage::kCapped);
  if (score.settled()) return output->PutReal(element, score.logit);
  if (output->PutIfCertain(element, rule_->Approximate(score))) return;
  output->CountFallback();
  output->PutEnclosed(element, [this, &score](int bits) { return rule_->Enclose(score, bits); });
}

// With u = 2^-53 and r the greatest |logit| + |bias|: a score is off by 16 u r, its difference from
// the maximum (whose own error all weights share) by 2 u r more, which is the relative error of the
// exponential, and libm adds 2u: (18 r + 2) u, and (20 r + 4) u is taken.
void ExactAttention::Weigh() {
  double maximum = -kInfinity;
  double reach = 0;  // 16 u r
  for (const Score& score : scores_) {
    if (score.IsMinusInfinity()) {
      weights_.push_back(-kInfinity);
      continue;
    }
    const Approximation x = rule_->Approximate(score);
    weights_.push_back(x.value);
    maximum = std::max(maximum, x.value);
    reach = std::max(reach, x.bound);
  }
  for (double& weight : weights_) {
    weight = std::exp(weight - maximum);
    sum_ += weight;
  }
  relative_ = reach / kUnit / 16 * 20 + 4;
}

void ExactAttention::MakeGroups() {
  std::vector<std::size_t> order;
  for (std::size_t j = 0; j < scores_.size(); ++j) {
    if (!scores_[j].IsMinusInfinity()) order.push_back(j);
  }
  std::ranges::sort(
      order, [this](std::size_t a, std::size_t b) { return Before(scores_[a], scores_[b]); });
  for (const std::size_t j : order) {
    const bool same = !groups_.empty() && SameScore(scores_[groups_.back().keys[0]], scores_[j]);
    if (!same) groups_.emplace_back();
    groups_.back().keys.push_back(j);
  }
  const auto less = [this](const Group& a, const Group& b) {
    return rule_->IsLess(scores_[a.keys[0]], scores_[b.keys[0]]);
  };
  std::iter_swap(groups_.begin(), std::max_element(groups_.begin(), groups_.end(), less));
}

void ExactAttention::Exponentiate(int bits) {
  if (bits == bits_) return;
  bits_ = bits;
  exponentials_.clear();
  total_ = Interval(0, bits);
  const Score& first = scores_[groups_[0].keys[0]];
  for (const Group& group : groups_) {
    const Score& own = scores_[group.keys[0]];
    const bool exact = (own.settled() && first.settled()) || &own == &first;
    exponentials_.push_back(Exp(exact ? Interval(own.logit.value - first.logit.value, bits)
                                      : rule_->Enclose(own, bits) - rule_->Enclose(first, bits)));
    const Rational count(static_cast<unsigned long>(group.keys.size()));
    total_ += exponentials_.back() * Interval(count, bits);
  }
}

// What IEEE 754 makes of values that are not finite: an infinity keeps its sign in a share that is
// positive, 0 times it is NaN.
bool ExactAttention::PutSpecial(std::int64_t element, const Column<Dyadic>& values,
                                Output* output) const {
  double special = 0;
  bool finite = true;
  for (std::size_t j = 0; j < scores_.size(); ++j) {
    if (IsFinite(values[j])) continue;
    finite = false;
    special += AsSpecial(ToReal(values[j])) * (scores_[j].IsMinusInfinity() ? 0 : 1);
  }
  if (!finite) output->PutReal(element, {false, special, {}});
  return !finite;
}

// With u = 2^-53, e the relative error of a weight and n keys: a product is off by e + 2u, the sum
// of products by n u more, of the sum of their magnitudes, the sum of weights by e + n u, the
// quotient by u: (2 e + (2 n + 3) u), and twice as much covers what is of second order. Weights
// below 2^-1000 have no relative precision, but an absolute one of 2^-1074; their sum is at
// least 1.
bool ExactAttention::PutFast(std::int64_t element, const Column<Dyadic>& values,
                             Output* output) const {
  double sum = 0, magnitude = 0, largest = 1;
  for (std::size_t j = 0; j < weights_.size(); ++j) {
    const double value = Nearest(values[j]);
    sum += weights_[j] * value;
    magnitude += weights_[j] * std::abs(value);
    largest = std::max(largest, std::abs(value));
  }
  const double units = 2 * relative_ + 2 * static_cast<double>(weights_.size()) + 8;
  if (!(relative_ < 0x1p35 && magnitude < 0x1p1000)) return false;  // or NaN: a score overflowed
  const double bound = magnitude / sum_ * units * (2 * kUnit) + largest * 0x1p-1000;
  return output->PutIfCertain(element, {sum / sum_, bound});
}

std::vector<ExactAttention::GroupSum> ExactAttention::SumGroups(
    const Column<Dyadic>& values) const {
  std::vector<GroupSum> sums;
  for (const Group& group : groups_) {
    ExactSum sum;
    for (const std::size_t j : group.keys) sum.Add(values[j]);
    const Rational total = sum.Value().value;
    sums.push_back({total, total / Rational(static_cast<unsigned long>(group.keys.size()))});
  }
  return sums;
}

// By how much the result exceeds the first group's mean.
Interval ExactAttention::Excess(const std::vector<GroupSum>& sums, int bits) {
  Exponentiate(bits);
  Interval numerator(0, bits);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const Rational count(static_cast<unsigned long>(groups_[g].keys.size()));
    const Rational excess = sums[g].sum - count * sums[0].mean;
    if (excess != 0) numerator += exponentials_[g] * Interval(excess, bits);
  }
  return numerator / total_;
}

// The result is the first group's mean and an excess, which is enclosed with a relative precision
// however small it is, so that a mean that is a tie costs no more bits than another: an excess
// below 2^-2000 decides by its sign, unless it is too small to count (exact.S6). It is 0 where all
// groups have that mean, and, of scores that are not capped, only there (Lindemann and
// Weierstrass).
void ExactAttention::PutCertain(std::int64_t element, const Column<Dyadic>& values,
                                Output* output) {
  output->CountFallback();
  if (groups_.empty()) MakeGroups();
  const std::vector<GroupSum> sums = SumGroups(values);
  const Rational& mean = sums[0].mean;
  if (std::ranges::all_of(sums, [&](const GroupSum& sum) { return sum.mean == mean; })) {
    return output->PutReal(element, {true, 0, mean});
  }
  for (int bits = kFirstBits; bits <= kLastBits; bits *= 2) {
    const Interval excess = Excess(sums, bits);
    if (mean != 0 && excess.IsBelow(abs(mean) * ToRational({1, -kLastBits})))
      return output->PutReal(element, {true, 0, mean});
    if (output->PutBetween(element, mean + excess.low(), mean + excess.high()))
      return output->CountRounded();
  }
  output->PutEnclosed(element, [&](int bits) { return Excess(sums, bits) + Interval(mean, bits); });
}

void ExactAttention::Put(std::int64_t element, const Column<Dyadic>& values, Output* output) {
  if (empty_) return output->PutReal(element, Real{});
  if (undefined_) return output->PutReal(element, {false, std::nan(""), {}});
  if (PutSpecial(element, values, output) || PutFast(element, values, output)) return;
  PutCertain(element, values, output);
}

}  // namespace qtx::reference
