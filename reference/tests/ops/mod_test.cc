// Mod against GMP rationals, and against C's remainder in binary32: mod.S1, mod.S3, mod.S4.
#include <cmath>

#include "unary_textbook.h"

namespace qtx::reference::testing::mod_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Attribute kTruncates = Attribute::Int("fmod", 1);

// q = floor(a / b), or trunc(a / b); b is not 0.
mpq_class TextbookRemainder(const mpq_class& a, const mpq_class& b, bool truncates) {
  const mpq_class quotient = a / b;
  mpz_class whole;
  (truncates ? mpz_tdiv_q : mpz_fdiv_q)(whole.get_mpz_t(), quotient.get_num_mpz_t(),
                                        quotient.get_den_mpz_t());
  return a - whole * b;
}

// All pairs of stored values but those with a divisor of real zero.
TEST(Mod, IsTheExactRemainder) {
  Random random(41);
  for (int round = 0; round < 16; ++round) {
    const bool truncates = round % 2 == 1;
    const Quantization p = random.PerTensor();
    const Quantization q = Q({random.Scale()}, {-129});
    const Tensor a = AllStored(ElementType::kInt8Q, round % 4 < 2 ? p : random.PerTensor(), 256);
    const Tensor b = AllStored(ElementType::kInt8Q, q);
    const OutputType y = Int8Type(random.PerTensor());
    std::vector<mpq_class> expected;
    for (const mpq_class& x : TextbookReals(a)) {
      for (const mpq_class& d : TextbookReals(b)) {
        expected.push_back(TextbookRemainder(x, d, truncates));
      }
    }
    std::vector<Attribute> attributes;
    if (truncates) attributes.push_back(kTruncates);
    ASSERT_EQ(Integers({"Mod", attributes, {&a, &b}, y}),
              TextbookStored(expected, y, Dims{256, 256}));
  }
}

TEST(Mod, OfBinary32IsRoundedOnce) {
  const std::vector<float> as = {-0x1p-30F, 0x1p100F, 5.5F, -7.25F, 0x1.8p-148F};
  const std::vector<float> bs = {1.0F, 3.0F, -0x1p-140F, 0.1F, -0x1p120F};
  for (const float a : as) {
    for (const float b : bs) {
      const Tensor x = Float({1}, {a});
      const Tensor d = Float({1}, {b});
      const mpq_class p(static_cast<double>(a));
      const mpq_class q(static_cast<double>(b));
      for (const char* arithmetic : {"exact", "float32"}) {
        EXPECT_THAT(Floats({"Mod", {}, {&x, &d}, FloatType(), arithmetic}),
                    ElementsAre(TextbookFloat(TextbookRemainder(p, q, false))));
        EXPECT_THAT(Floats({"Mod", {kTruncates}, {&x, &d}, FloatType(), arithmetic}),
                    ElementsAre(std::fmod(a, b)));
      }
    }
  }
}

TEST(Mod, RefusesADivisorThatIsAnIntegerZero) {
  const Tensor a = Int64({5, 6});
  const Tensor b = Int64({2, 0});
  EXPECT_THAT(ErrorOf({"Mod", {}, {&a, &b}, {ElementType::kInt64, std::nullopt}}),
              HasSubstr("input[1] 'in1'"));
}

}  // namespace
}  // namespace qtx::reference::testing::mod_test
