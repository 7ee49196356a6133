// Operators on bits by all pairs of bytes, those that make tensors by GMP rationals, and those that
// keep elements by coordinates.  Source: bit_shift.S1, bitwise_and.S1, range.S1, eye_like.S1,
// non_zero.S1, trilu.S1, dropout.C4, cast_like.S1.
#include <cmath>

#include "moving.h"
#include "unary_textbook.h"

namespace qtx::reference::testing::generators_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

OutputType Plain(ElementType type) { return {type, std::nullopt}; }

// Bit by bit, of 8 bits in two's complement, as the bits of an unsigned value.
int FromBits(const std::function<bool(int)>& bit) {
  int value = 0;
  for (int k = 0; k < 8; ++k) value += bit(k) ? 1 << k : 0;
  return value;
}
bool Bit(int value, int k) { return ((value + 256) % 256 / (1 << k)) % 2 == 1; }

Tensor EveryByte(ElementType type, const Dims& dims) {
  Values values;
  for (int v = 0; v < 256; ++v) values.push_back(type == ElementType::kInt8 ? v - 128 : v);
  return Stored(type, dims, values);
}

// f of all pairs of bytes of a type, modulo 256 as its values.
Values OfAllPairs(ElementType type, const std::function<int(int, int)>& f) {
  const int low = type == ElementType::kInt8 ? -128 : 0;
  Values values;
  for (int v = low; v < low + 256; ++v) {
    for (int w = low; w < low + 256; ++w) {
      values.push_back(((f(v, w) - low) % 256 + 256) % 256 + low);
    }
  }
  return values;
}

struct BitsRow {
  const char* op;
  std::function<bool(bool, bool)> of;
};

TEST(Bits, AreThoseOfAllPairsOfBytes) {
  const BitsRow rows[] = {{"BitwiseAnd", [](bool a, bool b) { return a && b; }},
                          {"BitwiseOr", [](bool a, bool b) { return a || b; }},
                          {"BitwiseXor", [](bool a, bool b) { return a != b; }}};
  for (const ElementType type : {ElementType::kInt8, ElementType::kUint8}) {
    const Tensor a = EveryByte(type, {256, 1}), b = EveryByte(type, {256});
    for (const BitsRow& row : rows) {
      const Values expected = OfAllPairs(type, [&](int v, int w) {
        return FromBits([&](int k) { return row.of(Bit(v, k), Bit(w, k)); });
      });
      EXPECT_EQ(Integers({row.op, {}, {&a, &b}, Plain(type)}), expected) << row.op;
    }
  }
}

TEST(Bits, AreTurnedRound) {
  const Tensor x = Stored(ElementType::kInt8, {4}, {0, 1, -128, 85});
  EXPECT_THAT(Integers({"BitwiseNot", {}, {&x}, Plain(ElementType::kInt8)}),
              ElementsAre(-1, -2, 127, -86));
}

// a * 2^b, or floor(a / 2^b).
int Shifted(int a, int b, bool left) {
  if (b < 0 || b > 7) return a < 0 && !left ? -1 : 0;
  return left ? a * (1 << b) : static_cast<int>(std::floor(std::ldexp(a, -b)));
}

TEST(Bits, ShiftByPowersOfTwo) {
  for (const ElementType type : {ElementType::kInt8, ElementType::kUint8}) {
    const Tensor a = EveryByte(type, {256, 1}), b = EveryByte(type, {256});
    for (const bool left : {false, true}) {
      const Values expected =
          OfAllPairs(type, [left](int v, int by) { return Shifted(v, by, left); });
      const Attribute direction = Attribute::String("direction", left ? "LEFT" : "RIGHT");
      EXPECT_EQ(Integers({"BitShift", {direction}, {&a, &b}, Plain(type)}), expected);
    }
  }
}

TEST(Questions, AskWhatAValueIs) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = INFINITY;
  const Tensor x = Float({5}, {kNan, kInfinity, -kInfinity, 0, std::numeric_limits<float>::max()});
  const OutputType flags = Plain(ElementType::kBool);
  EXPECT_THAT(Integers({"IsNaN", {}, {&x}, flags}), ElementsAre(1, 0, 0, 0, 0));
  EXPECT_THAT(Integers({"IsInf", {}, {&x}, flags}), ElementsAre(0, 1, 1, 0, 0));
  EXPECT_THAT(Integers({"IsInf", {Attribute::Int("detect_positive", 0)}, {&x}, flags}),
              ElementsAre(0, 0, 1, 0, 0));
  const Tensor a = Stored(ElementType::kBool, {2, 1}, {0, 1});
  const Tensor b = Stored(ElementType::kBool, {2}, {0, 1});
  EXPECT_THAT(Integers({"Xor", {}, {&a, &b}, flags}), ElementsAre(0, 1, 1, 0));
}

// start + i * delta in GMP, as long as it has not reached limit.
TEST(Range, HoldsTheExactReals) {
  Random random(81);
  for (int round = 0; round < 200; ++round) {
    const auto draw = [&] {
      return static_cast<float>(random.In(-400, 400)) * (round % 2 == 0 ? 0.1F : 0.25F);
    };
    float step = draw();
    if (std::abs(step) < 0.5F) step = 0.7F;
    const Tensor start = Float({}, {draw()}), limit = Float({}, {draw()}),
                 delta = Float({}, {step});
    const mpq_class first = TextbookReals(start)[0], last = TextbookReals(limit)[0];
    const mpq_class by = TextbookReals(delta)[0];
    std::vector<mpq_class> reals;
    for (mpq_class at = first; by > 0 ? at < last : at > last; at += by) reals.push_back(at);
    const OutputType y = Int8Type(random.PerTensor());
    const std::vector<const Tensor*> inputs = {&start, &limit, &delta};
    EXPECT_EQ(Integers({"Range", {}, inputs, y}),
              TextbookStored(reals, y, {static_cast<std::int64_t>(reals.size())}));
    const std::vector<float> floats = Floats({"Range", {}, inputs, FloatType(), "float32"});
    ASSERT_EQ(floats.size(), reals.size());
    for (std::size_t i = 0; i < floats.size(); ++i) {
      EXPECT_EQ(floats[i], start.As<float>()[0] + static_cast<float>(i) * step);
    }
  }
}

TEST(Range, NeedsFewerThan2To63Steps) {
  const Tensor start = Float({}, {0}), limit = Float({}, {1e30F}), delta = Float({}, {1});
  EXPECT_THAT(ErrorOf({"Range", {}, {&start, &limit, &delta}, FloatType()}),
              HasSubstr("[range.C3]"));
  const Tensor far = Float({}, {1e18F});
  EXPECT_THAT(ErrorOf({"Range", {}, {&start, &far, &delta}, FloatType()}),
              Not(::testing::IsEmpty()));
}

TEST(Generators, MakeTensorsOfSizes) {
  const Tensor x = Int8({3, 4}, Values(12, 7), Q({0.5F}));
  EXPECT_THAT(Integers({"Size", {}, {&x}, Plain(ElementType::kInt64)}), ElementsAre(12));
  const OutputType y = Int8Type(Q({0.5F}, {3}));
  EXPECT_THAT(Integers({"EyeLike", {Attribute::Int("k", -1)}, {&x}, y}),
              ElementsAre(3, 3, 3, 3, 5, 3, 3, 3, 3, 5, 3, 3));
  const Tensor sizes = Int64({2, 3});
  Attribute nine;
  nine.name = "value";
  nine.type = format::AttributeType::kTensor;
  nine.t = format::ToTensorData("", Stored(ElementType::kInt8, {1}, {9}));
  EXPECT_THAT(Integers({"ConstantOfShape", {nine}, {&sizes}, y}), ElementsAre(9, 9, 9, 9, 9, 9));
  EXPECT_THAT(Floats({"ConstantOfShape", {}, {&sizes}, FloatType()}),
              ElementsAre(0, 0, 0, 0, 0, 0));
}

// Five of four bits, nine of two, in whole bytes: the rest of the last one is 0.
TEST(Generators, PackWhatIsLessThanAByte) {
  const auto bytes = [](ElementType type, std::int64_t stored, std::int64_t count) {
    Attribute value;
    value.name = "value";
    value.type = format::AttributeType::kTensor;
    value.t = format::ToTensorData("", Stored(type, {}, {stored}));
    const Tensor sizes = Int64({count});
    const auto y = OpRun{"ConstantOfShape", {value}, {&sizes}, Plain(type)}.Run();
    std::vector<int> result;
    for (const std::byte byte : y->bytes) result.push_back(std::to_integer<int>(byte));
    return result;
  };
  EXPECT_THAT(bytes(ElementType::kInt4, -7, 5), ElementsAre(0x99, 0x99, 0x09));
  EXPECT_THAT(bytes(ElementType::kUint4, 9, 4), ElementsAre(0x99, 0x99));
  EXPECT_THAT(bytes(ElementType::kInt2, -2, 9), ElementsAre(0xAA, 0xAA, 0x02));
}

TEST(Coordinates, AreThoseOfTheElementsThatAreKept) {
  Random random(82);
  for (int round = 0; round < 50; ++round) {
    const Dims dims = {random.In(1, 3), random.In(1, 4), random.In(1, 5)};
    const Tensor x = random.Tensor8(dims, AnyGranularity(random, dims));
    const std::vector<mpq_class> reals = TextbookReals(x);
    std::vector<Values> coordinates(3);
    const std::int64_t k = random.In(-4, 4);
    const bool upper = round % 2 == 0;
    std::vector<mpq_class> triangle;
    for (std::size_t i = 0; i < reals.size(); ++i) {
      const Dims at = CoordinatesOf(static_cast<std::int64_t>(i), dims);
      for (std::size_t axis = 0; reals[i] != 0 && axis < 3; ++axis) {
        coordinates[axis].push_back(at[axis]);
      }
      const std::int64_t column = at[2] - at[1];
      triangle.push_back((upper ? column >= k : column <= k) ? reals[i] : mpq_class(0));
    }
    Values expected;
    for (const Values& row : coordinates) expected.insert(expected.end(), row.begin(), row.end());
    EXPECT_EQ(Integers({"NonZero", {}, {&x}, Plain(ElementType::kInt64)}), expected);
    const OutputType y = Int8Type(AnyGranularity(random, dims));
    const Tensor diagonal = Int64({k});
    EXPECT_EQ(Integers({"Trilu", {Attribute::Int("upper", upper ? 1 : 0)}, {&x, &diagonal}, y}),
              TextbookStored(triangle, y, dims));
    const Tensor like = Int8({1}, {0}, Q({8.0F}));
    EXPECT_EQ(Integers({"CastLike", {}, {&x, &like}, y}), TextbookStored(reals, y, dims));
  }
}

// cast_like.C1.
TEST(CastLike, HasNoComplexResult) {
  const Tensor x = Float({1}, {1});
  const OpRun run{"CastLike", {}, {&x, &x}, Plain(ElementType::kComplex64)};
  EXPECT_THAT(ErrorOf(run), HasSubstr("[cast_like.C1]"));
}

TEST(Dropout, KeepsAllAndDeclinesToTrain) {
  const Tensor x = Float({2}, {1, -2}), ratio = Float({}, {0.5F});
  const std::vector<OutputType> outputs = {FloatType(), Plain(ElementType::kBool)};
  const auto kept = AllRun{"Dropout", {}, {&x, &ratio}, outputs}.Run();
  ASSERT_TRUE(kept.has_value()) << kept.error().Text();
  EXPECT_EQ((*kept)[0].bytes, x.bytes);
  EXPECT_THAT(format::UnpackIntegers((*kept)[1]), ElementsAre(1, 1));
  const Tensor trains = Stored(ElementType::kBool, {}, {1});
  const AllRun training{"Dropout", {}, {&x, &ratio, &trains}, outputs};
  EXPECT_THAT(training.Error(), HasSubstr("found true, which this version of the text does not"));
  EXPECT_EQ(training.Run().error().code, ErrorCode::kUnsupported);
  AllRun old{"Dropout", {}, {&x}, {FloatType()}, "exact", 6};
  EXPECT_THAT(old.Error(), HasSubstr("is_test"));
  old.attributes = {Attribute::Int("is_test", 1)};
  EXPECT_EQ(old.Error(), "");
}

}  // namespace
}  // namespace qtx::reference::testing::generators_test
