// Functions of one real a second time: rationals, or MPFR at 400 bits, far past any coincidence
// among the inputs used, then the textbook's rounding.
#pragma once

#include <mpfr.h>

#include <cmath>
#include <functional>
#include <limits>

#include "../textbook_float.h"

namespace qtx::reference::testing {

/// The exact f(x), or a rational that every rounding used takes for it.
using Textbook = std::function<mpq_class(const mpq_class& x)>;

/// Replaces x, of 400 bits, by f(x).
using MpfrFunction = std::function<void(mpfr_ptr x)>;

/// A number of so many bits.
class Wide {
 public:
  explicit Wide(mpfr_prec_t bits) { mpfr_init2(value_, bits); }
  Wide(const Wide&) = delete;
  Wide& operator=(const Wide&) = delete;
  ~Wide() { mpfr_clear(value_); }
  operator mpfr_ptr() { return value_; }  // NOLINT(google-explicit-constructor): as mpfr_t itself

 private:
  mpfr_t value_;
};

/// f(x); beyond 2^+-1500, which nothing stored tells apart, moved there.
inline mpq_class TextbookValue(const MpfrFunction& f, const mpq_class& x) {
  Wide wide(400);
  const mpfr_ptr value = wide;
  mpfr_set_q(value, x.get_mpq_t(), MPFR_RNDN);
  f(value);
  mpq_class result = 0;
  if (mpfr_nan_p(value) != 0) {
    ADD_FAILURE() << "not a number at " << x;
  } else if (mpfr_inf_p(value) != 0 ||
             (mpfr_zero_p(value) == 0 && std::abs(mpfr_get_exp(value)) > 1500)) {
    const bool huge = mpfr_inf_p(value) != 0 || mpfr_get_exp(value) > 0;
    result = huge ? mpq_class(mpz_class(1) << 1500) : mpq_class(1, mpz_class(1) << 1500);
    if (mpfr_sgn(value) < 0) result = -result;
  } else {
    mpfr_get_q(result.get_mpq_t(), value);
  }
  return result;
}

/// All values that `storage`, of at most 16 bits, can hold, as a vector or in `rows` rows.
inline Tensor AllStored(ElementType type, const Quantization& q, std::int64_t rows = 1) {
  const format::IntegerRange range = format::StorageRange(format::StorageOf(type));
  Values values;
  for (std::int64_t v = range.min; v <= range.max; ++v) values.push_back(v);
  const auto count = static_cast<std::int64_t>(values.size());
  return Stored(type, {rows, count / rows}, values, q);
}

/// Every element of `x` through `op` must be what the textbook gives for `output`.
inline void ExpectTextbook(const std::string& op, const std::vector<Attribute>& attributes,
                           const Textbook& f, const Tensor& x, const OutputType& output) {
  std::vector<mpq_class> reals;
  for (const mpq_class& real : TextbookReals(x)) reals.push_back(f(real));
  ASSERT_EQ(Integers({op, attributes, {&x}, output}), TextbookStored(reals, output, x.dims)) << op;
}

/// The binary32 nearest to f(x).
inline float TextbookFloat(const MpfrFunction& f, float x) {
  return TextbookFloat(TextbookValue(f, mpq_class(static_cast<double>(x))));
}

/// Where a function is tested: `scale` is one that brings 127 LSB to where f is curved, `low` and
/// `high` bound the float arguments.
struct Domain1 {
  float scale = 0x1p-4F;
  float low = -0x1p10F, high = 0x1p10F;
  float y_scale = 0x1p-7F;
};

/// All int8 and int16 inputs, per-axis and blocked parameters, extreme scales, FLOAT to FLOAT.
inline void ExpectTextbookEverywhere(const std::string& op,
                                     const std::vector<Attribute>& attributes, const Textbook& f,
                                     const Domain1& domain) {
  const bool positive = domain.low > 0;  // only positive reals: offsets below every stored value
  const auto offset = [positive](std::int32_t otherwise, std::int32_t lowest) {
    return positive ? lowest - 1 : otherwise;
  };
  const float s = domain.scale;
  const float ys = domain.y_scale;
  for (const float factor : {1.0F, 1.37F, 0x1p-140F, 0x1p100F}) {
    for (const std::int32_t zero : {0, -7}) {
      const Tensor x = AllStored(ElementType::kInt8Q, Q({s * factor}, {offset(zero + 3, -128)}));
      ExpectTextbook(op, attributes, f, x, Int8Type(Q({ys}, {zero})));
      ExpectTextbook(op, attributes, f, x, Type(ElementType::kInt16Q, Q({ys * 0x1p-7F}, {1})));
    }
  }
  const Tensor wide = AllStored(ElementType::kInt16Q, Q({s * 0x1p-8F}, {offset(5, -32768)}));
  ExpectTextbook(op, attributes, f, wide, Type(ElementType::kInt16Q, Q({ys * 0x1.4p-8F}, {-3})));
  const std::int32_t zero = offset(2, -128);
  ExpectTextbook(op, attributes, f,
                 AllStored(ElementType::kInt8Q, Q({s, s * 0.3F}, {zero, zero}, {0}), 2),
                 Int8Type(Q({ys * 1.7F, ys}, {4, -4}, {0})));
  ExpectTextbook(
      op, attributes, f,
      AllStored(ElementType::kInt8Q,
                Q({s, s * 0.3F, s * 2, s * 0x1p-20F}, {zero, zero, zero, zero}, {0, 1}, {1, 64}),
                2),
      Int8Type(Q({ys})));
  std::mt19937 engine(77);
  std::vector<float> floats;
  const float reach = std::min(-domain.low, domain.high);
  for (int i = 0; i < 2000; ++i) {
    const float unit = static_cast<float>(engine()) * 0x1p-32F;
    const float size = std::ldexp(unit, -static_cast<int>(engine() % 24));
    floats.push_back(positive ? domain.low + size * (domain.high - domain.low)
                              : size * (engine() % 2 == 0 ? reach : -reach));
  }
  const Tensor x = Float({2000}, floats);
  const std::vector<float> results = Floats({op, attributes, {&x}, FloatType()});
  ASSERT_EQ(results.size(), floats.size());
  for (std::size_t i = 0; i < floats.size(); ++i) {
    const mpq_class expected = f(mpq_class(static_cast<double>(floats[i])));
    ASSERT_EQ(results[i], TextbookFloat(expected)) << op << " of " << floats[i];
  }
}
inline void ExpectTextbookEverywhere(const std::string& op,
                                     const std::vector<Attribute>& attributes,
                                     const MpfrFunction& f, const Domain1& domain) {
  const Textbook exact = [&f](const mpq_class& x) { return TextbookValue(f, x); };
  ExpectTextbookEverywhere(op, attributes, exact, domain);
}

/// The x between `low` and `high` where the monotonic f passes through `y`, to 63 bits.
inline long double Inverse(const MpfrFunction& f, double low, double high, const mpq_class& y) {
  mpq_class a(low);
  mpq_class b(high);
  const bool increasing = TextbookValue(f, b) > TextbookValue(f, a);
  for (int i = 0; i < 100; ++i) {
    const mpq_class middle = (a + b) / 2;
    ((TextbookValue(f, middle) < y) == increasing ? a : b) = middle;
  }
  const double head = a.get_d();
  return static_cast<long double>(head) +
         static_cast<long double>(mpq_class(a - mpq_class(head)).get_d());
}

/// A one-element INT32Q tensor of a real of 53 bits that is `x`, rounded to 53 bits, or a neighbour
/// but one of it: the product of a scale of 24 bits and a stored value of 31.
inline Tensor NearestStored(long double x) {
  int exponent = 0;
  const auto wanted =
      static_cast<std::uint64_t>(std::rint(std::ldexp(std::abs(std::frexp(x, &exponent)), 53)));
  std::uint64_t best = 0;
  std::uint64_t distance = wanted;
  for (std::uint64_t scale = 1U << 23; scale < 1U << 24 && distance > 1; ++scale) {
    const std::uint64_t rest = wanted % scale;
    if (std::min(rest, scale - rest) >= distance) continue;
    distance = std::min(rest, scale - rest);
    best = scale;
  }
  const auto stored = static_cast<std::int64_t>((wanted + best / 2) / best);
  return Stored(ElementType::kInt32Q, {1}, {x < 0 ? -stored : stored},
                Q({std::ldexp(static_cast<float>(best), exponent - 53)}));
}

/// Arguments that bring f within some 2^-52 of the middle between two stored values of ten bits,
/// and between two binary32 numbers: where binary64 alone goes wrong half the time.
inline void ExpectNearTies(const std::string& op, const std::vector<Attribute>& attributes,
                           const MpfrFunction& f, double low, double high) {
  const Textbook exact = [&f](const mpq_class& x) { return TextbookValue(f, x); };
  constexpr int kPlaces = 10;
  for (int place = 0; place < kPlaces; ++place) {
    const mpq_class y = exact(mpq_class(low + (high - low) * (place + 0.5) / kPlaces));
    int exponent = 0;
    const double fraction = std::frexp(y.get_d(), &exponent);
    const double tie = std::ldexp(std::floor(fraction * 0x1p10) + 0.5, exponent - 10);
    const Tensor x = NearestStored(Inverse(f, low, high, mpq_class(tie)));
    const float scale = std::ldexp(1.0F, exponent - 10);
    ExpectTextbook(op, attributes, exact, x, Type(ElementType::kInt16Q, Q({scale}, {3})));
    const double middle = std::ldexp(std::floor(fraction * 0x1p24) + 0.5, exponent - 24);
    const Tensor z = NearestStored(Inverse(f, low, high, mpq_class(middle)));
    ASSERT_EQ(Floats({op, attributes, {&z}, FloatType()})[0],
              TextbookFloat(exact(TextbookReals(z)[0])))
        << op << " near " << middle;
  }
}

}  // namespace qtx::reference::testing
