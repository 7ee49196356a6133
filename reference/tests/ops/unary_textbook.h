// Functions of one real a second time: MPFR at 400 bits, far past any coincidence among the inputs
// used, then the textbook's rounding.
#pragma once

#include <mpfr.h>

#include <cmath>
#include <functional>
#include <limits>

#include "../run_op.h"

namespace qtx::reference::testing {

/// Replaces x, of 400 bits, by f(x).
using MpfrFunction = std::function<void(mpfr_ptr x)>;

/// f(x); beyond 2^+-1500, which nothing stored tells apart, moved there.
inline mpq_class TextbookValue(const MpfrFunction& f, const mpq_class& x) {
  mpfr_t value;
  mpfr_init2(value, 400);
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
  mpfr_clear(value);
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
                           const MpfrFunction& f, const Tensor& x, const OutputType& output) {
  std::vector<mpq_class> reals;
  for (const mpq_class& real : TextbookReals(x)) reals.push_back(TextbookValue(f, real));
  ASSERT_EQ(Integers({op, attributes, {&x}, output}), TextbookStored(reals, output, x.dims)) << op;
}

/// The binary32 nearest to f(x), by MPFR's own rounding (and its emulation of subnormals).
inline float TextbookFloat(const MpfrFunction& f, float x) {
  const mpq_class value = TextbookValue(f, mpq_class(static_cast<double>(x)));
  const mpfr_exp_t low = mpfr_get_emin();
  const mpfr_exp_t high = mpfr_get_emax();
  mpfr_set_emin(-148);
  mpfr_set_emax(128);
  mpfr_t rounded;
  mpfr_init2(rounded, 24);
  mpfr_subnormalize(rounded, mpfr_set_q(rounded, value.get_mpq_t(), MPFR_RNDN), MPFR_RNDN);
  const float result = mpfr_get_flt(rounded, MPFR_RNDN);
  mpfr_clear(rounded);
  mpfr_set_emin(low);
  mpfr_set_emax(high);
  return result;
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
                                     const std::vector<Attribute>& attributes,
                                     const MpfrFunction& f, const Domain1& domain) {
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
    ASSERT_EQ(results[i], TextbookFloat(f, floats[i])) << op << " of " << floats[i];
  }
}

}  // namespace qtx::reference::testing
