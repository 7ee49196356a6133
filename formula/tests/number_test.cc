// Values derived by hand; where a power of two is meant, it is written as one.
#include "number.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "functions.h"

namespace qtx::formula::number_test {
namespace {

using testing::HasSubstr;

std::string Parsed(std::string_view text) {
  const auto number = ParseNumber(text);
  return number.has_value() ? number->get_str() : number.error().message;
}

std::string Rounded(const mpq_class& x, Rounding rounding) {
  return RoundRational(x, rounding).get_str();
}

std::string In(std::size_t format, const Number& x) {
  Precision precision;
  return ToText(RoundTo(kFloatFormats[format], x, precision));
}

std::string Of(Function function, const std::vector<Number>& arguments) {
  Precision precision;
  const auto value = Apply(function, arguments, precision);
  if (!value.has_value()) return value.error().message;
  return precision.undecided ? "undecided" : ToText(*value);
}

Number Q(long numerator, long denominator = 1) {
  mpq_class value(numerator, denominator);
  value.canonicalize();
  return value;
}

TEST(ParseNumber, IsExact) {
  EXPECT_EQ(Parsed("12"), "12");
  EXPECT_EQ(Parsed("0.044715"), "8943/200000");
  EXPECT_EQ(Parsed("1e-5"), "1/100000");
  EXPECT_EQ(Parsed("2.5e+2"), "250");
  EXPECT_EQ(Parsed("0x1.8p-3"), "3/16");
  EXPECT_EQ(Parsed("0xFF"), "255");
}

TEST(Round, LeavesWhatNoPrecisionRounds) {
  Precision precision{kMaxBits};
  const auto power = Apply(Function::kExp, std::vector{Q(8000)}, precision);  // about 2^11541
  ASSERT_TRUE(power.has_value());
  const Number whole = Round(*power, Rounding::kHalfEven, precision);
  EXPECT_EQ(Compare(whole, Q(127), precision), 1);
  EXPECT_FALSE(precision.undecided);
}

TEST(ParseNumber, RefusesWhatIsNone) {
  for (const char* text :
       {"1.", ".5", "1e", "1e+", "0x", "0xG", "1_000", "1.2.3", "1p3", "12ab", "1e+-5"}) {
    EXPECT_THAT(Parsed(text), HasSubstr("expected a number")) << text;
  }
  EXPECT_THAT(Parsed("1e99999999999999999999"), HasSubstr("expected at most 4096"));
  EXPECT_THAT(Parsed("1e-9223372036854775808"), HasSubstr("expected at most 4096"));
  EXPECT_THAT(Parsed("1e4097"), HasSubstr("expected at most 4096"));
}

TEST(RoundRational, TellsTheTieRulesApart) {
  const mpq_class half(5, 2), minus(-5, 2), odd(7, 2);
  EXPECT_EQ(Rounded(half, Rounding::kHalfEven), "2");
  EXPECT_EQ(Rounded(odd, Rounding::kHalfEven), "4");
  EXPECT_EQ(Rounded(minus, Rounding::kHalfEven), "-2");
  EXPECT_EQ(Rounded(half, Rounding::kHalfAway), "3");
  EXPECT_EQ(Rounded(minus, Rounding::kHalfAway), "-3");
  EXPECT_EQ(Rounded(minus, Rounding::kHalfUp), "-2");
  EXPECT_EQ(Rounded(minus, Rounding::kHalfDown), "-3");
  EXPECT_EQ(Rounded(minus, Rounding::kTowardZero), "-2");
  EXPECT_EQ(Rounded(minus, Rounding::kFloor), "-3");
  EXPECT_EQ(Rounded(minus, Rounding::kCeiling), "-2");
  EXPECT_EQ(Rounded(mpq_class(-7, 3), Rounding::kHalfUp), "-2");
}

TEST(RoundTo, KeepsSubnormalsAndOverflows) {
  EXPECT_EQ(In(2, Q((1L << 24) + 1)), "16777216");  // 2^24 + 1 lies between: to even
  EXPECT_EQ(In(2, Q((1L << 24) + 3)), "16777220");
  EXPECT_EQ(In(2, TwoTo(-150)), "0");  // half the least: to even
  EXPECT_EQ(In(2, mpq_class(3 * TwoTo(-150))), ToText(TwoTo(-148)));
  EXPECT_EQ(In(2, mpq_class(TwoTo(128) - TwoTo(103))), "infinity");  // the tie with 2^128
  EXPECT_EQ(In(2, mpq_class(TwoTo(104) - TwoTo(128))), ToText(mpq_class(TwoTo(104) - TwoTo(128))));
  EXPECT_EQ(In(0, Q(65519)), "65504");
  EXPECT_EQ(In(0, Q(65520)), "infinity");
  EXPECT_EQ(In(1, Q(257)), "256");  // 8 bits of significand
  EXPECT_EQ(In(2, Nan{}), "nan");
}

TEST(Arithmetic, FollowsIeee754WhereOneIsNotFinite) {
  Precision p;
  const Number inf = Infinity{1}, minus = Infinity{-1};
  EXPECT_EQ(ToText(Add(inf, minus, p)), "nan");
  EXPECT_EQ(ToText(Add(inf, Q(1), p)), "infinity");
  EXPECT_EQ(ToText(Multiply(Q(0), inf, p)), "nan");
  EXPECT_EQ(ToText(Multiply(Q(-2), inf, p)), "-infinity");
  EXPECT_EQ(ToText(*Divide(Q(1), inf, p)), "0");
  EXPECT_EQ(ToText(*Divide(minus, Q(-2), p)), "infinity");
  EXPECT_EQ(ToText(*Divide(inf, inf, p)), "nan");
  EXPECT_FALSE(Divide(Q(1), Q(0), p).has_value());
  EXPECT_FALSE(Compare(Nan{}, Q(0), p).has_value());
  EXPECT_EQ(Compare(Infinity{1}, Infinity{-1}, p), 1);
}

TEST(Apply, RoundsATranscendentalValueOnceItIsCertain) {
  // e = 2.71828 rounds to 3, and its binary32 is 0x1.5bf0a8p+1 = 2850325 / 2^20.
  Precision p;
  const auto e = Apply(Function::kExp, std::vector{Q(1)}, p);
  ASSERT_TRUE(e.has_value());
  EXPECT_EQ(ToText(Round(*e, Rounding::kHalfEven, p)), "3");
  EXPECT_EQ(ToText(RoundTo(kFloatFormats[2], *e, p)), "2850325/1048576");
  // e - e holds zero, and 96 bits cannot say that it is.
  EXPECT_FALSE(p.undecided);
  SignOf(Add(*e, Negate(*e), p), p);
  EXPECT_TRUE(p.undecided);
}

TEST(Apply, KnowsTheRationalValues) {
  EXPECT_EQ(Of(Function::kExp, {Q(0)}), "1");
  EXPECT_EQ(Of(Function::kLn, {Q(1)}), "0");
  EXPECT_EQ(Of(Function::kLn, {Q(0)}), "-infinity");
  EXPECT_EQ(Of(Function::kLn, {Q(-1)}), "nan");
  EXPECT_EQ(Of(Function::kSqrt, {Q(9, 4)}), "3/2");
  EXPECT_EQ(Of(Function::kSqrt, {Q(-1)}), "nan");
  EXPECT_EQ(Of(Function::kTanh, {Infinity{-1}}), "-1");
  EXPECT_EQ(Of(Function::kSin, {Q(0)}), "0");
  EXPECT_EQ(Of(Function::kCos, {Q(0)}), "1");
  EXPECT_EQ(Of(Function::kSin, {Infinity{1}}), "nan");
  EXPECT_EQ(Of(Function::kCos, {Infinity{-1}}), "nan");
  EXPECT_THAT(Of(Function::kSin, {Q(1)}), HasSubstr("0.8414709848078965"));  // A&S table 4.6
  EXPECT_THAT(Of(Function::kCos, {Q(1)}), HasSubstr("0.5403023058681397"));
  EXPECT_EQ(Of(Function::kTan, {Q(0)}), "0");
  EXPECT_EQ(Of(Function::kTan, {Infinity{1}}), "nan");
  EXPECT_EQ(Of(Function::kSinh, {Q(0)}), "0");
  EXPECT_EQ(Of(Function::kSinh, {Infinity{-1}}), "-infinity");
  EXPECT_EQ(Of(Function::kCosh, {Q(0)}), "1");
  EXPECT_EQ(Of(Function::kCosh, {Infinity{-1}}), "infinity");
  EXPECT_EQ(Of(Function::kAtan, {Q(0)}), "0");
  EXPECT_EQ(Of(Function::kAsinh, {Q(0)}), "0");
  EXPECT_EQ(Of(Function::kAsinh, {Infinity{1}}), "infinity");
  EXPECT_EQ(Of(Function::kErf, {Q(0)}), "0");
  EXPECT_THAT(Of(Function::kErf, {Q(1)}), HasSubstr("0.8427007929497148"));  // A&S table 7.1
  EXPECT_EQ(Of(Function::kExponent, {Q(3, 16)}), "-3");
  EXPECT_EQ(Of(Function::kExponent, {Q(-8)}), "3");
}

TEST(Apply, KnowsTheEndsOfADomain) {
  EXPECT_EQ(Of(Function::kAsin, {Q(0)}), "0");
  EXPECT_EQ(Of(Function::kAsin, {Q(-1000001, 1000000)}), "nan");
  EXPECT_EQ(Of(Function::kAsin, {Infinity{1}}), "nan");
  EXPECT_EQ(Of(Function::kAcos, {Q(1)}), "0");
  EXPECT_EQ(Of(Function::kAcos, {Q(1000001, 1000000)}), "nan");
  EXPECT_EQ(Of(Function::kAcosh, {Q(1)}), "0");
  EXPECT_EQ(Of(Function::kAcosh, {Q(999999, 1000000)}), "nan");
  EXPECT_EQ(Of(Function::kAcosh, {Infinity{1}}), "infinity");
  EXPECT_EQ(Of(Function::kAtanh, {Q(0)}), "0");
  EXPECT_EQ(Of(Function::kAtanh, {Q(-1)}), "-infinity");
  EXPECT_EQ(Of(Function::kAtanh, {Q(1)}), "infinity");
  EXPECT_EQ(Of(Function::kAtanh, {Q(2)}), "nan");
  // pi is 3.14159265358979323846...
  EXPECT_THAT(Of(Function::kAsin, {Q(1)}), HasSubstr("1.5707963267948966"));
  EXPECT_THAT(Of(Function::kAcos, {Q(-1)}), HasSubstr("3.1415926535897932"));
  EXPECT_THAT(Of(Function::kAtan, {Infinity{1}}), HasSubstr("1.5707963267948966"));
  EXPECT_THAT(Of(Function::kAtan, {Infinity{-1}}), HasSubstr("-1.5707963267948966"));
}

TEST(Apply, BringsIntegersToAWidth) {
  EXPECT_EQ(Of(Function::kWrap, {Q(200), Q(8)}), "-56");
  EXPECT_EQ(Of(Function::kWrap, {Q(-129), Q(8)}), "127");
  EXPECT_EQ(Of(Function::kSaturate, {Q(200), Q(8)}), "127");
  EXPECT_EQ(Of(Function::kSaturate, {Infinity{-1}, Q(8)}), "-128");
  EXPECT_THAT(Of(Function::kWrap, {Q(1, 2), Q(8)}), HasSubstr("found 1/2, expected an integer"));
  EXPECT_THAT(Of(Function::kWrap, {Q(1), Q(0)}), HasSubstr("found 0 bits, expected 1 to 1024"));
  EXPECT_THAT(Of(Function::kExponent, {Q(0)}), HasSubstr("expected a number other than 0"));
}

std::string Pow(const Number& x, const Number& y) {
  Precision p;
  return ToText(Power(x, y, p));
}

TEST(Power, IsExactWhereItIsRational) {
  EXPECT_EQ(Pow(Q(2), Q(10)), "1024");
  EXPECT_EQ(Pow(Q(-3, 2), Q(-3)), "-8/27");
  EXPECT_EQ(Pow(Q(4), Q(1, 2)), "2");
  EXPECT_EQ(Pow(Q(8, 27), Q(-2, 3)), "9/4");
  EXPECT_EQ(Pow(Q(0), Q(0)), "1");
  EXPECT_EQ(Pow(Q(0), Q(-1)), "infinity");
  EXPECT_EQ(Pow(Q(-2), Q(1, 2)), "nan");
  EXPECT_EQ(Pow(Infinity{-1}, Q(3)), "-infinity");
  EXPECT_EQ(Pow(Q(1, 2), Infinity{1}), "0");
  EXPECT_THAT(Pow(Q(2), Q(1, 2)), HasSubstr("1.4142135623730"));
  // Too long to write down: an interval, and no memory of 2^60 bits.
  EXPECT_THAT(Pow(Q(2), Q(1L << 60)), HasSubstr("..."));
}

}  // namespace
}  // namespace qtx::formula::number_test
