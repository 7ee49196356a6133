// reshape, flatten, squeeze, unsqueeze, transpose, pad, concat, identity, shape, constant: their
// .S1.
#include "../run_op.h"

namespace qtx::reference::testing::movement_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Quantization kHalf = Q({0.5F}, {1});
constexpr const char* kArithmetics[] = {"exact", "float32", "tflite"};

TEST(Reshape, InfersAndCopiesDimensions) {
  const Tensor x = Int8({2, 3, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, kHalf);
  const Tensor shape = Int64({0, -1});
  for (const char* arithmetic : kArithmetics) {
    OpRun run{"Reshape", {}, {&x, &shape}, Int8Type(kHalf), arithmetic};
    EXPECT_EQ(run.Run()->dims, (Dims{2, 6}));
    EXPECT_EQ(Integers(run), format::UnpackIntegers(x));
  }
}

TEST(Reshape, MapsEachElementToTheParametersOfItsNewPlace) {
  const Tensor x = Int8({4}, {4, 4, 4, 4}, Q({1.0F}));
  const Tensor shape = Int64({2, 2});
  EXPECT_THAT(Integers({"Reshape", {}, {&x, &shape}, Int8Type(Q({1.0F, 2.0F}, {}, {1}))}),
              ElementsAre(4, 2, 4, 2));
}

TEST(Reshape, RefusesShapesThatDoNotHoldTheElements) {
  const Tensor x = Int8({2, 3}, Values(6, 0), kHalf);
  for (const Values& wanted :
       {Values{4}, Values{-1, -1}, Values{-2, 3}, Values{1, 2, 0}, Values{-1, 4}}) {
    const Tensor shape = Int64(wanted);
    EXPECT_THAT(ErrorOf({"Reshape", {}, {&x, &shape}, Int8Type(kHalf)}), HasSubstr("input[1]"))
        << ::testing::PrintToString(wanted);
  }
  const Tensor huge = Int64({std::int64_t{1} << 62, 8});
  EXPECT_THAT(ErrorOf({"Reshape", {}, {&x, &huge}, Int8Type(kHalf)}), HasSubstr("[reshape.C3]"));
}

TEST(Flatten, KeepsTheAxesBeforeItsAxisTogether) {
  const Tensor x = Int8({2, 2, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8}, kHalf);
  OpRun run{"Flatten", {Attribute::Int("axis", 2)}, {&x}, Int8Type(kHalf)};
  EXPECT_EQ(run.Run()->dims, (Dims{4, 2}));
  run.attributes = {Attribute::Int("axis", 0)};
  EXPECT_EQ(run.Run()->dims, (Dims{1, 8}));
  run.attributes = {Attribute::Int("axis", 5)};
  EXPECT_THAT(ErrorOf(run), HasSubstr("attribute 'axis'"));
}

TEST(Squeeze, RemovesNamedAxesOrAllOfSizeOne) {
  const Tensor x = Int8({1, 2, 1}, {1, 2}, kHalf);
  const Tensor axes = Int64({-1});
  OpRun all{"Squeeze", {}, {&x}, Int8Type(kHalf)};
  EXPECT_EQ(all.Run()->dims, (Dims{2}));
  OpRun one{"Squeeze", {}, {&x, &axes}, Int8Type(kHalf)};
  EXPECT_EQ(one.Run()->dims, (Dims{1, 2}));
  const Tensor wrong = Int64({1});
  EXPECT_THAT(ErrorOf({"Squeeze", {}, {&x, &wrong}, Int8Type(kHalf)}), HasSubstr("[squeeze.C2]"));
}

TEST(Unsqueeze, InsertsAxesAtTheirPlaceInTheResult) {
  const Tensor x = Int8({2}, {1, 2}, kHalf);
  const Tensor axes = Int64({0, -1});
  OpRun run{"Unsqueeze", {}, {&x, &axes}, Int8Type(kHalf)};
  EXPECT_EQ(run.Run()->dims, (Dims{1, 2, 1}));
  const Tensor twice = Int64({0, 0});
  EXPECT_THAT(ErrorOf({"Unsqueeze", {}, {&x, &twice}, Int8Type(kHalf)}), HasSubstr("twice"));
}

TEST(Transpose, PermutesByPermOrReverses) {
  const Tensor x = Int8({1, 2, 3}, {1, 2, 3, 4, 5, 6}, kHalf);
  OpRun run{"Transpose", {Attribute::Ints("perm", {2, 0, 1})}, {&x}, Int8Type(kHalf)};
  EXPECT_EQ(run.Run()->dims, (Dims{3, 1, 2}));
  EXPECT_THAT(Integers(run), ElementsAre(1, 4, 2, 5, 3, 6));
  run.attributes = {};
  EXPECT_EQ(run.Run()->dims, (Dims{3, 2, 1}));
  run.attributes = {Attribute::Ints("perm", {0, 0, 1})};
  EXPECT_THAT(ErrorOf(run), HasSubstr("expected a permutation"));
}

TEST(Transpose, MovesTypesThatAreNotReals) {
  const Tensor x = Stored(ElementType::kInt64, {2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(Integers({"Transpose", {}, {&x}, {ElementType::kInt64, std::nullopt}}),
              ElementsAre(1, 3, 2, 4));
}

TEST(Pad, AddsRealZeroWhichIsTheOffset) {
  const Tensor x = Int8({2}, {4, 5}, Q({0.5F}, {-7}));
  const Tensor pads = Int64({1, 2});
  for (const char* arithmetic : kArithmetics) {
    EXPECT_THAT(Integers({"Pad", {}, {&x, &pads}, Int8Type(Q({0.5F}, {-7})), arithmetic}),
                ElementsAre(-7, 4, 5, -7, -7));
  }
  const Tensor value = Float({}, {1.25F});  // 2.5 LSB, to even 2, less 7
  EXPECT_THAT(Integers({"Pad", {}, {&x, &pads, &value}, Int8Type(Q({0.5F}, {-7}))}),
              ElementsAre(-5, 4, 5, -5, -5));
}

TEST(Pad, RepeatsReflectsAndRemoves) {
  const Tensor x = Int8({3}, {1, 2, 3}, Q({1.0F}));
  const Tensor pads = Int64({2, 1});
  const auto run = [&](const char* mode, const Tensor& p) {
    return OpRun{"Pad", {Attribute::String("mode", mode)}, {&x, &p}, Int8Type(Q({1.0F}))};
  };
  EXPECT_THAT(Integers(run("edge", pads)), ElementsAre(1, 1, 1, 2, 3, 3));
  EXPECT_THAT(Integers(run("reflect", pads)), ElementsAre(3, 2, 1, 2, 3, 2));
  const Tensor cut = Int64({-1, 1});
  EXPECT_THAT(Integers(run("constant", cut)), ElementsAre(2, 3, 0));
  const Tensor mirror = Int64({3, 0});
  EXPECT_THAT(ErrorOf(run("reflect", mirror)), HasSubstr("found 3 and 0 for axis 0"));
  const Tensor gone = Int64({-2, -2});
  EXPECT_FALSE(ErrorOf(run("constant", gone)).empty());
  const Tensor enormous = Int64({std::numeric_limits<std::int64_t>::max(), 0});
  EXPECT_FALSE(ErrorOf(run("constant", enormous)).empty());
  const Tensor large = Int64({std::int64_t{1} << 35, 0});
  EXPECT_THAT(ErrorOf(run("constant", large)), HasSubstr("34359738371"));
}

// NumPy's definition of wrap, from its words: the array repeated without end. What a negative pad
// removes is gone before that.
TEST(Pad, WrapsAroundAsOftenAsAsked) {
  const Tensor x = Int8({2, 3}, {1, 2, 3, 4, 5, 6}, Q({1.0F}));
  Random random(61);
  for (int round = 0; round < 50; ++round) {
    const Values pads = {random.In(0, 5), random.In(0, 9), random.In(0, 5), random.In(0, 9)};
    const Tensor given = Int64(pads);
    Values expected;
    for (std::int64_t r = -pads[0]; r < 2 + pads[2]; ++r) {
      for (std::int64_t c = -pads[1]; c < 3 + pads[3]; ++c) {
        expected.push_back((r + 20) % 2 * 3 + (c + 30) % 3 + 1);
      }
    }
    OpRun run{"Pad", {Attribute::String("mode", "wrap")}, {&x, &given}, Int8Type(Q({1.0F}))};
    EXPECT_EQ(Integers(run), expected) << ::testing::PrintToString(pads);
  }
}

TEST(Pad, PadsTheNamedAxesOnly) {
  const Tensor x = Int8({1, 2}, {1, 2}, Q({1.0F}, {7}));
  const Tensor pads = Int64({1, 0, 0, 2});  // one before axis 1, two after axis 0
  const Tensor axes = Int64({-1, 0});
  OpRun run{"Pad", {}, {&x, &pads, nullptr, &axes}, Int8Type(Q({1.0F}, {7}))};
  EXPECT_EQ(run.Run()->dims, (Dims{3, 3}));
  EXPECT_THAT(Integers(run), ElementsAre(7, 1, 2, 7, 7, 7, 7, 7, 7));
  for (const Values& wrong : {Values{0, 0}, Values{0, 2}, Values{0}, Values{0, -3}}) {
    const Tensor bad = Int64(wrong);
    run.inputs[3] = &bad;
    EXPECT_FALSE(ErrorOf(run).empty()) << ::testing::PrintToString(wrong);
  }
}

// 0.25 * 2 = 0.5 is stored 1 at scale 1/2; 0.25 * 3 = 0.75 is 1.5, to even 2.
TEST(Concat, RescalesInputsWithOtherParameters) {
  const Tensor a = Int8({2}, {1, 2}, Q({0.5F}));
  const Tensor b = Stored(ElementType::kUint8Q, {2}, {3, 4}, Q({0.25F}, {1}));
  EXPECT_THAT(Integers({"Concat", {Attribute::Int("axis", 0)}, {&a, &b}, Int8Type(Q({0.5F}))}),
              ElementsAre(1, 2, 1, 2));
}

TEST(Concat, InterleavesAlongAnInnerAxis) {
  const Tensor a = Int8({2, 1}, {1, 2}, kHalf);
  const Tensor b = Int8({2, 2}, {3, 4, 5, 6}, kHalf);
  OpRun run{"Concat", {Attribute::Int("axis", -1)}, {&a, &b}, Int8Type(kHalf)};
  EXPECT_EQ(run.Run()->dims, (Dims{2, 3}));
  EXPECT_THAT(Integers(run), ElementsAre(1, 3, 4, 2, 5, 6));
  const Tensor c = Int8({3, 1}, {1, 2, 3}, kHalf);
  run.inputs = {&a, &c};
  EXPECT_THAT(ErrorOf(run), HasSubstr("input[1]"));
}

// 1.5 and -1.5 are ties at scale 1, to even 2 and -2; plus 1.
TEST(Identity, RequantizesToAnotherType) {
  const Tensor x = Int8({3}, {3, 4, -3}, Q({0.5F}));
  EXPECT_THAT(Integers({"Identity", {}, {&x}, Int8Type(Q({1.0F}, {1}))}), ElementsAre(3, 3, -1));
}

TEST(Identity, CopiesStoredValuesBetweenEqualTypes) {
  Quantization narrow = Q({0.1F}, {3});
  narrow.quant_max = 10;
  const Tensor x = Int8({2}, {100, -100}, narrow);
  for (const char* arithmetic : kArithmetics) {  // also outside quant_max: identity.S2
    EXPECT_THAT(Integers({"Identity", {}, {&x}, Int8Type(narrow), arithmetic}),
                ElementsAre(100, -100));
  }
  const Tensor scaled = Stored(ElementType::kInt32Q, {1}, {2147483647}, Q({0.1F}));
  for (const char* arithmetic : kArithmetics) {
    EXPECT_THAT(
        Integers({"Identity", {}, {&scaled}, Type(ElementType::kInt32Q, Q({0.1F})), arithmetic}),
        ElementsAre(2147483647));
  }
}

TEST(Shape, SlicesTheDimensions) {
  const Tensor x = Int8({2, 3, 4}, Values(24, 0), kHalf);
  const OutputType type{ElementType::kInt64, std::nullopt};
  EXPECT_THAT(Integers({"Shape", {}, {&x}, type}), ElementsAre(2, 3, 4));
  EXPECT_THAT(
      Integers({"Shape", {Attribute::Int("start", -2), Attribute::Int("end", 2)}, {&x}, type}),
      ElementsAre(3));
}

TEST(Constant, GivesItsAttribute) {
  EXPECT_THAT(
      Floats({"Constant", {Attribute::Floats("value_floats", {1.5F, -2.0F})}, {}, FloatType()}),
      ElementsAre(1.5F, -2.0F));
  EXPECT_THAT(
      Integers(
          {"Constant", {Attribute::Int("value_int", 7)}, {}, {ElementType::kInt64, std::nullopt}}),
      ElementsAre(7));
}

}  // namespace
}  // namespace qtx::reference::testing::movement_test
