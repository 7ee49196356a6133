#include "arithmetic/softmax.h"

#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "arithmetic/round.h"

namespace qtx::reference {
namespace {

using format::ElementType;

// A number of MPFR, freed with the object.
class Wide {
 public:
  explicit Wide(mpfr_prec_t bits) { mpfr_init2(value_, bits); }
  ~Wide() { mpfr_clear(value_); }
  Wide(const Wide&) = delete;
  Wide& operator=(const Wide&) = delete;
  mpfr_ptr get() { return value_; }

 private:
  mpfr_t value_;
};

bool IsFinite(const Dyadic& x) { return x.kind == Dyadic::Kind::kFinite; }
bool IsMinusInfinity(const Dyadic& x) {
  return x.kind == Dyadic::Kind::kInfinite && x.mantissa < 0;
}

// One row over the exact reals.
class ExactRow {
 public:
  ExactRow(const Operand& input, std::span<const std::int64_t> row);
  void Put(std::int64_t element, std::size_t at, Output* output) const;
  bool defined() const { return defined_; }

 private:
  std::optional<std::int64_t> CountIfAlone() const;
  void PutWide(std::int64_t element, std::size_t at, Output* output) const;

  std::vector<Dyadic> values_;
  Dyadic max_;
  bool defined_ = true;
  std::int64_t finite_ = 0;  // elements that are not minus infinity
  bool all_equal_ = true;    // of those
  std::optional<Shares> shares_;
};

ExactRow::ExactRow(const Operand& input, std::span<const std::int64_t> row) {
  for (const std::int64_t i : row) {
    const Dyadic x = input.exact(i);
    values_.push_back(x);
    if (IsMinusInfinity(x)) continue;
    defined_ = defined_ && IsFinite(x);
    if (!defined_) return;
    if (finite_++ == 0) max_ = x;
    const int order = Compare(x, max_);
    all_equal_ = all_equal_ && order == 0;
    if (order > 0) max_ = x;
  }
  defined_ = finite_ > 0;
  if (defined_) shares_.emplace(values_, max_);
}

// How many elements have the maximum, when every other lies 200 or more below it: then
// the share of these is 1/n less than 2^28 e^-200 < 2^-260 of it, and that of the others below
// 2^-288. All ties are multiples of 2^-168 (a binary32 scale times half a step of a small float),
// so that 1/n, n < 2^28, is one or lies 2^-196 from it: how far below 1/n the share is cannot
// matter.
std::optional<std::int64_t> ExactRow::CountIfAlone() const {
  const Rational max = ToRational(max_);
  std::int64_t count = 0;
  for (const Dyadic& x : values_) {
    if (!IsFinite(x)) continue;
    if (Compare(x, max_) == 0) {
      ++count;
    } else if (max - ToRational(x) < 200) {
      return std::nullopt;
    }
  }
  return count;
}

// Doubles the precision until both ends of the enclosure round alike. They must at some point:
// unless all differences are zero the quotient is irrational (Lindemann-Weierstrass), hence never a
// tie. CountIfAlone has taken the rows whose quotient comes closer to one than 2^-300 or so.
void ExactRow::PutWide(std::int64_t element, std::size_t at, Output* output) const {
  const Rational max = ToRational(max_);
  for (mpfr_prec_t bits = 128;; bits *= 2) {
    Wide sum(bits);
    Wide own(bits);
    Wide term(bits);
    Wide difference(bits + 64);
    mpfr_set_ui(sum.get(), 0, MPFR_RNDN);
    for (std::size_t k = 0; k < values_.size(); ++k) {
      if (!IsFinite(values_[k])) continue;
      const Rational exact = ToRational(values_[k]) - max;
      mpfr_set_q(difference.get(), exact.get_mpq_t(), MPFR_RNDN);
      mpfr_exp(term.get(), difference.get(), MPFR_RNDN);
      mpfr_add(sum.get(), sum.get(), term.get(), MPFR_RNDN);
      if (k == at) mpfr_set(own.get(), term.get(), MPFR_RNDN);
    }
    mpfr_div(own.get(), own.get(), sum.get(), MPFR_RNDN);
    // Every exponential, addition and the division errs by at most 2^-bits relatively (the 64 more
    // bits of a difference keep its error below that too), and all terms are positive.
    Rational middle;
    mpfr_get_q(middle.get_mpq_t(), own.get());
    Rational relative(static_cast<long>(values_.size()) + 8);
    mpq_div_2exp(relative.get_mpq_t(), relative.get_mpq_t(), static_cast<mp_bitcnt_t>(bits - 1));
    if (output->PutBetween(element, middle * (1 - relative), middle * (1 + relative))) {
      return output->CountRounded();
    }
  }
}

void ExactRow::Put(std::int64_t element, std::size_t at, Output* output) const {
  if (IsMinusInfinity(values_[at])) return output->PutReal(element, Real{});
  if (all_equal_) {
    return output->PutReal(element, {true, 0, Rational(1, static_cast<unsigned long>(finite_))});
  }
  const auto share = shares_->At(at);
  if (share && output->PutIfCertain(element, *share)) return;
  output->CountFallback();
  // The ties next to zero lie at 2^-168 and more: below e^-200 nothing but the sign matters.
  const Rational tiny = ToRational({1, -250, Dyadic::Kind::kFinite});
  const Rational difference = ToRational(max_) - ToRational(values_[at]);
  if (difference >= 200) return output->PutReal(element, {true, 0, tiny});
  const auto alone = CountIfAlone();
  if (!alone) return PutWide(element, at, output);
  output->PutReal(element, {true, 0, (1 - tiny) / Rational(static_cast<unsigned long>(*alone))});
}

// float32.S3: maximum, differences, nearest exponentials, their sum in index order, quotients.
void PutFloatRow(const Operand& input, std::span<const std::int64_t> row, Output* output) {
  float max = -std::numeric_limits<float>::infinity();
  for (const std::int64_t i : row) max = std::max(max, input.binary32(i));
  std::vector<float> exponentials;
  float sum = 0;
  for (const std::int64_t i : row) {
    exponentials.push_back(Exp32(input.binary32(i) - max));
    sum += exponentials.back();
  }
  for (std::size_t k = 0; k < row.size(); ++k) output->PutFloat(row[k], exponentials[k] / sum);
}

// tflite.S8, for 8-bit types with one scale.
void PutStoredRow(const Operand& input, std::span<const std::int64_t> row, Output* output) {
  std::int32_t max = std::numeric_limits<std::int32_t>::min();
  for (const std::int64_t i : row) max = std::max(max, input.stored(i));
  const float scale = -input.scale(0);
  std::vector<float> exponentials;
  float sum = 0;
  for (const std::int64_t i : row) {
    exponentials.push_back(Exp32(scale * static_cast<float>(max - input.stored(i))));
    sum += exponentials.back();
  }
  const float factor = 1.0F / (sum * output->scale(0));
  for (std::size_t k = 0; k < row.size(); ++k) {
    const float rounded = RoundFloat(exponentials[k] * factor, TieRule::kHalfAway);
    output->PutStored(row[k], static_cast<std::int64_t>(rounded) + output->offset(row[k]));
  }
}

bool HasTfliteKernel(const Operand& input, const Output& output) {
  const ElementType type = input.tensor().elem_type;
  return (type == ElementType::kInt8Q || type == ElementType::kUint8Q) && input.per_tensor() &&
         output.per_tensor() && output.tensor().elem_type == type;
}

}  // namespace

void PutSoftmaxRow(const Arithmetic& arithmetic, const Operand& input,
                   std::span<const std::int64_t> row, Output* output) {
  const Domain domain = DomainFor(arithmetic, *output);
  if (domain == Domain::kStored && HasTfliteKernel(input, *output)) {
    return PutStoredRow(input, row, output);
  }
  const ExactRow exact(input, row);
  if (!exact.defined()) {
    const Real nan{false, std::numeric_limits<double>::quiet_NaN(), {}};
    for (const std::int64_t i : row) output->PutReal(i, nan);
    return;
  }
  if (domain == Domain::kFloat32) return PutFloatRow(input, row, output);
  for (std::size_t k = 0; k < row.size(); ++k) exact.Put(row[k], k, output);
}

}  // namespace qtx::reference
