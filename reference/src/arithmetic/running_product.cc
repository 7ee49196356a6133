#include "arithmetic/running_product.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace qtx::reference {
namespace {

// What lies between two stored values, a tie, is an integer of at most 64 bits times a power of
// two. An odd number of more bits is none, with whatever power of two.
constexpr std::size_t kShortBits = 256;
// Beyond 2^+-kFarthest a number of kShortBits is past the range of every type, or nearer to 0 than
// all of its values.
constexpr std::int64_t kFarthest = std::int64_t{1} << 14;

std::size_t BitsOf(const mpz_class& value) { return mpz_sizeinbase(value.get_mpz_t(), 2); }

// A factor as sign and infinity see it.
double FactorSign(const Dyadic& x) {
  if (x.kind == Dyadic::Kind::kNan) return std::numeric_limits<double>::quiet_NaN();
  const double sign = x.mantissa < 0 ? -1 : x.mantissa > 0 ? 1 : 0;
  return x.kind == Dyadic::Kind::kFinite ? sign : sign * std::numeric_limits<double>::infinity();
}

bool IsModular(const Output& output) {
  return output.is_plain() && output.tensor().elem_type != format::ElementType::kDouble;
}

}  // namespace

RunningProduct::RunningProduct(const Arithmetic& arithmetic, const Operand& input, Output* output)
    : numbers_(IsModular(*output)                                   ? Numbers::kModular
               : DomainFor(arithmetic, *output) == Domain::kFloat32 ? Numbers::kBinary32
                                                                    : Numbers::kExact),
      input_(&input),
      output_(output) {}

void RunningProduct::Reset() {
  binary32_ = 1;
  modular_ = 1;
  sign_ = 1;
  exponent_ = 0;
  factors_.clear();
  odd_ = 1;
  enclosed_.clear();
}

void RunningProduct::Multiply(std::int64_t source) {
  if (numbers_ == Numbers::kBinary32) {
    binary32_ *= input_->binary32(source);
  } else if (numbers_ == Numbers::kModular) {
    modular_ *= static_cast<std::uint64_t>(input_->integer(source));
  } else {
    MultiplyExact(input_->exact(source));
  }
}

void RunningProduct::MultiplyExact(const Dyadic& factor) {
  sign_ *= FactorSign(factor);
  if (sign_ == 0 || !std::isfinite(sign_)) return;  // and nothing but the sign matters any more
  const auto bits = static_cast<std::uint64_t>(factor.mantissa);
  const std::uint64_t magnitude = factor.mantissa < 0 ? std::uint64_t{0} - bits : bits;
  const int zeros = std::countr_zero(magnitude);
  exponent_ += factor.exponent + zeros;
  const auto odd = static_cast<std::int64_t>(magnitude >> zeros);
  if (odd == 1) return;
  factors_.push_back(odd);
  if (BitsOf(odd_) <= kShortBits) odd_ *= static_cast<long>(odd);
  for (Interval& product : enclosed_) product *= Interval(Dyadic{.mantissa = odd}, 64);
}

void RunningProduct::Put(std::int64_t element) {
  if (numbers_ == Numbers::kBinary32) {
    output_->PutFloat(element, binary32_);
  } else if (numbers_ == Numbers::kModular) {
    output_->PutInteger(element, static_cast<std::int64_t>(modular_));
  } else {
    PutExact(element);
  }
}

const Interval& RunningProduct::Enclosed(std::size_t level) {
  while (enclosed_.size() <= level) {
    Interval product(Dyadic{.mantissa = 1}, kFirstBits << enclosed_.size());
    for (const std::int64_t odd : factors_) product *= Interval(Dyadic{.mantissa = odd}, 64);
    enclosed_.push_back(std::move(product));
  }
  return enclosed_[level];
}

// A product of many bits is no tie, so that enough bits decide every one: at the latest as many as
// the product has.
void RunningProduct::PutExact(std::int64_t element) {
  if (!std::isfinite(sign_)) return output_->PutReal(element, {false, sign_, {}});
  if (sign_ == 0) return output_->PutReal(element, Real{});
  if (BitsOf(odd_) <= kShortBits) {
    const auto shift = static_cast<std::int32_t>(std::clamp(exponent_, -kFarthest, kFarthest));
    const Rational power = ToRational(Dyadic{.mantissa = sign_ < 0 ? -1 : 1, .exponent = shift});
    return output_->PutReal(element, {true, 0, Rational(odd_) * power});
  }
  output_->CountFallback();
  for (std::size_t level = 0;; ++level) {
    Interval product = Enclosed(level);
    product <<= exponent_;
    const Rational low = product.low();
    const Rational high = product.high();
    if (sign_ < 0 ? output_->PutBetween(element, -high, -low)
                  : output_->PutBetween(element, low, high)) {
      return output_->CountRounded();
    }
  }
}

}  // namespace qtx::reference
