// Proposal 0003: `exact` with the feature adds the offset to the exact quotient and rounds the sum.
// Every way in which a real reaches an output, against plain rationals; all of the values lie on
// ties as often as possible.
#include <algorithm>

#include "qtx/reference/interpreter.h"
#include "run_op.h"

namespace qtx::reference::testing {
namespace {

format::Features With() {
  return format::Features::Current().With(format::Feature::kOffsetBeforeRounding);
}

// The nearest integer to real / scale + offset, the even one of two, clamped.
std::int64_t Added(const mpq_class& real, double scale, std::int64_t offset) {
  const mpq_class sum = real / mpq_class(scale) + mpq_class(static_cast<long>(offset));
  return TextbookQuantize(sum, 1, 0, -128, 127);
}

Result<Tensor> RunWith(const std::string& op, const std::vector<const Tensor*>& inputs,
                       const OutputType& output, const std::vector<Attribute>& attributes = {}) {
  format::Node node;
  node.op_type = op;
  node.attributes = attributes;
  for (std::size_t i = 0; i < inputs.size(); ++i) node.inputs.push_back("in" + std::to_string(i));
  node.outputs = {"out0"};
  Counters counters;
  const Call call{.node = node,
                  .arithmetic = **FindArithmetic("exact", With()),
                  .inputs = inputs,
                  .outputs = {&output, 1},
                  .counters = &counters};
  auto results = RunOperator(*FindOperator("", op), call);
  if (!results.has_value()) return std::move(results).error();
  return std::move((*results)[0]);
}

// Runs the operator and holds it to `reals`, the exact ones that it computes.
void Expect(const std::string& op, const std::vector<const Tensor*>& inputs,
            const Quantization& output, const std::vector<mpq_class>& reals,
            const std::vector<Attribute>& attributes = {}) {
  const auto result = RunWith(op, inputs, Int8Type(output), attributes);
  ASSERT_TRUE(result.has_value()) << op << ": " << result.error().message;
  Values expected;
  for (const mpq_class& real : reals) {
    expected.push_back(Added(real, static_cast<double>(output.scale[0]), output.offset[0]));
  }
  EXPECT_EQ(format::UnpackIntegers(*result), expected) << op << " offset " << output.offset[0];
}

Values AllOf8Bits() {
  Values values;
  for (std::int64_t value = -128; value <= 127; ++value) values.push_back(value);
  return values;
}

// All stored values with all offsets of the result, at scales that make every second, third or
// fourth of them a tie, or none.
TEST(OffsetBeforeRounding, HoldsForEveryValueAndOffset) {
  const Tensor x = Int8({256}, AllOf8Bits(), Q({1.0F}, {0}));
  const std::vector<mpq_class> reals = TextbookReals(x);
  for (const float scale : {2.0F, 4.0F, 6.0F, 1.0F, 0.75F}) {
    for (std::int32_t offset = -128; offset <= 127; ++offset) {
      Expect("Identity", {&x}, Q({scale}, {offset}), reals);
    }
  }
}

// All 65,536 pairs; sums and products over 2 are ties every second time or more rarely.
TEST(OffsetBeforeRounding, HoldsForAllPairs) {
  const Values all = AllOf8Bits();
  const Tensor a = Int8({256, 1}, all, Q({1.0F}, {0}));
  const Tensor b = Int8({1, 256}, all, Q({1.0F}, {1}));
  std::vector<mpq_class> sums, products;
  for (const std::int64_t i : all) {
    for (const std::int64_t j : all) {
      sums.emplace_back(static_cast<long>(i + j - 1));
      products.emplace_back(static_cast<long>(i * (j - 1)));
    }
  }
  for (const std::int32_t offset : {-127, -2, 0, 1, 3}) {
    Expect("Add", {&a, &b}, Q({2.0F}, {offset}), sums);
    Expect("Mul", {&a, &b}, Q({2.0F}, {offset}), products);
    Expect("Mul", {&a, &b}, Q({192.0F}, {offset}), products);
  }
}

// Accumulators with a bias, which the certified path sums in binary64.
TEST(OffsetBeforeRounding, HoldsForAccumulators) {
  Random random(11);
  for (int round = 0; round < 50; ++round) {
    const Tensor a =
        random.Tensor8({5, 7}, Q({0.5F}, {static_cast<std::int32_t>(random.In(-9, 9))}));
    const Tensor b = random.Tensor8({7, 4}, Q({0.25F}, {0}));
    const Tensor c = random.Tensor8({4}, Q({8.0F}, {0}));
    const auto left = TextbookReals(a);
    const auto right = TextbookReals(b);
    const auto bias = TextbookReals(c);
    std::vector<mpq_class> products, sums;
    for (std::size_t i = 0; i < 5; ++i) {
      for (std::size_t j = 0; j < 4; ++j) {
        mpq_class sum = 0;
        for (std::size_t k = 0; k < 7; ++k) sum += left[i * 7 + k] * right[k * 4 + j];
        products.push_back(sum);
        sums.emplace_back(sum + bias[j]);
      }
    }
    const auto offset = static_cast<std::int32_t>(random.In(-20, 20));
    for (const float scale : {64.0F, 16.0F}) {
      Expect("MatMul", {&a, &b}, Q({scale}, {offset}), products);
      Expect("Gemm", {&a, &b, &c}, Q({scale}, {offset}), sums);
    }
  }
}

// A convolution of one element is a product of two.
TEST(OffsetBeforeRounding, HoldsForConvolutions) {
  const Tensor x = Int8({1, 1, 16, 16}, AllOf8Bits(), Q({1.0F}, {-3}));
  for (const std::int64_t weight : {1, 3, -5}) {
    const Tensor w = Int8({1, 1, 1, 1}, {weight}, Q({1.0F}, {0}));
    std::vector<mpq_class> reals;
    for (const mpq_class& real : TextbookReals(x))
      reals.emplace_back(real * static_cast<long>(weight));
    for (const std::int32_t offset : {-7, 4, 5}) {
      Expect("Conv", {&x, &w}, Q({2.0F}, {offset}), reals);
      Expect("ConvTranspose", {&x, &w}, Q({2.0F}, {offset}), reals);
    }
  }
}

// Averages, quotients, slopes: rationals that are no sums of scaled integers.
TEST(OffsetBeforeRounding, HoldsForOtherRationals) {
  const Tensor x = Int8({1, 1, 1, 256}, AllOf8Bits(), Q({1.0F}, {0}));
  const std::vector<mpq_class> reals = TextbookReals(x);
  std::vector<mpq_class> averages, halves, slopes;
  for (std::size_t i = 0; i + 1 < reals.size(); i += 2) {
    averages.emplace_back((reals[i] + reals[i + 1]) / 2);
  }
  const Tensor divisor = Int8({1}, {2}, Q({1.0F}, {0}));
  const Tensor slope = Int8({1}, {-3}, Q({0.5F}, {0}));
  for (const mpq_class& real : reals) {
    halves.emplace_back(real / 2);
    slopes.emplace_back(real < 0 ? mpq_class(real * mpq_class(-3, 2)) : real);
  }
  for (const std::int32_t offset : {-7, 4, 5}) {
    Expect("AveragePool", {&x}, Q({1.0F}, {offset}), averages,
           {Attribute::Ints("kernel_shape", {1, 2}), Attribute::Ints("strides", {1, 2})});
    Expect("Div", {&x, &divisor}, Q({1.0F}, {offset}), halves);
    Expect("PRelu", {&x, &slope}, Q({1.0F}, {offset}), slopes);
  }
}

// A tie that only evaluation to 8192 bits finds: sigmoid(0) and softmax of two equal values are
// 1/2.
TEST(OffsetBeforeRounding, HoldsForFunctionsWithoutAClosedForm) {
  const Tensor zero = Int8({1, 2}, {0, 0}, Q({1.0F}, {0}));
  const std::vector<mpq_class> halves = {mpq_class(1, 2), mpq_class(1, 2)};
  for (const std::int32_t offset : {-7, 4, 5}) {
    Expect("Sigmoid", {&zero}, Q({1.0F}, {offset}), halves);
    Expect("Softmax", {&zero}, Q({1.0F}, {offset}), halves);
  }
}

// FLOAT, by the operator of stock ONNX and as an input of a model.
TEST(OffsetBeforeRounding, HoldsForFloats) {
  std::vector<float> values;
  for (int i = -300; i <= 300; ++i) values.push_back(static_cast<float>(i) * 0.25F);
  const Dims dims = {static_cast<std::int64_t>(values.size())};
  const Tensor x = Float(dims, values);
  const Tensor scale = Float({}, {0.5F});
  for (const std::int64_t offset : {-7, 4, 5}) {
    const Tensor zero_point = Stored(ElementType::kInt8, {}, {offset});
    const auto y = RunWith("QuantizeLinear", {&x, &scale, &zero_point}, {ElementType::kInt8});
    ASSERT_TRUE(y.has_value()) << y.error().message;
    format::TensorType type;
    type.elem_type = ElementType::kInt8Q;
    type.quantization = Q({0.5F}, {static_cast<std::int32_t>(offset)});
    const auto input = QuantizeInput(x, type, "exact", With());
    ASSERT_TRUE(input.has_value()) << input.error().message;
    Values expected;
    for (const float value : values) {
      expected.push_back(Added(mpq_class(static_cast<double>(value)), 0.5, offset));
    }
    EXPECT_EQ(format::UnpackIntegers(*y), expected);
    EXPECT_EQ(format::UnpackIntegers(*input), expected);
  }
}

// The proof of the proposal's section Semantics, over a grid of quotients in quarters.
TEST(OffsetBeforeRounding, DiffersFromTheCurrentSpecOnTiesWithAnOddOffsetOnly) {
  for (std::int64_t quarters = -400; quarters <= 400; ++quarters) {
    mpq_class quotient(static_cast<long>(quarters), 4);
    quotient.canonicalize();
    for (std::int64_t offset = -20; offset <= 20; ++offset) {
      const std::int64_t difference =
          Added(quotient, 1, offset) - TextbookQuantize(quotient, 1, offset, -128, 127);
      const bool tie = quarters % 4 == 2 || quarters % 4 == -2;
      EXPECT_EQ(std::abs(difference), tie && offset % 2 != 0 ? 1 : 0) << quarters << " " << offset;
    }
  }
}

// The other rows describe systems: the feature leaves them alone.
TEST(OffsetBeforeRounding, ChangesTheNormativeArithmeticAlone) {
  for (const Arithmetic& row : Arithmetics()) {
    if (row.name == "exact") continue;
    EXPECT_EQ(*FindArithmetic(row.name, With()), &row) << row.name;
  }
  EXPECT_NE(*FindArithmetic("exact", With()), *FindArithmetic("exact"));
}

}  // namespace
}  // namespace qtx::reference::testing
