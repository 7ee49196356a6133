// lp_pool.S1 to lp_pool.S4, global_max_pool.S1 and .S2.
#include "unary_textbook.h"

namespace qtx::reference::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Attribute Kernel(std::vector<std::int64_t> size) {
  return Attribute::Ints("kernel_shape", std::move(size));
}

TEST(LpPool, EqualsTheTextbookOnRandomWindows) {
  Random random(51);
  for (int round = 0; round < 60; ++round) {
    const std::int64_t size = random.In(5, 12), kernel = random.In(1, 3), stride = random.In(1, 3);
    const std::int64_t dilation = random.In(1, 2);
    const std::int64_t begin = random.In(0, kernel - 1), end = random.In(0, kernel - 1);
    const auto p = static_cast<unsigned long>(random.In(1, 5));
    const Tensor x =
        random.Tensor8({1, 2, size}, round % 3 == 0 ? random.PerAxis(1, 2) : random.PerTensor());
    const auto reals = TextbookReals(x);
    const std::int64_t outputs = (size + begin + end - dilation * (kernel - 1) - 1) / stride + 1;
    std::vector<mpq_class> norms;
    std::vector<float> floats;
    for (std::int64_t c = 0; c < 2; ++c)
      for (std::int64_t o = 0; o < outputs; ++o) {
        mpq_class sum = 0;
        for (std::int64_t k = 0; k < kernel; ++k) {
          const std::int64_t at = o * stride + k * dilation - begin;
          if (at < 0 || at >= size) continue;
          mpq_class power = 1;
          for (unsigned long i = 0; i < p; ++i) {
            power *= abs(reals[static_cast<std::size_t>(c * size + at)]);
          }
          sum += power;
        }
        norms.push_back(TextbookValue([p](mpfr_ptr v) { mpfr_rootn_ui(v, v, p, MPFR_RNDN); }, sum));
        floats.push_back(TextbookFloat(norms.back()));
      }
    const std::vector<Attribute> attributes = {
        Kernel({kernel}), Attribute::Ints("strides", {stride}),
        Attribute::Ints("dilations", {dilation}), Attribute::Ints("pads", {begin, end}),
        Attribute::Int("p", static_cast<std::int64_t>(p))};
    const OutputType type = Int8Type(Q({random.Scale()}, {2}));
    ASSERT_EQ(Integers({"LpPool", attributes, {&x}, type}),
              TextbookStored(norms, type, {1, 2, outputs}));
    ASSERT_EQ(Floats({"LpPool", attributes, {&x}, FloatType()}), floats);
  }
}

// 1.5 and 2 give 2.5, 3.5 alone is a tie as well.
TEST(LpPool, DecidesTiesOfRationalRoots) {
  const Tensor x = Float({1, 1, 4}, {1.5F, -2.0F, 0.0F, 3.5F});
  const std::vector<Attribute> attributes = {Kernel({2}), Attribute::Ints("strides", {2})};
  for (const char* arithmetic : {"exact", "float32"}) {
    EXPECT_THAT(Integers({"LpPool", attributes, {&x}, Int8Type(Q({1.0F}, {1})), arithmetic}),
                ElementsAre(3, 5));
    EXPECT_THAT(Integers({"LpPool",
                          {Kernel({2}), Attribute::Ints("strides", {2}), Attribute::Int("p", 3)},
                          {&x},
                          Int8Type(Q({0.5F}, {1})),
                          arithmetic}),
                ElementsAre(5, 8));  // the cube root of 11.375 is 2.249, doubled 4.498
  }
}

TEST(LpPool, RefusesHugePowers) {
  const Tensor x = Float({1, 1, 4}, {1, 2, 3, 4});
  for (const std::int64_t p : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{65}}) {
    EXPECT_THAT(ErrorOf({"LpPool", {Kernel({2}), Attribute::Int("p", p)}, {&x}, FloatType()}),
                HasSubstr("attribute 'p'"));
  }
}

TEST(GlobalMaxPool, ComparesReals) {
  const Tensor x = Int8({1, 2, 2}, {3, 20, -8, -4}, Q({1.0F, 0.125F}, {}, {2}));
  EXPECT_THAT(Integers({"GlobalMaxPool", {}, {&x}, Int8Type(Q({0.5F}))}), ElementsAre(6, -1));
}

TEST(GlobalMaxPool, EqualsTheTextbookOnRandomPlanes) {
  Random random(52);
  for (int round = 0; round < 20; ++round) {
    const Tensor x =
        random.Tensor8({2, 3, 2, 5}, round % 2 == 0 ? random.PerTensor() : random.PerAxis(3, 5));
    const auto reals = TextbookReals(x);
    std::vector<mpq_class> greatest;
    for (std::size_t plane = 0; plane < 6; ++plane) {
      greatest.push_back(
          *std::max_element(reals.begin() + static_cast<std::ptrdiff_t>(plane * 10),
                            reals.begin() + static_cast<std::ptrdiff_t>(plane * 10 + 10)));
    }
    const OutputType type = Int8Type(Q({random.Scale()}, {2}));
    EXPECT_EQ(Integers({"GlobalMaxPool", {}, {&x}, type}),
              TextbookStored(greatest, type, {2, 3, 1, 1}));
  }
}

}  // namespace
}  // namespace qtx::reference::testing
