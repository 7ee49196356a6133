// Expectations by hand.
#include "descent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weights.h"

namespace qtx::quantize::descent_test {
namespace {

using testing::ElementsAre;

Filter FilterOf(std::vector<double> reals, std::vector<std::int64_t> codes, bool fits) {
  return {.reals = std::move(reals),
          .codes = std::move(codes),
          .scales = {1},
          .limits = {{-7, 7}},
          .block = 2,
          .fits_scales = fits};
}

// Errors left are (0.4, 0.4), H times them (1.2, 1.2): code 0 gains 1.2 / 2 = 0.6 steps, rounded 1.
// Then they are (-0.6, 0.4) and (-0.8, 0.2), -0.4 and 0.1 steps. 0.56 is left of 0.96.
TEST(Descend, ChangesCodesUntilNoneGains) {
  Filter filter = FilterOf({0.4, 0.4}, {0, 0}, false);
  Descend(std::vector<double>{2, 1, 1, 2}, filter);
  EXPECT_THAT(filter.codes, ElementsAre(1, 0));
  EXPECT_THAT(filter.scales, ElementsAre(1));
}

// The best scale of (3, 6) is (3 * 3 + 6 * 6.3) / 45 = 1.04, which leaves 0.018; smaller scales
// come to codes (3, 7), 53.1 / 58 and 0.076.
TEST(Descend, FitsTheScale) {
  Filter filter = FilterOf({3, 6.3}, {3, 6}, true);
  Descend(std::vector<double>{1, 0, 0, 1}, filter);
  EXPECT_THAT(filter.codes, ElementsAre(3, 6));
  EXPECT_THAT(filter.scales, ElementsAre(1.04F));
}

// 1.5 and 3.15 steps of 2; the best scale of (2, 3) were 24.9 / 13.
TEST(Descend, KeepsToLimits) {
  Filter filter = FilterOf({3, 6.3}, {2, 3}, true);
  filter.scales = {2};
  filter.least_scale = 2;
  Descend(std::vector<double>{1, 0, 0, 1}, filter);
  EXPECT_THAT(filter.codes, ElementsAre(2, 3));
  EXPECT_THAT(filter.scales, ElementsAre(2));
  Filter far = FilterOf({9, -20}, {0, 0}, false);
  Descend(std::vector<double>{1, 0, 0, 1}, far);
  EXPECT_THAT(far.codes, ElementsAre(7, -7));
}

// H is [[a, 99], [99, a]], a = 100 + 2/3 by damping, and row 2 has no inputs. GPTQ rounds to 0, 1,
// 7 (0.45 + 0.4 * 99 / a is 0.84): what is left, (0.4, -0.55), no change of one code lowers. From
// the nearest, 0, 0, 7, code 0 becomes 1, and (-0.6, 0.45) stay: (0.36 + 0.2025) a - 0.54 * 99
// = 3.2, where (0.16 + 0.3025) a - 0.44 * 99 = 3.0. One scale of all outputs stays.
TEST(StoreWeights, DescendsFromGptq) {
  const Gram gram{3, {100, 99, 0, 100, 0, 0}};
  format::Tensor w = *format::MakeTensor(format::ElementType::kFloat, {3, 1});
  const std::vector<float> values = {0.4F, 0.45F, 7};
  std::ranges::copy(values, w.As<float>().begin());
  Settings settings;
  settings.weights = *ParseWeights("int4:per-tensor");
  const auto stored = StoreWeights(w, settings, {.output = 1, .reduced = 0}, {}, {&gram, true});
  ASSERT_TRUE(stored.has_value());
  EXPECT_EQ(format::UnpackInt32(stored->tensor), (std::vector<std::int32_t>{0, 1, 7}));
  EXPECT_EQ(stored->tensor.quantization->scale, std::vector<float>{1});
}

}  // namespace
}  // namespace qtx::quantize::descent_test
