// conv.S1 to conv.S5, float32.S4, tflite.S2 to tflite.S4.
#include "../run_op.h"

namespace qtx::reference::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Plane {  // one spatial axis pair of the textbook convolution
  std::int64_t stride_h, stride_w, dilation_h, dilation_w;
  std::int64_t top, left, bottom, right;
};

// conv.S1 as seven nested loops over rationals.
std::vector<mpq_class> TextbookConv(const Tensor& x, const Tensor& w, const Tensor* b,
                                    std::int64_t group, const Plane& p, Dims* dims) {
  const std::vector<mpq_class> xs = TextbookReals(x);
  const std::vector<mpq_class> ws = TextbookReals(w);
  const std::vector<mpq_class> bs = b == nullptr ? std::vector<mpq_class>() : TextbookReals(*b);
  const std::int64_t height = x.dims[2], width = x.dims[3], kh = w.dims[2], kw = w.dims[3];
  const std::int64_t oh =
      (height + p.top + p.bottom - p.dilation_h * (kh - 1) - 1) / p.stride_h + 1;
  const std::int64_t ow = (width + p.left + p.right - p.dilation_w * (kw - 1) - 1) / p.stride_w + 1;
  *dims = {x.dims[0], w.dims[0], oh, ow};
  std::vector<mpq_class> reals;
  const std::int64_t per_group = w.dims[0] / group;
  for (std::int64_t n = 0; n < x.dims[0]; ++n)
    for (std::int64_t m = 0; m < w.dims[0]; ++m)
      for (std::int64_t i = 0; i < oh; ++i)
        for (std::int64_t j = 0; j < ow; ++j) {
          mpq_class sum = b == nullptr ? mpq_class(0) : bs[static_cast<std::size_t>(m)];
          for (std::int64_t c = 0; c < w.dims[1]; ++c)
            for (std::int64_t u = 0; u < kh; ++u)
              for (std::int64_t v = 0; v < kw; ++v) {
                const std::int64_t row = i * p.stride_h + u * p.dilation_h - p.top;
                const std::int64_t column = j * p.stride_w + v * p.dilation_w - p.left;
                if (row < 0 || row >= height || column < 0 || column >= width) continue;
                const std::int64_t channel = m / per_group * w.dims[1] + c;
                sum += xs[static_cast<std::size_t>(
                           ((n * x.dims[1] + channel) * height + row) * width + column)] *
                       ws[static_cast<std::size_t>(((m * w.dims[1] + c) * kh + u) * kw + v)];
              }
          reals.push_back(sum);
        }
  return reals;
}

// Reals 0 1 2 0 (padding is real zero, stored 5); 3*0+1*1, 3*1+1*2, 3*2+1*0.
TEST(Conv, PadsWithRealZeroWhichIsTheOffset) {
  const Tensor x = Int8({1, 1, 1, 2}, {6, 7}, Q({1.0F}, {5}));
  const Tensor w = Int8({1, 1, 1, 2}, {3, 1}, Q({1.0F}));
  for (const char* arithmetic : {"exact", "float32", "tflite"}) {
    EXPECT_THAT(Integers({"Conv",
                          {Attribute::Ints("pads", {0, 1, 0, 1})},
                          {&x, &w},
                          Int8Type(Q({1.0F}, {0})),
                          arithmetic}),
                ElementsAre(1, 5, 6));
  }
}

// The bias has a scale of its own: 3 * 0.5 + 1 * 0.25 = 1.75, over 0.5 is 3.5, to even 4.
TEST(Conv, TakesTheBiasAtItsOwnScale) {
  const Tensor x = Int8({1, 1, 1}, {3}, Q({0.5F}));
  const Tensor w = Int8({1, 1, 1}, {1}, Q({1.0F}));
  const Tensor b = Stored(ElementType::kInt32Q, {1}, {1}, Q({0.25F}));
  EXPECT_THAT(Integers({"Conv", {}, {&x, &w, &b}, Int8Type(Q({0.5F}))}), ElementsAre(4));
  // float32.S5, tflite.S4: 0.25 in units of 0.5 is the tie 1/2, to even 0; the accumulator stays 3.
  for (const char* arithmetic : {"float32", "tflite"}) {
    EXPECT_THAT(Integers({"Conv", {}, {&x, &w, &b}, Int8Type(Q({0.5F})), arithmetic}),
                ElementsAre(3));
  }
}

TEST(Conv, ScalesEachOutputChannelByItsOwn) {
  const Tensor x = Int8({1, 1, 1}, {10}, Q({1.0F}));
  const Tensor w = Int8({2, 1, 1}, {1, 1}, Q({1.0F, 3.0F}, {}, {0}));
  for (const char* arithmetic : {"exact", "float32", "tflite"}) {
    EXPECT_THAT(Integers({"Conv", {}, {&x, &w}, Int8Type(Q({2.0F})), arithmetic}),
                ElementsAre(5, 15));
  }
}

// tflite.S3 against tflite.S2: 1/4 twice rounded is 1, once 0; uint8 rounds twice in CONV_2D too.
TEST(Conv, RoundsAsTheTfliteKernelOfItsOriginDoes) {
  const Tensor x = Int8({1, 1, 4}, {1, 2, -1, -2}, Q({1.0F}));
  const Tensor w = Int8({1, 1, 1}, {1}, Q({1.0F}));
  OpRun run{"Conv", {}, {&x, &w}, Int8Type(Q({4.0F})), "tflite"};
  EXPECT_THAT(Integers(run), ElementsAre(0, 1, 0, 0));
  run.tflite_kernel = "DEPTHWISE_CONV_2D";
  EXPECT_THAT(Integers(run), ElementsAre(1, 1, 0, -1));
  const Tensor ux = Stored(ElementType::kUint8Q, {1, 1, 2}, {11, 12}, Q({1.0F}, {10}));
  const Tensor uw = Stored(ElementType::kUint8Q, {1, 1, 1}, {1}, Q({1.0F}));
  EXPECT_THAT(
      Integers(
          {"Conv", {}, {&ux, &uw}, Type(ElementType::kUint8Q, Q({4.0F})), "tflite", "CONV_2D"}),
      ElementsAre(1, 1));
}

TEST(Conv, EqualsTheTextbookOnRandomGeometries) {
  Random random(7);
  for (int round = 0; round < 60; ++round) {
    const std::int64_t group = random.In(1, 3);
    const std::int64_t depth = random.In(1, 3);
    const std::int64_t m = group * random.In(1, 3);
    const Plane p{random.In(1, 3), random.In(1, 2), random.In(1, 2), random.In(1, 3),
                  random.In(0, 2), random.In(0, 2), random.In(0, 2), random.In(0, 2)};
    const Tensor x = random.Tensor8({random.In(1, 2), group * depth, 7, 8}, random.PerTensor());
    const Tensor w = random.Tensor8({m, depth, random.In(1, 3), random.In(1, 3)},
                                    round % 2 == 0 ? random.PerAxis(0, m) : random.PerTensor());
    const Tensor b = Stored(ElementType::kInt32Q, {m}, Values(static_cast<std::size_t>(m), 1000),
                            random.PerAxis(0, m));
    Dims dims;
    const auto reals = TextbookConv(x, w, &b, group, p, &dims);
    const OutputType type = Int8Type(Q({random.Scale() * 512}, {3}));
    EXPECT_EQ(Integers({"Conv",
                        {Attribute::Int("group", group),
                         Attribute::Ints("strides", {p.stride_h, p.stride_w}),
                         Attribute::Ints("dilations", {p.dilation_h, p.dilation_w}),
                         Attribute::Ints("pads", {p.top, p.left, p.bottom, p.right})},
                        {&x, &w, &b},
                        type}),
              TextbookStored(reals, type, dims))
        << "round " << round;
  }
}

// Scales along the kernel and blocks along the depth have no integer accumulator (conv.S3).
TEST(Conv, EqualsTheTextbookWithBlockedWeightsAndFloatInputs) {
  Random random(8);
  const Plane p{1, 1, 1, 1, 1, 1, 0, 0};
  Quantization blocks = Q({}, {}, {0, 1}, {1, 2});
  for (int i = 0; i < 2 * 2; ++i) blocks.scale.push_back(random.Scale());
  const Tensor w = random.Tensor8({2, 3, 2, 2}, blocks);
  const Tensor quantized = random.Tensor8({1, 3, 3, 3}, random.PerTensor());
  std::vector<float> values;
  for (int i = 0; i < 27; ++i) values.push_back(random.Scale() * (i % 2 == 0 ? 1.0F : -3.0F));
  const Tensor real = Float({1, 3, 3, 3}, values);
  for (const Tensor* x : {&quantized, &real}) {
    Dims dims;
    const auto reals = TextbookConv(*x, w, nullptr, 1, p, &dims);
    const OutputType type = Int8Type(Q({4.5F}, {3}));
    EXPECT_EQ(Integers({"Conv", {Attribute::Ints("pads", {1, 1, 0, 0})}, {x, &w}, type}),
              TextbookStored(reals, type, dims));
  }
}

TEST(Conv, SumsWideAccumulatorsExactly) {
  // 40000 products of 255 * 255 pass 32 bits: 2601000000 over 2^25 is 77.5..., below a signed wrap.
  Tensor x = *format::MakeTensor(ElementType::kUint8Q, {1, 40000, 1}, Q({1.0F}));
  std::fill(x.bytes.begin(), x.bytes.end(), std::byte{255});
  const OutputType type = Int8Type(Q({0x1p25F}));
  const Tensor w = [&x] {
    Tensor copy = x;
    copy.dims = {1, 40000, 1};
    return copy;
  }();
  for (const char* arithmetic : {"exact", "float32"}) {
    EXPECT_THAT(Integers({"Conv", {}, {&x, &w}, type, arithmetic}), ElementsAre(78));
  }
}

// SAME of a size 5 by stride 2, kernel 2: 3 outputs, reach 6, one pad: at the end for UPPER.
TEST(Conv, PlacesTheOddPadOfAutoPad) {
  const Tensor x = Int8({1, 1, 5}, {1, 2, 3, 4, 5}, Q({1.0F}));
  const Tensor w = Int8({1, 1, 2}, {1, 10}, Q({1.0F}));
  const auto run = [&](const char* pad) {
    return Integers({"Conv",
                     {Attribute::String("auto_pad", pad), Attribute::Ints("strides", {2})},
                     {&x, &w},
                     Int8Type(Q({1.0F}))});
  };
  EXPECT_THAT(run("SAME_UPPER"), ElementsAre(21, 43, 5));
  EXPECT_THAT(run("SAME_LOWER"), ElementsAre(10, 32, 54));
  EXPECT_THAT(run("VALID"), ElementsAre(21, 43));
}

TEST(Conv, WorksInThreeDimensions) {
  const Tensor x = Int8({1, 1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}, Q({1.0F}));
  const Tensor w = Int8({1, 1, 2, 1, 2}, {1, 0, 0, 10}, Q({1.0F}));
  // depth 0 and 1 at width 0 and 1: x[0,h,0] + 10 x[1,h,1] = 1 + 60, 3 + 80.
  EXPECT_THAT(Integers({"Conv", {}, {&x, &w}, Int8Type(Q({1.0F}))}), ElementsAre(61, 83));
}

TEST(Conv, NamesWhatDoesNotFit) {
  const Tensor x = Int8({1, 3, 4, 4}, Values(48, 1), Q({1.0F}));
  const Tensor w = Int8({2, 2, 3, 3}, Values(36, 1), Q({1.0F}));
  const OutputType type = Int8Type(Q({1.0F}));
  EXPECT_THAT(ErrorOf({"Conv", {}, {&x, &w}, type}), HasSubstr("[conv.C3]"));
  const Tensor fits = Int8({2, 3, 5, 5}, Values(150, 1), Q({1.0F}));
  EXPECT_THAT(ErrorOf({"Conv", {}, {&x, &fits}, type}), HasSubstr("[conv.C8]"));
  EXPECT_THAT(ErrorOf({"Conv", {Attribute::Ints("strides", {0, 1})}, {&x, &fits}, type}),
              HasSubstr("attribute 'strides': found 0"));
  EXPECT_THAT(ErrorOf({"Conv", {Attribute::Ints("pads", {1, 1})}, {&x, &fits}, type}),
              HasSubstr("found 2 values, expected 4"));
}

}  // namespace
}  // namespace qtx::reference::testing
