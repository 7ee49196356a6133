#include "qtx/spec/formula.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "temporary_folder.h"

namespace qtx::spec {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kCast =
    "---\nspec: exact.S1\nop: {type: Cast, attributes: {to: int8q}}\n"
    "inputs: {x: {type: int4q, scale: [0.25]}}\n"
    "expect: {y: {type: int8q, scale: [0.5], offset: [3]}}\n";

std::string Text(const Error& error) { return error.where + ": " + error.message; }

// What comes of a block: how many elements agree, the first difference, or the error.
std::string Outcome(const std::string& expressions, const std::string& cases = kCast) {
  const auto document =
      ParseDocument("\n```formula\n" + expressions + "\n" + cases + "```\n", "a.md");
  if (!document) return Text(document.error());
  const auto formulas = ReadFormulas(*document);
  if (!formulas) return Text(formulas.error());
  std::string outcome;
  for (const Formula& formula : *formulas) {
    const auto text = TextAround(*document);
    if (!text) return Text(text.error());
    const auto runs = RunFormula(formula, *text);
    if (!runs) return Text(runs.error());
    for (const FormulaRun& run : *runs) {
      outcome += run.difference.empty() ? std::to_string(run.elements) : run.difference;
      if (run.exhaustive) outcome += " all";
    }
  }
  return outcome;
}

TEST(RunFormula, EvaluatesAllStoredValues) {
  EXPECT_EQ(Outcome("stored = clamp(half_even(x / scale) + offset, quant_min, quant_max)"),
            "16 all");
  EXPECT_EQ(Outcome("y = x"), "16 all");
}

// -7 / 4 over 1/2 is -3.5: to even -4, away from zero -4; -5 / 4 is -2.5: to even -2, away -3.
TEST(RunFormula, NamesTheFirstDifference) {
  EXPECT_EQ(Outcome("stored = clamp(half_away(x / scale) + offset)"),
            "at [3], x = -5 (real -5/4): the formula gives 0, the reference 1 in exact all");
  EXPECT_THAT(Outcome("stored = clamp(half_even(x / scale + offset))"),
              HasSubstr("the formula gives"));
}

TEST(RunFormula, KnowsEveryPartOfAnOperand) {
  EXPECT_EQ(Outcome("real = x_scale * (x_stored - x_offset)\n"
                    "y_stored = max(y_min, min(y_max, half_even(real / y_scale) + y_offset))"),
            "16 all");
}

// quantization.S7: the reals of 1 and 2 are 6 and 7.
TEST(RunFormula, AddsTheBaseOfAConstant) {
  EXPECT_EQ(Outcome("y = x",
                    "---\nspec: a.S1\nop: {type: Cast, attributes: {to: float}}\n"
                    "inputs: {x: {type: int8q, shape: [2], scale: [1.0], data: [1, 2], "
                    "initializer: true, base_levels: [{value: [5.0]}]}}\n"
                    "expect: {y: {type: float}}\n"),
            "2 all");
}

TEST(RunFormula, SumsOverIndices) {
  // Stored 0 to 15 less 8, two by two.
  const std::string product =
      "---\nspec: mat_mul.S1\nop: {type: MatMul}\n"
      "inputs: {a: {type: int4q, shape: [4, 4], scale: [1.0]}, b: {type: int4q, shape: [4, 4], "
      "scale: [1.0]}}\nexpect: {y: {type: int16q, scale: [1.0]}}\n";
  EXPECT_EQ(Outcome("y[i, j] = sum(k < size(a, 1): a[i, k] * b[k, j])", product), "16 all");
  EXPECT_EQ(Outcome("y[i, j] = fold(k < 4, s = 0: s + a[i, k] * b[k, j])", product), "16 all");
  EXPECT_THAT(Outcome("y[i, j] = sum(k < 5: a[i, k] * b[k, j])", product),
              HasSubstr("a.md:3:22: found index [0,4] of a, whose shape is [4,4]"));
  EXPECT_THAT(Outcome("y[i, j] = a[i]", product), HasSubstr("found 1 indices, expected 2"));
  EXPECT_THAT(Outcome("y[i, i] = a[i, i]", product), HasSubstr("found index 'i' twice"));
}

TEST(RunFormula, SaysWhatHasNoMeaning) {
  EXPECT_THAT(Outcome("y = x + 0 / x"),
              HasSubstr("a.md:3:11: found a division of 0 by zero (at [8])"));
  EXPECT_THAT(Outcome("y = z"), HasSubstr("a.md:3:5: found 'z', expected a name that is defined"));
  EXPECT_THAT(Outcome("y = f(x)"), HasSubstr("a.md:3:5: found function 'f', expected one of abs"));
  EXPECT_THAT(Outcome("y = f(x)\nf(a) = a"), HasSubstr("found function 'f'"));
  EXPECT_THAT(Outcome("f(a) = f(a)\ny = f(x)"), HasSubstr("a.md:3:8: found function 'f'"));
  EXPECT_THAT(Outcome("f(a) = a\ny = f(x, 1)"), HasSubstr("found 2 arguments of f, expected 1"));
  EXPECT_THAT(Outcome("abs(a) = a\ny = abs(x)"), HasSubstr("'abs' is defined already"));
  EXPECT_THAT(Outcome("y = x > 1"), HasSubstr("found a condition, expected a number"));
  EXPECT_THAT(Outcome("y = if(x, 1, 2)"), HasSubstr("found a tensor, expected a condition"));
  EXPECT_THAT(Outcome("z = x"), HasSubstr("a.md:2: no line of the formula defines output 0"));
  EXPECT_THAT(Outcome("y = x\nstored = x_stored"), HasSubstr("expected one line that defines y"));
  EXPECT_THAT(Outcome("y = x << 1 / 2"), HasSubstr("expected an integer of at most 2^40"));
  EXPECT_THAT(Outcome("y = choose(2, x, x)"), HasSubstr("found choice 2 of 2"));
}

TEST(RunFormula, EndsWhateverTheTextSays) {
  EXPECT_THAT(Outcome("y = sum(i < 2^20, j < 2^20: 1)"), HasSubstr("steps for an element"));
  EXPECT_THAT(Outcome("y = x + sum(i < 2^20, j < 2^20, k < 0: 1)"),
              HasSubstr("steps for an element"));
  EXPECT_THAT(Outcome("y = fold(i < 100, s = 3: s * s)"), HasSubstr("bits"));
  EXPECT_THAT(Outcome("y = 2^(2^(2^(2^(2^2))))"), HasSubstr("the formula gives"));
  std::string doubling = "f0(a) = a + a\n";
  for (int i = 1; i < 100; ++i) {
    const std::string before = std::to_string(i - 1);
    doubling += "f" + std::to_string(i) + "(a) = f" + before + "(a) + f" + before + "(a)\n";
  }
  EXPECT_THAT(Outcome(doubling + "y = f99(x)"), HasSubstr("steps for an element"));
  std::string chain = "f0(a) = a\n";
  for (int i = 1; i < 600; ++i) {
    chain += "f" + std::to_string(i) + "(a) = f" + std::to_string(i - 1) + "(a)\n";
  }
  EXPECT_THAT(Outcome(chain + "y = f599(x)"), HasSubstr("expected at most"));
  // Never rational, and equal: no number of bits tells.
  EXPECT_THAT(Outcome("y = floor(exp(x + 1) - exp(x + 1))"), HasSubstr("bits do not decide"));
}

// Beyond 2^16384 a value is known to be large, not which integer it is.
TEST(RunFormula, NamesNoIntegerItDoesNotKnow) {
  EXPECT_THAT(Outcome("y = 2^60000 mod 7"), HasSubstr("bits do not decide"));
  EXPECT_THAT(Outcome("y = 2^60000 - floor(2^60000)"), HasSubstr("bits do not decide"));
  EXPECT_THAT(Outcome("y = wrap(half_even(exp(50000)), 8)"), HasSubstr("expected an integer"));
  EXPECT_EQ(Outcome("y = if(saturate(floor(exp(50000)), 8) = 127, x, 0)"), "16 all");
  EXPECT_EQ(Outcome("y = if(clamp(half_even(-exp(50000)), -8, 7) = -8, x, 0)"), "16 all");
  EXPECT_EQ(Outcome("y = if(max(exp(x), exp(x + 1)) > min(exp(x), 1), x, 0)"), "16 all");
}

TEST(ReadFormulas, WantsACaseOfOneClause) {
  EXPECT_EQ(Outcome("y = x", ""),
            "a.md:2: found a formula alone, expected a line --- and what it "
            "is evaluated on");
  EXPECT_THAT(Outcome("y = x", "---\n"), HasSubstr("a.md:"));
  EXPECT_THAT(Outcome("y = x", "---\nspec: nonsense\n"), HasSubstr("a.md:5: spec"));
  EXPECT_THAT(Outcome("y = x",
                      "---\nspec: abs.S1\nop: {type: Abs}\ninputs: {x: {typ: int8q}}\n"
                      "expect: {y: {type: int8q, scale: [1.0]}}\n"),
              HasSubstr("a.md:7:"));
  std::string other = kCast;
  EXPECT_THAT(Outcome("y = x", std::string(kCast) + other.replace(other.find("S1"), 2, "S2")),
              HasSubstr("found clause exact.S2, expected that of the formula, exact.S1"));
}

TEST(ReadFormulas, SaysWhenTheReferenceRefusesTheCase) {
  EXPECT_THAT(Outcome("y = x",
                      "---\nspec: abs.S1\nop: {type: Abs}\n"
                      "inputs: {x: {type: int8q, scale: [1.0]}}\n"
                      "expect: {y: {type: int8}}\n"),
              StartsWith("a.md:5 @exact"));
}

class UsedFormulas : public conformance::TemporaryFolder {};

TEST_F(UsedFormulas, ComeFromTheChaptersOfTheText) {
  Write("arithmetic/two.md",
        "**two.S1** Twice.\n\n```formula\ntwice(a) = a + a\nstored = 1\n---\nspec: two.S1\n"
        "op: {type: Cast}\n```\n");
  Write("format/none.md", "Nothing.\n");
  Write("arithmetic/exact.md", ReadDocument(QTX_SOURCE_DIR "/spec/arithmetic/exact.md")->markdown);
  std::string cast = kCast;
  cast.replace(cast.find("exact.S1"), 8, "one.S1");
  Write("ops/one.md", "```formula\nuse two.S1\ny = twice(x) / 2\n" + cast + "```\n");
  Write("ops/none.md", "```formula\nuse two.S2\ny = x\n" + cast + "```\n");
  const auto run = [this](const std::string& name) {
    const auto document = ReadDocument(folder() + "/" + name);
    const auto text = TextAround(*document);
    return RunFormula(ReadFormulas(*document)->front(), *text);
  };
  const auto runs = run("ops/one.md");
  ASSERT_TRUE(runs.has_value()) << Text(runs.error());
  EXPECT_EQ(runs->front().difference, "");
  EXPECT_THAT(Text(run("ops/none.md").error()),
              HasSubstr("none.md:2:1: found no formula of two.S2"));
}

std::string Html(const std::string& text) {
  const auto math = FormulaToHtml(text);
  return math.has_value() ? *math : Text(math.error());
}

TEST(FormulaToHtml, SetsTheUsualSigns) {
  EXPECT_THAT(Html("y = a / b^2"),
              HasSubstr("<mfrac><mrow><mi>a</mi></mrow><mrow><msup><mi>b</mi><mrow><mn>2</mn>"));
  EXPECT_THAT(Html("y = sum(k < n: x[k])"), HasSubstr("<munder><mo>\u2211</mo>"));
  EXPECT_THAT(Html("y = sqrt(x_scale)"),
              HasSubstr("<msqrt><msub><mi>x</mi><mi>scale</mi></msub></msqrt>"));
  EXPECT_THAT(Html("y = if(x >= 0, x, 0)  # the ramp"), HasSubstr("<mtext>otherwise</mtext>"));
  EXPECT_THAT(Html("y = (a - (b - c))"), HasSubstr("<mo>(</mo><mrow><mi>b</mi>"));
  EXPECT_THAT(Html("use tflite.S1\ny = half_even(x)"), HasSubstr("<mi>half_even</mi>"));
  EXPECT_EQ(Html("y = 1 +"), "1:8: found the end of the line, expected a value");
}

TEST(FormulaToHtml, EscapesWhatItShowsAndLeavesTheCasesOut) {
  const std::string math =
      Html("y = if(x < 1 and x > 0, x, 2)  # <script> & \"more\"\n---\nspec: a");
  EXPECT_THAT(math, HasSubstr("&lt;script&gt; &amp; &quot;more&quot;"));
  EXPECT_THAT(math, testing::Not(HasSubstr("spec")));
}

// Two products of 20 letters each do not fit a line of a telephone.
TEST(FormulaToHtml, MayBreakALongLineBetweenItsOperands) {
  EXPECT_THAT(Html("y = a + b"),
              HasSubstr("</math><math><mrow><mi>a</mi><mo form=\"infix\">+</mo>"));
  EXPECT_THAT(Html("y = a * long_name_factor + b * long_name_other"),
              HasSubstr("<mi>long_name_factor</mi></mrow></math><math><mo form=\"infix\">+</mo>"));
  EXPECT_THAT(Html("y = clamp(first_of_the_arguments, second_of_the_arguments)"),
              HasSubstr("<mo form=\"infix\">,</mo></math><math><mi>second"));
  EXPECT_THAT(Html("y = if(a > first_of_the_limits, 1, if(a < 0, 2, 3))"),
              testing::ContainsRegex("class=\"choice\">.*branch.*branch.*branch.*otherwise"));
}

TEST(FormulaToHtml, KeepsAFractionWithinALongFractionInBrackets) {
  EXPECT_THAT(Html("y = first_of_the_operands / (second_of_the_operands / third_of_the_operands)"),
              HasSubstr("<mo form=\"infix\">/</mo><mo stretchy=\"false\">(</mo>"));
}

TEST(FormulaToHtml, SetsACommentApartAsText) {
  EXPECT_THAT(Html("y = x  # the ramp"),
              HasSubstr("</math> <span class=\"comment\">the ramp</span>"));
}

// Every element that opens closes in its order, and no text holds a bare < or &.
bool IsWellFormed(const std::string& xml) {
  std::vector<std::string> open;
  for (std::size_t at = 0; at < xml.size();) {
    if (xml[at] != '<') {
      if (xml[at] == '&' && xml.find(';', at) > at + 5) return false;
      ++at;
      continue;
    }
    const std::size_t end = xml.find('>', at);
    if (end == std::string::npos) return false;
    const std::string tag = xml.substr(at + 1, end - at - 1);
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    } else {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
    at = end + 1;
  }
  return open.empty();
}

TEST(FormulaToHtml, IsWellFormed) {
  for (const char* text :
       {"y = if(a < b, if(a = c, 1, 2), 3)", "y = fold(k < n, s = 0: s + k)", "y = -a ^ -b",
        "y[i, j] = max(k < n, l < m: x[k, l]) mod 2 >> 3", "f(a, b) = floor(a) * ceiling(b)",
        "y = not_a + infinity - exp(x) / abs(x)", "y = if(not a < b, 1, 2) # a < b & c"}) {
    const auto math = FormulaToHtml(text);
    ASSERT_TRUE(math.has_value()) << text << math.error().message;
    EXPECT_TRUE(IsWellFormed(*math)) << *math;
  }
}

}  // namespace
}  // namespace qtx::spec
