// Resize against a textbook of hat functions over all elements, in GMP rationals, and against the
// results that ONNX publishes: resize.S1 to resize.S9.
#include <algorithm>
#include <limits>

#include "moving.h"

namespace qtx::reference::testing::resize_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Geometry {
  std::string mode;
  std::int64_t from = 0;
  std::int64_t to = 0;
  mpq_class scale, start, end;
};

mpq_class Ratio(std::int64_t a, std::int64_t b) {
  mpq_class ratio(static_cast<long>(a), static_cast<long>(b));
  ratio.canonicalize();
  return ratio;
}

// x_original of docs/Operators.md (ONNX Resize-19), length_resized being scale * length_original.
mpq_class TextbookCoordinate(const Geometry& g, std::int64_t i) {
  const mpq_class length = g.scale * Ratio(g.from, 1) * (g.end - g.start);
  const mpq_class last = Ratio(g.from - 1, 1);
  const mpq_class at = Ratio(i, 1);
  if (g.mode == "asymmetric") return at / g.scale;
  if (g.mode == "align_corners")
    return length == 1 ? mpq_class(0) : mpq_class(at * last / (length - 1));
  if (g.mode == "tf_crop_and_resize") {
    if (length <= 1) return (g.start + g.end) * last / 2;
    return g.start * last + at * (g.end - g.start) * last / (length - 1);
  }
  if (g.mode == "pytorch_half_pixel" && length <= 1) return 0;
  mpq_class x = (at + Ratio(1, 2)) / g.scale - Ratio(1, 2);
  if (g.mode == "half_pixel_symmetric") {
    x += Ratio(g.from, 2) * (1 - Ratio(g.to, 1) / length);
  }
  return x;
}

// Weight of element `k`: the hat of width 1 around x, x kept within the axis.
mpq_class Hat(mpq_class x, std::int64_t k, std::int64_t size) {
  x = std::clamp<mpq_class>(x, 0, Ratio(size - 1, 1));
  const mpq_class distance = abs(x - Ratio(k, 1));
  return distance < 1 ? mpq_class(1 - distance) : mpq_class(0);
}

// The element nearest to x, by looking at all; ties and directions by the mode.
mpq_class IsNearest(const std::string& mode, const mpq_class& x, std::int64_t k,
                    std::int64_t size) {
  const auto distance = [&](std::int64_t i) -> mpq_class {
    const mpq_class d = Ratio(i, 1) - x;
    if (mode == "floor") return d > 0 ? mpq_class(1000 + d) : mpq_class(-d);
    if (mode == "ceil") return d < 0 ? mpq_class(1000 - d) : d;
    return abs(d);
  };
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < size; ++i) {
    const bool later = mode == "round_prefer_ceil" && distance(i) == distance(best);
    if (distance(i) < distance(best) || later) best = i;
  }
  return best == k ? 1 : 0;
}

constexpr const char* kModes[] = {"half_pixel",    "half_pixel_symmetric", "pytorch_half_pixel",
                                  "align_corners", "asymmetric",           "tf_crop_and_resize"};
constexpr const char* kNearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};

// A scale that is no power of two, in one of three kinds.
float AnyScale(Random& random) {
  if (random.In(0, 2) == 0) return static_cast<float>(random.In(2, 12)) / 4;
  return static_cast<float>(random.In(20, 300)) / 100;
}

// Two axes, each with its own scale or size.
struct Resized {
  std::vector<Geometry> axes;
  std::optional<Tensor> roi, scales, sizes;
  bool Outside(const Dims& at) const {
    for (std::size_t axis = 0; axis < 2; ++axis) {
      const mpq_class x = TextbookCoordinate(axes[axis], at[axis]);
      const bool out = x < 0 || x > Ratio(axes[axis].from - 1, 1);
      if (axes[axis].mode == "tf_crop_and_resize" && out) return true;
    }
    return false;
  }
  Dims dims() const { return {axes[0].to, axes[1].to}; }
};

Resized AnyGeometry(Random& random, const std::string& mode, const Dims& from) {
  Resized resized;
  const bool crops = mode == "tf_crop_and_resize";
  const bool by_sizes = random.In(0, 1) == 0;
  const std::vector<float> corners = {
      static_cast<float>(random.In(-2, 4)) / 10, static_cast<float>(random.In(-2, 4)) / 10,
      static_cast<float>(random.In(5, 13)) / 10, static_cast<float>(random.In(5, 13)) / 10};
  std::vector<float> scales;
  Values sizes;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    Geometry g{mode, from[axis], 0, 0, 0, 1};
    if (crops) {
      g.start = static_cast<double>(corners[axis]);
      g.end = static_cast<double>(corners[axis + 2]);
    }
    scales.push_back(AnyScale(random));
    sizes.push_back(random.In(1, 7));
    g.scale =
        by_sizes ? Ratio(sizes[axis], from[axis]) : mpq_class(static_cast<double>(scales[axis]));
    const mpq_class extent = g.end - g.start;
    const mpq_class length = g.scale * Ratio(from[axis], 1) * (by_sizes ? Ratio(1, 1) : extent);
    g.to = mpz_class(length.get_num() / length.get_den()).get_si();
    if (by_sizes) g.scale /= extent;  // so that the textbook's length is the size
    resized.axes.push_back(g);
  }
  if (crops) resized.roi = Float({4}, corners);
  if (by_sizes) resized.sizes = Int64(sizes);
  if (!by_sizes) resized.scales = Float({2}, scales);
  return resized;
}

AllRun RunOf(const Resized& resized, const Tensor& x, std::vector<Attribute> attributes,
             const OutputType& type) {
  const auto pointer = [](const std::optional<Tensor>& t) { return t ? &*t : nullptr; };
  attributes.push_back(Attribute::String("coordinate_transformation_mode", resized.axes[0].mode));
  return {"Resize",
          std::move(attributes),
          {&x, pointer(resized.roi), pointer(resized.scales), pointer(resized.sizes)},
          {type}};
}

using WeightOf = std::function<mpq_class(const mpq_class& x, std::int64_t k, std::int64_t size)>;

// Each result as the sum over all elements of x times their weights.
void ExpectTextbook(Random& random, const std::string& mode, std::vector<Attribute> attributes,
                    const WeightOf& weight) {
  const Dims from = {random.In(1, 5), random.In(1, 6)};
  const Resized resized = AnyGeometry(random, mode, from);
  const Dims dims = resized.dims();
  if (CountOf(dims) == 0) return;
  const Tensor x = random.Tensor8(from, AnyGranularity(random, from));
  const OutputType type = Int8Type(AnyGranularity(random, dims));
  attributes.push_back(Attribute::Float("extrapolation_value", 0.75F));
  const AllRun run = RunOf(resized, x, std::move(attributes), type);
  const auto result = run.Run();
  ASSERT_TRUE(result.has_value()) << mode << ": " << run.Error();
  ASSERT_EQ((*result)[0].dims, dims) << mode;
  const std::vector<mpq_class> reals = TextbookReals(x);
  std::vector<mpq_class> expected;
  for (std::int64_t i = 0; i < CountOf(dims); ++i) {
    const Dims at = CoordinatesOf(i, dims);
    mpq_class sum = 0;
    for (std::int64_t e = 0; e < CountOf(from); ++e) {
      const Dims k = CoordinatesOf(e, from);
      sum += weight(TextbookCoordinate(resized.axes[0], at[0]), k[0], from[0]) *
             weight(TextbookCoordinate(resized.axes[1], at[1]), k[1], from[1]) *
             reals[static_cast<std::size_t>(e)];
    }
    expected.push_back(resized.Outside(at) ? Ratio(3, 4) : sum);
  }
  EXPECT_EQ(format::UnpackIntegers((*result)[0]), TextbookStored(expected, type, dims)) << mode;
}

TEST(Resize, LinearIsTheExactMeanRoundedOnce) {
  Random random(1);
  for (int round = 0; round < 40; ++round) {
    for (const char* mode : kModes) {
      ExpectTextbook(random, mode, {Attribute::String("mode", "linear")}, Hat);
    }
  }
}

TEST(Resize, NearestIsTheNearestOfAll) {
  Random random(2);
  for (int round = 0; round < 20; ++round) {
    for (const char* mode : kModes) {
      for (const char* nearest : kNearest) {
        ExpectTextbook(random, mode, {Attribute::String("nearest_mode", nearest)},
                       [nearest](const mpq_class& x, std::int64_t k, std::int64_t size) {
                         return IsNearest(nearest, x, k, size);
                       });
      }
    }
  }
}

// A row of what docs/Operators.md prints beside its examples of Resize.
struct Published {
  const char* name;
  std::vector<Attribute> attributes;
  Dims from;  // holding 1, 2, 3, ...
  std::vector<float> roi, scales;
  Values sizes;
  Dims dims;
  std::vector<double> values;
};

const Attribute kLinear = Attribute::String("mode", "linear");
Attribute Coordinates(const char* mode) {
  return Attribute::String("coordinate_transformation_mode", mode);
}

std::vector<Published> PublishedRows() {
  return {
      {"downsample_scales_linear",
       {kLinear},
       {2, 4},
       {},
       {0.6F, 0.6F},
       {},
       {1, 2},
       {2.6666665, 4.3333331}},
      {"downsample_scales_linear_align_corners",
       {kLinear, Coordinates("align_corners")},
       {2, 4},
       {},
       {0.6F, 0.6F},
       {},
       {1, 2},
       {1, 3.142857}},
      {"downsample_scales_linear_half_pixel_symmetric",
       {kLinear, Coordinates("half_pixel_symmetric")},
       {1, 4},
       {},
       {1, 0.6F},
       {},
       {1, 2},
       {1.6666667, 3.3333333}},
      {"downsample_sizes_linear_pytorch_half_pixel",
       {kLinear, Coordinates("pytorch_half_pixel")},
       {4, 4},
       {},
       {},
       {3, 1},
       {3, 1},
       {1.6666666, 7, 12.333333}},
      {"downsample_sizes_nearest_not_larger",
       {Attribute::String("keep_aspect_ratio_policy", "not_larger")},
       {2, 4},
       {},
       {},
       {1, 3},
       {1, 2},
       {1, 3}},
      {"downsample_sizes_nearest_not_smaller",
       {Attribute::String("keep_aspect_ratio_policy", "not_smaller")},
       {2, 4},
       {},
       {},
       {1, 3},
       {2, 3},
       {1, 2, 4, 5, 6, 8}},
      {"tf_crop_and_resize",
       {kLinear, Coordinates("tf_crop_and_resize")},
       {4, 4},
       {0.4F, 0.6F, 0.6F, 0.8F},
       {},
       {3, 3},
       {3, 3},
       {7.6000004, 7.9, 8.2, 8.8, 9.1, 9.400001, 10, 10.3, 10.6}},
      {"tf_crop_and_resize_axes_3_2",
       {kLinear, Coordinates("tf_crop_and_resize"), Attribute::Ints("axes", {1, 0})},
       {4, 4},
       {0.6F, 0.4F, 0.8F, 0.6F},
       {},
       {3, 3},
       {3, 3},
       {7.6000004, 7.9, 8.2, 8.8, 9.1, 9.400001, 10, 10.3, 10.6}},
      {"tf_crop_and_resize_extrapolation_value",
       {kLinear, Coordinates("tf_crop_and_resize"), Attribute::Float("extrapolation_value", 10)},
       {4, 4},
       {0.4F, 0.6F, 1.2F, 1.7F},
       {},
       {3, 3},
       {3, 3},
       {7.6000004, 10, 10, 12.400001, 10, 10, 10, 10, 10}},
      {"upsample_scales_linear_align_corners",
       {kLinear, Coordinates("align_corners")},
       {2, 2},
       {},
       {2, 2},
       {},
       {4, 4},
       {1, 1.33333333, 1.66666667, 2, 1.66666667, 2, 2.33333333, 2.66666667, 2.33333333, 2.66666667,
        3, 3.33333333, 3, 3.33333333, 3.66666667, 4}},
      {"upsample_scales_linear_half_pixel_symmetric",
       {kLinear, Coordinates("half_pixel_symmetric")},
       {2, 2},
       {},
       {2.3F, 2.94F},
       {},
       {4, 5},
       {1,          1.15986395, 1.5,        1.84013605, 2,          1.56521738, 1.72508133,
        2.06521738, 2.40535343, 2.56521738, 2.43478262, 2.59464657, 2.93478262, 3.27491867,
        3.43478262, 3,          3.15986395, 3.5,        3.84013605, 4}},
      {"upsample_sizes_nearest_floor_align_corners",
       {Coordinates("align_corners"), Attribute::String("nearest_mode", "floor")},
       {1, 4},
       {},
       {},
       {1, 8},
       {1, 8},
       {1, 1, 1, 2, 2, 3, 3, 4}},
      {"upsample_sizes_nearest_ceil_half_pixel",
       {Attribute::String("nearest_mode", "ceil")},
       {1, 4},
       {},
       {},
       {1, 8},
       {1, 8},
       {1, 2, 2, 3, 3, 4, 4, 4}},
      {"upsample_sizes_nearest_round_prefer_ceil_asymmetric",
       {Coordinates("asymmetric"), Attribute::String("nearest_mode", "round_prefer_ceil")},
       {1, 4},
       {},
       {},
       {1, 8},
       {1, 8},
       {1, 2, 2, 3, 3, 4, 4, 4}},
  };
}

// Printed with eight digits of a binary64 computation.
TEST(Resize, GivesWhatOnnxPublishes) {
  for (const Published& row : PublishedRows()) {
    std::vector<float> counted;
    for (std::int64_t i = 1; i <= CountOf(row.from); ++i) counted.push_back(static_cast<float>(i));
    const Tensor x = Float(row.from, counted);
    const Tensor roi = Float({static_cast<std::int64_t>(row.roi.size())}, row.roi);
    const Tensor scales = Float({static_cast<std::int64_t>(row.scales.size())}, row.scales);
    const Tensor sizes = Int64(row.sizes);
    for (const char* arithmetic : {"exact", "float32"}) {
      const AllRun run{
          "Resize", row.attributes, {&x, &roi, &scales, &sizes}, {FloatType()}, arithmetic};
      const auto result = run.Run();
      ASSERT_TRUE(result.has_value()) << row.name << ": " << run.Error();
      EXPECT_EQ((*result)[0].dims, row.dims) << row.name;
      const auto values = (*result)[0].As<float>();
      ASSERT_EQ(values.size(), row.values.size()) << row.name;
      for (std::size_t i = 0; i < values.size(); ++i) {
        EXPECT_NEAR(static_cast<double>(values[i]), row.values[i], 2e-6) << row.name << " " << i;
      }
    }
  }
}

// 1/3 and 2/3 of scales at the ends of binary32, where a product of floats over- or underflows.
TEST(Resize, LinearKeepsExtremeScales) {
  const Tensor sizes = Int64({4});
  const std::vector<Attribute> attributes = {kLinear, Coordinates("align_corners")};
  for (const float scale : {0x1p-149F, 0x1p-126F, 0x1p127F, 1.1754942e-38F}) {
    const Tensor x = Int8({2}, {-128, 127}, Q({scale}));
    const OutputType type = Int8Type(Q({scale}, {1}));
    const AllRun run{"Resize", attributes, {&x, nullptr, nullptr, &sizes}, {type}};
    // -128 + 255 / 3 = -43, -128 + 510 / 3 = 42; plus 1, clamped.
    EXPECT_THAT(format::UnpackIntegers((*run.Run())[0]), ElementsAre(-127, -42, 43, 127)) << scale;
  }
}

TEST(Resize, RoundsHalvesOfHalfPrecisionOnce) {
  Tensor x = *format::MakeTensor(ElementType::kFloat16, {2});
  const std::uint16_t codes[] = {0x3c00, 0x3c01};  // 1 and 1 + 2^-10
  std::memcpy(x.bytes.data(), codes, sizeof codes);
  const Tensor sizes = Int64({3});
  const AllRun run{"Resize",
                   {kLinear, Coordinates("align_corners")},
                   {&x, nullptr, nullptr, &sizes},
                   {OutputType{ElementType::kFloat16, std::nullopt}}};
  const auto result = run.Run();
  ASSERT_TRUE(result.has_value()) << run.Error();
  EXPECT_THAT((*result)[0].As<std::uint16_t>(), ElementsAre(0x3c00, 0x3c00, 0x3c01));  // to even
}

TEST(Resize, RefusesWhatItCannotCompute) {
  const Tensor x = Int8({2}, {1, 2}, Q({1.0F}));
  const OutputType type = Int8Type(Q({1.0F}));
  const auto error = [&](std::vector<Attribute> attributes, const Tensor* roi, const Tensor* scales,
                         const Tensor* sizes) {
    return AllRun{"Resize", std::move(attributes), {&x, roi, scales, sizes}, {type}}.Error();
  };
  const Tensor two = Float({1}, {2});
  const Tensor enormous = Float({1}, {0x1p127F});
  const Tensor count = Int64({std::int64_t{1} << 62});
  const Tensor nan = Float({2}, {0, std::numeric_limits<float>::quiet_NaN()});
  EXPECT_THAT(error({}, nullptr, &enormous, nullptr), HasSubstr("input[2]"));
  EXPECT_THAT(error({}, nullptr, nullptr, &count), HasSubstr("input[3]"));
  const AllRun too_long{"Resize", {}, {&x, nullptr, &enormous}, {type}};
  EXPECT_EQ(too_long.Run().error().code, ErrorCode::kTooLarge);
  EXPECT_THAT(error({}, nullptr, nullptr, nullptr), HasSubstr("[resize.C3]"));
  EXPECT_THAT(error({Coordinates("tf_crop_and_resize")}, &nan, &two, nullptr),
              HasSubstr("[resize.C5]"));
  for (const Attribute& declined :
       {Attribute::String("mode", "cubic"), Attribute::Int("antialias", 1)}) {
    const AllRun run{"Resize", {declined}, {&x, nullptr, &two}, {type}};
    EXPECT_THAT(run.Error(), HasSubstr("[resize.C8]")) << declined.name;
  }
}

}  // namespace
}  // namespace qtx::reference::testing::resize_test
