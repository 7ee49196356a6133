// Sums of X^T X; expectations by hand.
#include "qtx/calibrate/gram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "coverage.h"
#include "qtx/calibrate/calibrate.h"
#include "tests/data/files.h"

namespace qtx::calibrate::gram_test {
namespace {

using format::Model;
using format::Tensor;
using testing::ElementsAre;
using testing::HasSubstr;

class Rows : public Samples {
 public:
  explicit Rows(std::vector<Tensor> rows) : rows_(std::move(rows)) {}
  std::int64_t size() const override { return std::ssize(rows_); }
  std::string Name(std::int64_t index) const override { return "s" + std::to_string(index); }
  std::string Digest() const override { return "rows"; }
  Sample Read(std::int64_t index) const override {
    return std::vector<Tensor>{rows_[static_cast<std::size_t>(index)]};
  }

 private:
  std::vector<Tensor> rows_;
};

// y = x w of two columns, or Gemm with w transposed.
Model Product(const char* op, std::vector<format::Attribute> attributes = {}) {
  Model model = ModelOf({{"x", {-1, 2}}});
  model.ir_version = 8;
  model.opset_imports = {{"", 17, ""}};
  model.graph.name = "g";
  model.graph.nodes = {
      {.op_type = op, .inputs = {"x", "w"}, .outputs = {"y"}, .attributes = std::move(attributes)}};
  model.graph.initializers = {format::ToTensorData("w", Floats({2, 2}, {1, 2, 3, 4}))};
  format::ValueInfo y{.name = "y", .type = format::TensorType()};
  y.type->elem_type = format::ElementType::kFloat;
  model.graph.outputs = {y};
  return model;
}

const Rows& Data() {
  static const Rows kData({Floats({1, 2}, {1, 2}), Floats({1, 2}, {-3, 0.5F})});
  return kData;
}

Result<Calibration> Measure(const Model& model, const Samples& samples, const Options& options) {
  return Calibrate(model, samples, ReferenceExecutor(model), options);
}

Model Calibrated(const Model& model) { return Measure(model, Data(), {})->model; }

// 3 is below 2^2, so the step is 2^-21; 1 + 9, 2 - 1.5 and 4 + 0.25 are exact.
TEST(Gram, SumsProductsOfColumns) {
  for (const Model& model :
       {Product("MatMul"), Product("Gemm", {format::Attribute::Int("transB", 1)})}) {
    const auto done = Measure(Calibrated(model), Data(), {.gram = true});
    ASSERT_TRUE(done.has_value()) << done.error().Text();
    ASSERT_EQ(done->grams.size(), 1U);
    const Gram& gram = done->grams.at("x");
    EXPECT_EQ(gram.exponent, -21);
    EXPECT_EQ(gram.size, 2);
    EXPECT_THAT(gram.Reals(), ElementsAre(10, 0.5, 4.25));
  }
  const Model turned = Product("Gemm", {format::Attribute::Int("transA", 1)});
  EXPECT_TRUE(PlanGrams(turned)->empty());
}

// What was seen first has no more than 3: 5 becomes 2^23 steps, 4; NaN counts as 0; 2^-22 is half a
// step and goes to the even 0, 3 * 2^-22 to 2 steps.
TEST(Gram, RoundsToItsGrid) {
  Gram gram = PlanGrams(Calibrated(Product("MatMul")))->at("x");
  ASSERT_TRUE(AddTo(gram, Floats({1, 1, 2}, {5, std::nanf("")})).has_value());
  EXPECT_THAT(gram.Reals(), ElementsAre(16, 0, 0));
  ASSERT_TRUE(AddTo(gram, Floats({2, 2}, {0x1p-22F, 1, 3 * 0x1p-22F, 1})).has_value());
  EXPECT_THAT(gram.Reals(), ElementsAre(16 + 0x1p-40, 0x1p-20, 2));
  const auto other = AddTo(gram, Floats({1, 3}, {1, 2, 3}));
  ASSERT_FALSE(other.has_value());
  EXPECT_THAT(other.error().message, HasSubstr("expected FLOAT with a last dimension of 2"));
}

// Rows [1, 2, 3, 5] and [0, 1, 4, 0]; the grid holds twice the extremes that were seen, 3.
TEST(Gram, SumsTwoNetworksSideBySide) {
  const Model model = Calibrated(Product("MatMul"));
  Gram joint = *PlanJointGram(model, model.graph.nodes[0]);
  EXPECT_EQ(joint.size, 4);
  ASSERT_TRUE(AddTo(joint, Floats({1, 2}, {1, 2}), Floats({1, 2}, {3, 5})).has_value());
  ASSERT_TRUE(AddTo(joint, Floats({1, 2}, {0, 1}), Floats({1, 2}, {4, 0})).has_value());
  EXPECT_THAT(joint.Reals(), ElementsAre(1, 2, 3, 5, 5, 10, 10, 25, 15, 25));
  ASSERT_TRUE(AddTo(joint, Floats({0, 2}, {}), Floats({0, 2}, {})).has_value());
  const auto other = AddTo(joint, Floats({2, 1}, {1, 2}), Floats({1, 2}, {3, 4}));
  ASSERT_FALSE(other.has_value());
  EXPECT_THAT(other.error().message, HasSubstr("found [2,1], expected FLOAT with the shape [1,2]"));
}

// 2^17 rows of the greatest integers pass 63 bits: 2^46 * 2^17.
TEST(Gram, SumsBeyond64Bits) {
  Gram gram{.exponent = 0, .size = 1, .sums = {0}};
  const std::int64_t rows = 1 << 17;
  const Tensor most =
      Floats({rows, 1}, std::vector<float>(static_cast<std::size_t>(rows), -0x1p30F));
  ASSERT_TRUE(AddTo(gram, most).has_value());
  ASSERT_TRUE(AddTo(gram, most).has_value());
  EXPECT_TRUE(gram.sums[0] == static_cast<__int128>(1) << 64);
}

// 700 rows of 13 columns: more than one batch of rows, and panels that are not full.
TEST(Gram, SumsWhatIntegersSum) {
  constexpr std::size_t kRows = 700, kSize = 13;
  std::vector<float> values;
  for (std::size_t i = 0; i < kRows * kSize; ++i)
    values.push_back(
        static_cast<float>(static_cast<std::int64_t>(i * i * 7919 % 16777213) - 8388606));
  Gram gram{.exponent = 0, .size = kSize};
  gram.sums.resize(kSize * (kSize + 1) / 2);
  ASSERT_TRUE(AddTo(gram, Floats({kRows, kSize}, values)).has_value());
  auto sum = gram.sums.begin();
  for (std::size_t i = 0; i < kSize; ++i) {
    for (std::size_t j = i; j < kSize; ++j) {
      __int128 expected = 0;
      for (std::size_t r = 0; r < kRows; ++r)
        expected += static_cast<__int128>(values[r * kSize + i]) *
                    static_cast<__int128>(values[r * kSize + j]);
      EXPECT_TRUE(*sum++ == expected) << i << ", " << j;
    }
  }
}

// y = Conv(x, w), x of `dims`, calibrated on `values`.
Model Convolution(const format::Dims& x, const format::Dims& w, const std::vector<float>& values,
                  std::vector<format::Attribute> attributes) {
  Model model = Product("Conv", std::move(attributes));
  model.graph.inputs[0].type->shape = format::ToShape(x);
  std::size_t count = 1;
  for (const std::int64_t size : w) count *= static_cast<std::size_t>(size);
  model.graph.initializers = {format::ToTensorData("w", Floats(w, std::vector<float>(count, 1)))};
  return Measure(model, Rows({Floats(x, values)}), {})->model;
}

std::vector<double> ConvSums(const format::Dims& x, const format::Dims& w,
                             const std::vector<float>& values,
                             std::vector<format::Attribute> attributes) {
  const auto done = Measure(Convolution(x, w, values, std::move(attributes)),
                            Rows({Floats(x, values)}), {.gram = true});
  EXPECT_TRUE(done.has_value()) << done.error().Text();
  EXPECT_EQ(done->grams.size(), 1U);
  return done->grams.begin()->second.Reals();
}

TEST(Gram, SumsPatchesOfConv) {
  using format::Attribute;
  // Patches (0, 1), (1, 2), (2, -3).
  EXPECT_THAT(ConvSums({1, 1, 3}, {1, 1, 2}, {1, 2, -3}, {Attribute::Ints("pads", {1, 0})}),
              ElementsAre(5, -4, 14));
  // Of two groups (0, 1), (2, 3) and (0, 0.5), (0, -1).
  EXPECT_THAT(ConvSums({1, 2, 3}, {2, 1, 2}, {1, 2, 3, 0.5F, 0, -1},
                       {Attribute::Int("group", 2), Attribute::Ints("strides", {2}),
                        Attribute::Ints("pads", {1, 0})}),
              ElementsAre(4, 6, 10, 0, 0, 1.25));
  // Two channels in one group: (1, 3), (2, 4).
  EXPECT_THAT(ConvSums({1, 2, 1, 2}, {1, 2, 1, 1}, {1, 2, 3, 4}, {}), ElementsAre(5, 11, 25));
  const std::vector<float> square = {1, 2, 3, 4};
  // (1, 3), (2, 4), (3, 0), (4, 0), and with the padding above (0, 1), (0, 2), (1, 3), (2, 4).
  EXPECT_THAT(
      ConvSums({1, 1, 2, 2}, {1, 1, 2, 1}, square, {Attribute::String("auto_pad", "SAME_UPPER")}),
      ElementsAre(30, 11, 25));
  EXPECT_THAT(
      ConvSums({1, 1, 2, 2}, {1, 1, 2, 1}, square, {Attribute::String("auto_pad", "SAME_LOWER")}),
      ElementsAre(5, 11, 30));
  // (0, 3), (0, 4), (1, 0), (2, 0).
  EXPECT_THAT(
      ConvSums({1, 1, 2, 2}, {1, 1, 2, 1}, square,
               {Attribute::Ints("dilations", {2, 1}), Attribute::Ints("pads", {1, 0, 1, 0})}),
      ElementsAre(5, 0, 25));
}

// Two groups of one channel: rows [1, 5] and [3, 6] of the first, [2, 7] and [4, 8] of the second.
TEST(Gram, SumsPatchesOfTwoNetworksByGroups) {
  const Model model =
      Convolution({1, 2, 2}, {2, 1, 1}, {1, 3, 2, 4}, {format::Attribute::Int("group", 2)});
  Gram joint = *PlanJointGram(model, model.graph.nodes[0]);
  const Tensor changed = Floats({1, 2, 2}, {1, 3, 2, 4}), real = Floats({1, 2, 2}, {5, 6, 7, 8});
  ASSERT_TRUE(AddTo(joint, changed, real).has_value());
  EXPECT_THAT(joint.Reals(), ElementsAre(1 + 9, 5 + 18, 25 + 36, 4 + 16, 14 + 32, 49 + 64));
}

TEST(Gram, RefusesPatchesThatItCannotSum) {
  Gram gram = PlanGrams(Convolution({1, 2, 3}, {1, 2, 2}, {1, 2, 3, 4, 5, 6}, {}))->begin()->second;
  EXPECT_THAT(AddTo(gram, Floats({1, 3, 1}, {1, 2, 3})).error().message,
              HasSubstr("expected FLOAT with 2 channels and 1 spatial axes"));
  EXPECT_FALSE(AddTo(gram, Floats({1, 2, 1}, {1, 2})).has_value());  // a window of 2
  Model model = Convolution({1, 1, 3}, {1, 1, 2}, {1, 2, 3}, {});
  model.graph.nodes[0].attributes = {format::Attribute::Ints("strides", {0})};
  EXPECT_TRUE(PlanGrams(model)->empty());
  // 2^20 groups of 2^10 columns: 2^39 sums.
  model.graph.nodes[0].attributes = {format::Attribute::Int("group", 1 << 20)};
  model.graph.initializers[0].dims = {1 << 20, 1 << 10, 1};
  EXPECT_THAT(PlanGrams(model).error().message,
              HasSubstr("1024 columns in 1048576 groups pass 4 GiB"));
}

TEST(Gram, IsTheSameOfEightShards) {
  const Model model = Calibrated(Product("MatMul"));
  std::vector<Tensor> rows;
  rows.reserve(21);
  for (int i = 0; i < 21; ++i)
    rows.push_back(Floats({1, 2}, {0.1F * static_cast<float>(i), 1 / (1 + static_cast<float>(i))}));
  const Rows data(rows);
  std::vector<Model> parts;
  for (const std::int64_t shard : {5, 2, 8, 1, 7, 3, 6, 4}) {
    const auto done = Measure(model, data, {.shard_index = shard, .shard_count = 8, .gram = true});
    ASSERT_TRUE(done.has_value()) << done.error().Text();
    parts.push_back(*ToModel(done->grams, done->model));
  }
  const auto merged = MergeGrams(parts);
  ASSERT_TRUE(merged.has_value()) << merged.error().Text();
  EXPECT_TRUE(merged->missing.empty());
  const auto whole = Measure(model, data, {.threads = 2, .gram = true});
  EXPECT_TRUE(*merged->model.Serialize() == *ToModel(whole->grams, whole->model)->Serialize());
  EXPECT_TRUE(*GramsOf(merged->model) == whole->grams);
}

TEST(MergeGrams, RefusesWhatIsNotItsOwn) {
  const Model model = Calibrated(Product("MatMul"));
  const auto done = Measure(model, Data(), {.shard_index = 2, .shard_count = 2, .gram = true});
  const Model part = *ToModel(done->grams, done->model);
  EXPECT_THAT(MergeGrams(std::vector{part})->missing, ElementsAre("1/2"));
  EXPECT_THAT(MergeGrams(std::vector{part, part}).error().where, "models[1]");
  const Model statistics = Measure(model, Data(), {.shard_index = 1, .shard_count = 2})->model;
  EXPECT_THAT(MergeModels(std::vector{statistics, part}).error().Text(),
              HasSubstr("models[1]: found sums of --gram, expected statistics"));
}

TEST(Gram, RefusesWhatItCannotSum) {
  const Model model = Product("MatMul");
  EXPECT_THAT(Measure(model, Data(), {.gram = true}).error().Text(),
              HasSubstr("model: value 'x': found no statistics"));
  EXPECT_THAT(Measure(Calibrated(model), Data(), {.gram = true, .journal = "j"}).error().Text(),
              HasSubstr("journal: expected none beside gram"));
  Grams a = *PlanGrams(Calibrated(model)), b = a;
  b.at("x").exponent += 1;
  EXPECT_THAT(AddTo(a, b).error().message, HasSubstr("on other grids"));
}

TEST(Gram, ReadsFilesStrictly) {
  const Model model = Calibrated(Product("MatMul"));
  const auto done = Measure(model, Data(), {.gram = true});
  const Model good = *ToModel(done->grams, done->model);
  ASSERT_TRUE(GramsOf(good).has_value());
  EXPECT_THAT(GramsOf(model).error().message, HasSubstr("expected sums that qtx calibrate --gram"));
  const auto refused = [&](std::size_t word, std::int64_t value) {
    Model bad = good;
    Tensor tensor = *format::Decode(bad.graph.initializers[0]);
    tensor.As<std::int64_t>()[word] = value;
    bad.graph.initializers[0] = format::ToTensorData("x", tensor);
    const auto read = GramsOf(bad);
    return read.has_value() ? "" : read.error().Text();
  };
  EXPECT_THAT(refused(0, 1 << 20), HasSubstr("initializer 'x': expected an exponent"));
  EXPECT_THAT(refused(1, 3), HasSubstr("expected INT64 of shape [1 + n, 2]"));
  EXPECT_THAT(refused(1, -3), HasSubstr("expected INT64 of shape [1 + n, 2]"));
  EXPECT_THAT(refused(3, std::int64_t{1} << 62), HasSubstr("expected sums of at most 2^110"));
  Model bad = good;
  bad.graph.initializers[0] = format::ToTensorData("x", Floats({1}, {1}));
  EXPECT_FALSE(GramsOf(bad).has_value());
}

}  // namespace
}  // namespace qtx::calibrate::gram_test
