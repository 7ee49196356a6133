// conv_transpose.S1 to conv_transpose.S6.
#include "../run_op.h"

namespace qtx::reference::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Geometry {  // of both spatial axes in turn
  std::int64_t stride[2], dilation[2], begin[2], end[2], padding[2];
};

// The textbook scatters: each element of x is added to y as often as there are weights.
std::vector<mpq_class> Scatter(const Tensor& x, const Tensor& w, const Tensor* b,
                               std::int64_t group, const Geometry& g, Dims* dims) {
  const std::vector<mpq_class> xs = TextbookReals(x), ws = TextbookReals(w);
  const std::int64_t per_group = w.dims[1], channels = group * per_group;
  *dims = {x.dims[0], channels, 0, 0};
  for (std::size_t a = 0; a < 2; ++a) {
    (*dims)[2 + a] = g.stride[a] * (x.dims[2 + a] - 1) + g.padding[a] +
                     g.dilation[a] * (w.dims[2 + a] - 1) + 1 - g.begin[a] - g.end[a];
  }
  const std::int64_t height = (*dims)[2], width = (*dims)[3];
  std::vector<mpq_class> y(static_cast<std::size_t>(x.dims[0] * channels * height * width));
  if (b != nullptr) {
    const std::vector<mpq_class> bs = TextbookReals(*b);
    for (std::size_t i = 0; i < y.size(); ++i) {
      y[i] = bs[i / static_cast<std::size_t>(height * width) % static_cast<std::size_t>(channels)];
    }
  }
  std::size_t from = 0;
  for (std::int64_t n = 0; n < x.dims[0]; ++n)
    for (std::int64_t c = 0; c < x.dims[1]; ++c)
      for (std::int64_t i = 0; i < x.dims[2]; ++i)
        for (std::int64_t j = 0; j < x.dims[3]; ++j, ++from)
          for (std::int64_t m = 0; m < per_group; ++m)
            for (std::int64_t u = 0; u < w.dims[2]; ++u)
              for (std::int64_t v = 0; v < w.dims[3]; ++v) {
                const std::int64_t row = i * g.stride[0] + u * g.dilation[0] - g.begin[0];
                const std::int64_t column = j * g.stride[1] + v * g.dilation[1] - g.begin[1];
                if (row < 0 || row >= height || column < 0 || column >= width) continue;
                const std::int64_t channel = c / (x.dims[1] / group) * per_group + m;
                y[static_cast<std::size_t>(((n * channels + channel) * height + row) * width +
                                           column)] +=
                    xs[from] * ws[static_cast<std::size_t>(
                                   ((c * per_group + m) * w.dims[2] + u) * w.dims[3] + v)];
              }
  return y;
}

Quantization WeightParameters(Random* random, int kind, const Dims& dims) {
  if (kind == 0) return random->PerTensor();
  Quantization q = random->PerAxis(kind == 1   ? 1
                                   : kind == 2 ? 0
                                               : 3,
                                   dims[kind == 1   ? 1
                                        : kind == 2 ? 0
                                                    : 3]);
  return q;
}

TEST(ConvTranspose, EqualsTheScatterOnRandomShapes) {
  Random random(61);
  for (int round = 0; round < 120; ++round) {
    const std::int64_t group = random.In(1, 2);
    Geometry g{};
    for (std::size_t a = 0; a < 2; ++a) {
      g.stride[a] = random.In(1, 3);
      g.dilation[a] = random.In(1, 2);
      g.padding[a] = random.In(0, std::max(g.stride[a], g.dilation[a]) - 1);
    }
    const Dims xd = {random.In(1, 2), group * random.In(1, 2), random.In(2, 4), random.In(2, 4)};
    const Dims wd = {xd[1], random.In(1, 2), random.In(1, 3), random.In(1, 3)};
    for (std::size_t a = 0; a < 2; ++a) {
      g.begin[a] = random.In(0, 1);
      g.end[a] = random.In(0, 1);
      if (g.stride[a] * (xd[2 + a] - 1) + 1 - g.begin[a] - g.end[a] < 1) g.begin[a] = g.end[a] = 0;
    }
    const Tensor x =
        random.Tensor8(xd, round % 5 == 0 ? random.PerAxis(1, xd[1]) : random.PerTensor());
    const Tensor w = random.Tensor8(wd, WeightParameters(&random, round % 4, wd));
    Values biases;
    for (std::int64_t i = 0; i < group * wd[1]; ++i) biases.push_back(random.In(-5000, 5000));
    const Tensor b = Stored(ElementType::kInt32Q, {group * wd[1]}, biases, Q({random.Scale()}));
    const bool biased = round % 3 != 0;
    Dims dims;
    const auto reals = Scatter(x, w, biased ? &b : nullptr, group, g, &dims);
    const OutputType type = Int8Type(Q({random.Scale() * 32}, {-4}));
    OpRun run{
        "ConvTranspose",
        {Attribute::Int("group", group), Attribute::Ints("strides", {g.stride[0], g.stride[1]}),
         Attribute::Ints("dilations", {g.dilation[0], g.dilation[1]}),
         Attribute::Ints("output_padding", {g.padding[0], g.padding[1]}),
         Attribute::Ints("pads", {g.begin[0], g.begin[1], g.end[0], g.end[1]})},
        {&x, &w},
        type};
    if (biased) run.inputs.push_back(&b);
    const auto result = run.Run();
    ASSERT_TRUE(result.has_value()) << result.error().where << result.error().message;
    ASSERT_EQ(result->dims, dims);
    ASSERT_EQ(format::UnpackIntegers(*result), TextbookStored(reals, type, dims)) << round;
    run.arithmetic = "tflite";  // no kernel: exact
    ASSERT_EQ(Integers(run), TextbookStored(reals, type, dims));
  }
}

TEST(ConvTranspose, AcceptsExtremeScales) {
  Random random(62);
  for (const float scale : {0x1p-149F, 0x1p-126F, 0x1p127F}) {
    const Tensor x = random.Tensor8({1, 1, 3, 3}, Q({scale}, {4}));
    const Tensor w = random.Tensor8({1, 1, 2, 2}, Q({0x1p-30F}, {-4}));
    const Geometry g{{1, 1}, {1, 1}, {0, 0}, {0, 0}, {0, 0}};
    Dims dims;
    const auto reals = Scatter(x, w, nullptr, 1, g, &dims);
    for (const float y : {0x1p-149F, 1.0F, 0x1p112F, 0x1p127F}) {
      const OutputType type = Int8Type(Q({y}));
      EXPECT_EQ(Integers({"ConvTranspose", {}, {&x, &w}, type}), TextbookStored(reals, type, dims));
    }
  }
}

// float32.S4: 7 * 3 = 21 times binary32(0.1 * 0.1) / 0.21.
TEST(ConvTranspose, MultipliesTheAccumulatorOnceInFloat32) {
  const Tensor x = Int8({1, 1, 1}, {7}, Q({0.1F}));
  const Tensor w = Int8({1, 1, 2}, {3, -3}, Q({0.1F}));
  const float factor = (0.1F * 0.1F) / 0.42F;
  const std::int64_t expected = std::lrint(21.0F * factor);
  EXPECT_THAT(Integers({"ConvTranspose", {}, {&x, &w}, Int8Type(Q({0.42F})), "float32"}),
              ElementsAre(expected, -expected));
}

// In binary32 products are rounded, then added in the order channel, kernel.
TEST(ConvTranspose, AddsInOrderInFloat32) {
  const Tensor x = Float({1, 3, 1}, {0x1p24F, 1, -0x1p24F});
  const Tensor w = Float({3, 1, 1}, {1, 1, 1});
  EXPECT_THAT(Floats({"ConvTranspose", {}, {&x, &w}, FloatType()}), ElementsAre(1));
  EXPECT_THAT(Floats({"ConvTranspose", {}, {&x, &w}, FloatType(), "float32"}), ElementsAre(0));
}

// 1 5 6 is all there is; x (1 2), w (1 3).
TEST(ConvTranspose, PlacesItsOutputByShapeOrPadding) {
  const Tensor x = Int8({1, 1, 2}, {1, 2}, Q({1.0F}));
  const Tensor w = Int8({1, 1, 2}, {1, 3}, Q({1.0F}));
  const auto run = [&](std::vector<Attribute> attributes) {
    return Integers({"ConvTranspose", std::move(attributes), {&x, &w}, Int8Type(Q({1.0F}))});
  };
  const auto shape = [](std::int64_t size) { return Attribute::Ints("output_shape", {size}); };
  const auto pad = [](const char* mode) { return Attribute::String("auto_pad", mode); };
  EXPECT_THAT(run({}), ElementsAre(1, 5, 6));
  EXPECT_THAT(run({shape(2)}), ElementsAre(5, 6));
  EXPECT_THAT(run({shape(2), pad("SAME_LOWER")}), ElementsAre(5, 6));
  EXPECT_THAT(run({shape(2), pad("SAME_UPPER")}), ElementsAre(1, 5));
  EXPECT_THAT(run({shape(1)}), ElementsAre(5));
  EXPECT_THAT(run({shape(5)}), ElementsAre(1, 5, 6, 0, 0));
  EXPECT_THAT(run({pad("SAME_UPPER")}), ElementsAre(1, 5));
  EXPECT_THAT(run({pad("VALID"), Attribute::Ints("pads", {1, 1})}), ElementsAre(1, 5, 6));
}

TEST(ConvTranspose, RefusesHostileSizes) {
  const Tensor w = Float({1, 1, 1}, {1});
  const std::int64_t huge = std::int64_t{1} << 30;
  const Tensor x = Float({1, 1, 2}, {1, 2});
  EXPECT_THAT(
      ErrorOf({"ConvTranspose", {Attribute::Ints("strides", {huge})}, {&x, &w}, FloatType()}),
      ::testing::Ne(""));
  EXPECT_THAT(
      ErrorOf({"ConvTranspose", {Attribute::Ints("strides", {huge * 4})}, {&x, &w}, FloatType()}),
      HasSubstr("elements"));
  const Tensor wide = Float({1, 1, std::int64_t{1} << 31, 0}, {});
  const Tensor v = Float({1, 1, 1, 1}, {1});
  EXPECT_THAT(ErrorOf({"ConvTranspose", {}, {&wide, &v}, FloatType()}), HasSubstr("input of"));
}

}  // namespace
}  // namespace qtx::reference::testing
