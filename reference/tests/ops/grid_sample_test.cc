// GridSample against GMP rationals: a point weighs every element of a plane by a hat about it, and
// is mirrored step by step: grid_sample.S1 to grid_sample.S4.
#include "moving.h"

namespace qtx::reference::testing::grid_sample_test {
namespace {

struct Sampling {
  bool nearest = false, corners = false;
  std::string padding;
};

mpq_class HalfEven(const mpq_class& c) {
  mpz_class floor;
  const mpq_class up = c + mpq_class(1, 2);
  mpz_fdiv_q(floor.get_mpz_t(), up.get_num_mpz_t(), up.get_den_mpz_t());
  return up == floor && floor % 2 != 0 ? mpq_class(floor - 1) : mpq_class(floor);
}

mpq_class Coordinate(const Sampling& s, const mpq_class& g, std::int64_t size) {
  const mpq_class n(static_cast<long>(size));
  const mpq_class step = (g + 1) / 2;
  mpq_class c = s.corners ? mpq_class(step * (n - 1)) : mpq_class(step * n - mpq_class(1, 2));
  if (s.nearest) c = HalfEven(c);
  const mpq_class low = s.corners ? mpq_class(0) : mpq_class(-1, 2);
  const mpq_class high = n - 1 - low;
  while (s.padding == "reflection" && low < high && (c < low || c > high)) {
    c = c < low ? mpq_class(2 * low - c) : mpq_class(2 * high - c);
  }
  if (s.padding == "zeros") return c;
  return c < 0 ? mpq_class(0) : c > n - 1 ? mpq_class(n - 1) : c;
}

mpq_class Hat(const mpq_class& c, std::int64_t at) {
  const mpq_class distance = abs(c - static_cast<long>(at));
  return distance < 1 ? mpq_class(1 - distance) : mpq_class(0);
}

TEST(GridSample, WeighsTheElementsAboutAPoint) {
  Random random(61);
  const char* const paddings[] = {"zeros", "border", "reflection"};
  for (int round = 0; round < 240; ++round) {
    const Sampling s{round % 2 == 0, round / 2 % 2 == 0, paddings[round / 4 % 3]};
    const Dims dims = {2, 2, random.In(1, 4), random.In(1, 4)};
    const Dims y_dims = {2, 2, random.In(1, 3), random.In(1, 3)};
    const Tensor x = random.Tensor8(dims, AnyGranularity(random, dims));
    const Tensor grid = random.Tensor8({2, y_dims[2], y_dims[3], 2}, random.PerTensor());
    const OutputType type = Int8Type(AnyGranularity(random, y_dims));
    const std::vector<mpq_class> reals = TextbookReals(x);
    const std::vector<mpq_class> points = TextbookReals(grid);
    const std::int64_t count = y_dims[2] * y_dims[3];
    std::vector<mpq_class> expected;
    for (std::int64_t i = 0; i < CountOf(y_dims); ++i) {
      const auto point = static_cast<std::size_t>(2 * (i / (2 * count) * count + i % count));
      const mpq_class column = Coordinate(s, points[point], dims[3]);
      const mpq_class row = Coordinate(s, points[point + 1], dims[2]);
      mpq_class sum = 0;
      for (std::int64_t k = 0; k < dims[2] * dims[3]; ++k) {
        const auto at = static_cast<std::size_t>(i / count * dims[2] * dims[3] + k);
        sum += Hat(row, k / dims[3]) * Hat(column, k % dims[3]) * reals[at];
      }
      expected.push_back(sum);
    }
    ASSERT_EQ(Integers({"GridSample",
                        {Attribute::String("mode", s.nearest ? "nearest" : "linear"),
                         Attribute::String("padding_mode", s.padding),
                         Attribute::Int("align_corners", s.corners ? 1 : 0)},
                        {&x, &grid},
                        type}),
              TextbookStored(expected, type, y_dims))
        << round;
  }
}

}  // namespace
}  // namespace qtx::reference::testing::grid_sample_test
