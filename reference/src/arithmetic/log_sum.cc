#include "arithmetic/log_sum.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <vector>

#include "arithmetic/function.h"

namespace qtx::reference {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// The logarithm of a positive sum. With u = 2^-53: converting the sum, which truncates, errs by 2u
// of it, hence its logarithm by 2u, and libm's log by 2u of itself (glibc manual, "Known Maximum
// Errors"); twice that is taken. nullopt where binary64 does not hold the sum.
std::optional<Approximation> LogNearby(const Rational& sum) {
  const auto bits = [](const mpz_class& x) {
    return static_cast<std::int64_t>(mpz_sizeinbase(x.get_mpz_t(), 2));
  };
  if (std::abs(bits(sum.get_num()) - bits(sum.get_den())) > 1000) return std::nullopt;
  const double value = std::log(sum.get_d());
  return Approximation{value, 0x1p-51 + std::abs(value) * 0x1p-51};
}

struct FiniteElements {
  double special = -kInfinite;  // what the others make of the result
  std::vector<Dyadic> values;
  Dyadic max;
};

// Source: reduce_log_sum_exp.S5.
FiniteElements FiniteOf(const Operand& input, std::span<const std::int64_t> sources) {
  FiniteElements finite;
  for (const std::int64_t source : sources) {
    const Dyadic x = input.exact(source);
    if (x.kind != Dyadic::Kind::kFinite) {
      const double value = ToReal(x).special;
      if (std::isnan(value) || value > finite.special) finite.special = value;
      continue;
    }
    if (finite.values.empty() || Compare(x, finite.max) > 0) finite.max = x;
    finite.values.push_back(x);
  }
  return finite;
}

Interval SumOfExponentials(std::span<const Rational> exponents, int bits) {
  Interval sum(Dyadic{}, bits);
  for (const Rational& x : exponents) sum += Exp(Interval(x, bits));
  return sum;
}

}  // namespace

LogSum::LogSum(const Arithmetic& arithmetic, const Operand& input, Output* output)
    : in_binary32_(DomainFor(arithmetic, *output) == Domain::kFloat32),
      input_(&input),
      output_(output) {}

void LogSum::Put(std::int64_t element, std::span<const std::int64_t> sources) {
  if (in_binary32_) {
    float sum = 0;
    for (const std::int64_t source : sources) sum += input_->binary32(source);
    return output_->PutFloat(element, NearestFloat(Logarithm(), sum));
  }
  ExactSum sum;
  for (const std::int64_t source : sources) sum.Add(input_->exact(source));
  const Real total = sum.Value();
  if (!total.finite || total.value <= 0) {
    const double like = total.finite ? sgn(total.value) : total.special;
    return output_->PutReal(element, {false, std::log(like), {}});
  }
  if (total.value == 1) return output_->PutReal(element, Real{});
  const auto nearby = LogNearby(total.value);
  if (nearby && output_->PutIfCertain(element, *nearby)) return;
  output_->CountFallback();
  output_->PutEnclosed(element, [&total](int bits) { return Log(Interval(total.value, bits)); });
}

// float32.S3: the maximum, differences, nearest exponentials, their sum in order, its nearest
// logarithm, and the maximum on top of it.
void LogSum::PutOfExponentials32(std::int64_t element, std::span<const std::int64_t> sources) {
  float max = -std::numeric_limits<float>::infinity();
  for (const std::int64_t source : sources) {
    const float x = input_->binary32(source);
    if (std::isnan(x)) return output_->PutFloat(element, x);
    max = std::max(max, x);
  }
  if (std::isinf(max)) return output_->PutFloat(element, max);
  float sum = 0;
  for (const std::int64_t source : sources) sum += Exp32(input_->binary32(source) - max);
  output_->PutFloat(element, max + NearestFloat(Logarithm(), sum));
}

void LogSum::PutOfExponentials(std::int64_t element, std::span<const std::int64_t> sources) {
  if (in_binary32_) return PutOfExponentials32(element, sources);
  const FiniteElements finite = FiniteOf(*input_, sources);
  if (finite.special != -kInfinite || finite.values.empty()) {
    return output_->PutReal(element, {false, finite.special, {}});
  }
  if (finite.values.size() == 1) return output_->PutReal(element, ToReal(finite.max));
  const auto nearby = Shares(finite.values, finite.max).LogOfSum();
  if (nearby && output_->PutIfCertain(element, *nearby)) return;
  output_->CountFallback();
  const Rational max = ToRational(finite.max);
  std::vector<Rational> below;  // the differences to the maximum, without one that is 0
  bool one_is_left_out = false;
  for (const Dyadic& x : finite.values) {
    const bool is_max = Compare(x, finite.max) == 0;
    if (is_max && !one_is_left_out) {
      one_is_left_out = true;
    } else {
      below.push_back(ToRational(x) - max);
    }
  }
  PutAbove(element, max, below);
}

// max + log(1 + rest), where rest is the sum of the exponentials of `below`. A small rest needs few
// bits of its own, however many the sum with the maximum has: where the maximum is a tie, the first
// ones decide.
void LogSum::PutAbove(std::int64_t element, const Rational& max, std::span<const Rational> below) {
  constexpr int kTieBits = 8192;  // exact.S6: what differs by less than 2^-8192 of a tie is the tie
  const Rational nothing = abs(max) * ToRational({1, -kTieBits, Dyadic::Kind::kFinite});
  const auto above = [below](int bits) { return Log1p(SumOfExponentials(below, bits)); };
  const Interval first = above(kFirstBits);
  if (first.IsBelow(nothing)) return output_->PutReal(element, {true, 0, max});
  output_->PutEnclosed(element, [&](int bits) {
    // From the first bit of the maximum to the last one of the rest.
    Interval sum(max, kTieBits + bits);
    sum += bits == kFirstBits ? first : above(bits);
    return sum;
  });
}

}  // namespace qtx::reference
