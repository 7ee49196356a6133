#include "qtx/formula/computation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "qtx/formula/text.h"

namespace qtx::formula {
namespace {

using format::ElementType;
using testing::ElementsAre;
using testing::HasSubstr;

format::Tensor Ints(format::Dims dims, std::vector<std::int64_t> values) {
  format::Tensor tensor = *format::MakeTensor(ElementType::kInt64, std::move(dims));
  format::PackIntegers(values, tensor);
  return tensor;
}

// INT8Q of one scale.
format::Tensor Quantized(format::Dims dims, std::vector<std::int64_t> values, float scale,
                         std::int32_t offset) {
  format::Quantization q;
  q.scale = {scale};
  q.offset = {offset};
  format::Tensor tensor = *format::MakeTensor(ElementType::kInt8Q, std::move(dims), q);
  format::PackIntegers(values, tensor);
  return tensor;
}

// The formulas of an operator T with inputs x, b and variadic v, outputs y and z, and of the
// arithmetic a; `exact` takes a result for the stored value.
class Formulas {
 public:
  explicit Formulas(const std::string& of_operator, const std::string& of_arithmetic = "") {
    const auto chapter = [](const std::string& title, const std::string& formula) {
      return title + "\n\n**t.S1** Text.\n\n" + formula;
    };
    const std::string open = "```formula\n", close = "\n```\n";
    std::string arithmetic;
    if (!of_arithmetic.empty()) arithmetic = open + of_arithmetic + close;
    text_ = Text::Parse(std::vector<Chapter>{
        {"ops/t.md", chapter("# T", open + of_operator + close)},
        {"arithmetic/exact.md", chapter("# Arithmetic `exact`", open + "result(v) = v" + close)},
        {"arithmetic/a.md", chapter("# Arithmetic `a`", arithmetic)}});
    schema_.op_type = "T";
    schema_.inputs = {{"x"}, {"b", true}, {"v", true, true}};
    schema_.outputs = {{"y"}, {"z", true}};
    schema_.attributes = {{"axis", format::AttributeType::kInt, std::int64_t{-1}},
                          {"sizes", format::AttributeType::kInts}};
    node_.op_type = "T";
  }

  format::Node& node() { return node_; }

  // The elements of y, or the error.
  std::vector<std::int64_t> Run(std::vector<const format::Tensor*> inputs,
                                const std::string& arithmetic = "exact", bool with_z = false) {
    error_.clear();
    z_.clear();
    if (!text_) {
      error_ = text_.error().where + ": " + text_.error().message;
      return {};
    }
    Call call;
    call.node = &node_;
    call.schema = &schema_;
    call.opset = 17;
    call.inputs = std::move(inputs);
    call.outputs.push_back({true, ElementType::kInt64});
    if (with_z) call.outputs.push_back({true, ElementType::kInt64});
    const auto outputs = Compute(*text_, call, arithmetic);
    if (!outputs) {
      error_ = outputs.error().where + ": " + outputs.error().message;
      clause_ = outputs.error().clause;
      return {};
    }
    dims_ = (*outputs)[0].dims;
    if (with_z) z_ = format::UnpackIntegers((*outputs)[1]);
    return format::UnpackIntegers((*outputs)[0]);
  }

  const std::string& error() const { return error_; }
  const std::string& clause() const { return clause_; }
  const format::Dims& dims() const { return dims_; }
  const std::vector<std::int64_t>& z() const { return z_; }

 private:
  Result<Text> text_ = Error{ErrorCode::kInvalid, "", "no text"};
  format::OpSchema schema_;
  format::Node node_;
  std::string error_, clause_;
  format::Dims dims_;
  std::vector<std::int64_t> z_;
};

TEST(Compute, ReadsElementsByListsOfAnyRank) {
  // A transposed matrix, and the same of a matrix in a batch of one.
  const std::string text =
      "n = rank(x)\nshape(y) = [list(i < n - 2: size(x, i))..., size(x, n - 1), size(x, n - 2)]\n"
      "y[p..., i, j] = x[p..., j, i]";
  Formulas formulas(text);
  const format::Tensor matrix = Ints({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(formulas.Run({&matrix}), ElementsAre(1, 4, 2, 5, 3, 6)) << formulas.error();
  EXPECT_EQ(formulas.dims(), (format::Dims{3, 2}));
  const format::Tensor batch = Ints({1, 2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(formulas.Run({&batch}), ElementsAre(1, 4, 2, 5, 3, 6)) << formulas.error();
  EXPECT_EQ(formulas.dims(), (format::Dims{1, 3, 2}));
}

TEST(Compute, SumsOverCoordinatesAndLists) {
  // Windows of 2 x 2, element by element of lists: 1+2+4+5, 2+3+5+6.
  Formulas formulas("shape(y) = shape(x) - sizes + 1\ny[p...] = sum(k... < sizes: x[(p + k)...])");
  formulas.node().attributes = {format::Attribute::Ints("sizes", {2, 2})};
  const format::Tensor x = Ints({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(formulas.Run({&x}), ElementsAre(12, 16)) << formulas.error();
  EXPECT_EQ(formulas.dims(), (format::Dims{1, 2}));
}

TEST(Compute, KnowsWhatTheNodeGives) {
  Formulas formulas("axis_ = axis + rank(x)\ny = x + if(given(b), b, 0) + 10 * axis_");
  const format::Tensor x = Ints({2}, {1, 2}), b = Ints({1}, {5});
  EXPECT_THAT(formulas.Run({&x}), ElementsAre(1, 2)) << formulas.error();
  EXPECT_THAT(formulas.Run({&x, &b}), ElementsAre(6, 7));
  formulas.node().attributes = {format::Attribute::Int("axis", 1)};
  EXPECT_THAT(formulas.Run({&x}), ElementsAre(21, 22));
  Formulas absent("y = b");
  absent.Run({&x});
  EXPECT_THAT(absent.error(), HasSubstr("found 'b', which the node does not give"));
}

TEST(Compute, TakesSeveralInputsForOneName) {
  Formulas formulas("y = x + sum(k < count(v): (k + 1) * v[k])");
  const format::Tensor x = Ints({2}, {1, 2}), u = Ints({1}, {10}), w = Ints({2}, {3, 4});
  // 1 + 10 + 2 * 3, 2 + 10 + 2 * 4.
  EXPECT_THAT(formulas.Run({&x, nullptr, &u, &w}), ElementsAre(17, 20)) << formulas.error();
}

TEST(Compute, DefinesSeveralOutputsAtTheirOwnCoordinates) {
  // The greatest of each row and its position.
  Formulas formulas(
      "best(i) = max(j < size(x, 1): x[i, j])\n"
      "shape(y) = [size(x, 0)]\ny[i] = best(i)\nshape(z) = [size(x, 0)]\n"
      "z[r] = min(j < size(x, 1): if(x[r, j] = best(r), j, size(x, 1)))");
  const format::Tensor x = Ints({2, 3}, {4, 9, 9, 7, 1, 2});
  EXPECT_THAT(formulas.Run({&x}, "exact", true), ElementsAre(9, 7)) << formulas.error();
  EXPECT_THAT(formulas.z(), ElementsAre(1, 0));
}

TEST(Compute, FoldsLists) {
  // Fibonacci numbers: a pair that goes on.
  Formulas formulas("y = fold(k < x, s = [0, 1]: [s[1], s[0] + s[1]])[0]");
  const format::Tensor x = Ints({4}, {0, 1, 6, 10});
  EXPECT_THAT(formulas.Run({&x}), ElementsAre(0, 1, 8, 55)) << formulas.error();
}

TEST(Compute, FindsTheElementOfARowMajorNumber) {
  Formulas formulas("shape(y) = sizes\ny[p...] = x[coordinates(row_major(p, sizes), shape(x))...]");
  formulas.node().attributes = {format::Attribute::Ints("sizes", {3, 2})};
  const format::Tensor x = Ints({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(formulas.Run({&x}), ElementsAre(1, 2, 3, 4, 5, 6)) << formulas.error();
  EXPECT_EQ(formulas.dims(), (format::Dims{3, 2}));
}

TEST(Compute, GivesTheCodesOfATextsBytes) {
  Formulas formulas("c = codes(\"a ,Z\")\nshape(y) = [length(c)]\ny[i] = c[i]");
  const format::Tensor x = Ints({1}, {1});
  EXPECT_THAT(formulas.Run({&x}), ElementsAre(97, 32, 44, 90)) << formulas.error();
  Formulas of_number("y = codes(1)[0]");
  of_number.Run({&x});
  EXPECT_THAT(of_number.error(), HasSubstr("found a number, expected a text"));
}

// A function of one name with the same arguments is computed once, but not where it reads the
// element that broadcasts to that of the result.
TEST(Compute, RemembersNoElementOfAnother) {
  Formulas formulas("twice(v) = v + v\ny = twice(x)");
  const format::Tensor x = Ints({3}, {1, 2, 3});
  EXPECT_THAT(formulas.Run({&x}), ElementsAre(2, 4, 6)) << formulas.error();
}

TEST(Compute, TakesTheFirstFormulaThatHolds) {
  const std::string text = "when rank(x) = 1\ny = x + 1\n```\n\n```formula\ny = x + 2";
  Formulas formulas(text);
  const format::Tensor vector = Ints({1}, {1}), matrix = Ints({1, 1}, {1});
  EXPECT_THAT(formulas.Run({&vector}), ElementsAre(2)) << formulas.error();
  EXPECT_THAT(formulas.Run({&matrix}), ElementsAre(3));
  Formulas none("when rank(x) = 3\ny = x");
  none.Run({&vector});
  EXPECT_THAT(none.error(), HasSubstr("no formula says what T computes"));
}

TEST(Compute, RefusesWhatBreaksARequirement) {
  Formulas formulas("require C4: all(k < size(x, 0): x[k] >= 0)\ny = x");
  const format::Tensor x = Ints({2}, {1, 2}), below = Ints({2}, {1, -2});
  EXPECT_THAT(formulas.Run({&x}), ElementsAre(1, 2)) << formulas.error();
  formulas.Run({&below});
  EXPECT_EQ(formulas.clause(), "t.C4");
}

TEST(Compute, ReadsOtherFormulasAsTheArithmeticSays) {
  // x has the stored values 5, 9, the scale 1/2 and the offset 3: reals 1 and 3.
  const format::Tensor x = Quantized({2}, {5, 9}, 0.5F, 3);
  const std::string own = "half = x / 2\ny = 3 * half + 1";
  Formulas exact(own);
  exact.Run({&x});
  EXPECT_THAT(exact.error(), HasSubstr("found 5/2, expected a value of INT64"));
  // Each operation rounds down: 3 * 0 + 1, 3 * 1 + 1.
  Formulas rounding(own, "otherwise exact\noperation(v) = floor(v)");
  EXPECT_THAT(rounding.Run({&x}, "a"), ElementsAre(1, 4)) << rounding.error();
  // Integers: 3 * 1 + 1, 3 * 3 + 1, and twice of that.
  Formulas reading(own,
                   "otherwise exact\noperand(stored, scale, offset) = stored - offset\n"
                   "result(v) = 2 * v");
  EXPECT_THAT(reading.Run({&x}, "a"), ElementsAre(8, 20)) << reading.error();
}

TEST(Compute, LeavesOperationsOnWhatIsNoRealOperandExact) {
  // 5 / 2 is of integers; each operation on reals rounds down.
  const format::Tensor x = Ints({1}, {5});
  const format::Tensor b = Quantized({1}, {5}, 1.0F, 0);
  const std::string down = "otherwise exact\noperation(v) = floor(v)";
  Formulas integers("y = 2 * (x / 2)", down);
  EXPECT_THAT(integers.Run({&x}, "a"), ElementsAre(5)) << integers.error();
  Formulas reals("shape(y) = shape(x)\ny = 2 * (b / 2)", down);
  EXPECT_THAT(reals.Run({&x, &b}, "a"), ElementsAre(4)) << reals.error();
  Formulas listed("shape(y) = shape(x)\ny = 2 * (values(b)[0] / 2)", down);
  EXPECT_THAT(listed.Run({&x, &b}, "a"), ElementsAre(5)) << listed.error();
}

TEST(Compute, AddsTheBaseOfAnElement) {
  // Reals 0.5 * (5 - 3) + 2 and 0.5 * (9 - 3) + 2.
  format::Tensor x = Quantized({2}, {5, 9}, 0.5F, 3);
  format::BlockFactors base;
  base.value = {2.0F};
  x.quantization->base_levels = {base};
  Formulas formulas("shape(y) = shape(x)\ny[p...] = 10 * x[p...] + base(x, p...)");
  EXPECT_THAT(formulas.Run({&x}), ElementsAre(32, 52)) << formulas.error();
}

TEST(Compute, LetsAnArithmeticDefineTheOutputAnew) {
  const format::Tensor x = Quantized({2}, {5, 9}, 0.5F, 3);
  Formulas formulas(
      "twice = 2 * x[p...]\nshape(y) = shape(x)\ny[p...] = twice",
      "otherwise exact\nfor T(u)\nwhen is_quantized(u)\noperand(stored, scale, offset) = stored\n"
      "y_stored = 100 * twice + u_offset");
  EXPECT_THAT(formulas.Run({&x}, "a"), ElementsAre(1003, 1803)) << formulas.error();
  const format::Tensor plain = Ints({2}, {5, 9});
  formulas.Run({&plain}, "a");
  EXPECT_EQ(formulas.error(), "");
}

TEST(Compute, KnowsWhatANodeWas) {
  Formulas formulas("y = x", "otherwise exact\nfor T(x)\nwhen origin_op(\"f\") = \"O\"\ny = 2 * x");
  const format::Tensor x = Ints({2}, {1, 2});
  EXPECT_THAT(formulas.Run({&x}, "a"), ElementsAre(1, 2)) << formulas.error();
  formulas.node().origin.emplace();
  formulas.node().origin->framework = "f";
  formulas.node().origin->op_type = "O";
  EXPECT_THAT(formulas.Run({&x}, "a"), ElementsAre(2, 4)) << formulas.error();
  formulas.node().origin->framework = "g";
  EXPECT_THAT(formulas.Run({&x}, "a"), ElementsAre(1, 2)) << formulas.error();
}

TEST(Compute, KnowsAnIntegerOfWhatANodeWas) {
  Formulas formulas("y = x", "otherwise exact\nfor T(x)\ny = x + origin_integer(\"f\", \"n\", 5)");
  const format::Tensor x = Ints({2}, {1, 2});
  EXPECT_THAT(formulas.Run({&x}, "a"), ElementsAre(6, 7)) << formulas.error();
  formulas.node().origin.emplace();
  formulas.node().origin->framework = "f";
  formulas.node().origin->attributes = {format::Attribute::Float("n", 3)};
  EXPECT_THAT(formulas.Run({&x}, "a"), ElementsAre(6, 7)) << formulas.error();
  formulas.node().origin->attributes = {format::Attribute::Int("n", 3)};
  EXPECT_THAT(formulas.Run({&x}, "a"), ElementsAre(4, 5)) << formulas.error();
  formulas.node().origin->framework = "g";
  EXPECT_THAT(formulas.Run({&x}, "a"), ElementsAre(6, 7)) << formulas.error();
}

// spec/README.md, "What a formula holds for": without `for`, for all operators.
TEST(Compute, RefusesWhatAnArithmeticDoesNotTake) {
  Formulas formulas("y = x", "otherwise exact\nrequire length(node_scales) > 0");
  const format::Tensor x = Ints({2}, {1, 2});
  formulas.Run({&x}, "a");
  EXPECT_THAT(formulas.error(), HasSubstr("does not keep"));
}

TEST(Compute, SaysWhatHasNoMeaning) {
  const format::Tensor x = Ints({2}, {1, 2});
  const auto error = [&](const std::string& text) {
    Formulas formulas(text);
    formulas.Run({&x});
    return formulas.error();
  };
  EXPECT_THAT(error("y[i] = x[i + 1]"), HasSubstr("ops/t.md:6:8: found index [2] of"));
  EXPECT_THAT(error("y[i] = [1, 2][3]"), HasSubstr("found index [3] of a list of 2"));
  EXPECT_THAT(error("y[i] = [1, 2] + [1, 2, 3]"), HasSubstr("found lists of 2 and 3 elements"));
  EXPECT_THAT(error("y[i] = \"a\" + 1"), HasSubstr("found a text, expected a number"));
  EXPECT_THAT(error("y[i] = if(i, 1, 2)"), HasSubstr("found a number, expected a condition"));
  EXPECT_THAT(error("y[i] = w"), HasSubstr("found 'w', expected a name"));
  EXPECT_THAT(error("use u.S1\ny[i] = 1"), HasSubstr("found no formula of u.S1"));
  EXPECT_THAT(error("shape(y) = 3\ny[i] = 1"), HasSubstr("expected a list of sizes"));
  EXPECT_THAT(error("y[i] = \"a"), HasSubstr("closes the text on its line"));
}

TEST(Text, OfThisVersionParses) {
  const auto text = Text::Embedded();
  ASSERT_TRUE(text.has_value()) << text.error().where << ": " << text.error().message;
  EXPECT_EQ(text->Arithmetics().front(), "exact");
}

}  // namespace
}  // namespace qtx::formula
