// Overlays: what they replace and add, and which are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "qtx/formula/interpreter.h"
#include "qtx/formula/text.h"

namespace qtx::formula::overlay_test {
namespace {

using testing::ElementsAre;

constexpr const char* kExact = "o/arithmetic/exact.md";

std::string Block(const std::string& formula) { return "\n\n```formula\n" + formula + "\n```\n"; }

std::string ErrorOf(const std::vector<Chapter>& chapters) {
  const auto text = Text::WithOverlay(chapters);
  return text ? "no error" : text.error().where + ": " + text.error().message;
}

TEST(Overlay, ReplacesTheFormulasOfAClauseInTheirPlace) {
  const auto text = Text::WithOverlay(
      std::vector<Chapter>{{kExact, "**exact.S1** Down." + Block("rounded(v) = floor(v)")}});
  ASSERT_TRUE(text.has_value()) << text.error().message;
  const auto formulas = text->Of("exact.S1");
  ASSERT_EQ(formulas.size(), 1U);
  EXPECT_EQ(formulas[0]->where, kExact);
  EXPECT_EQ(formulas[0]->of, "exact");  // the title is that of the text's chapter
  EXPECT_TRUE(formulas[0]->of_arithmetic);
  EXPECT_EQ(text->InChapter("exact", true)[0], formulas[0]);
  ASSERT_EQ(text->changes().size(), 1U);
  EXPECT_FALSE(text->changes()[0].added);
}

struct Refused {
  const char* what;
  std::vector<Chapter> chapters;
  const char* says;
};

TEST(Overlay, OfOneMistakeHasOneLineWithItsPlace) {
  const std::string one = Block("rounded(v) = floor(v)");
  const std::vector<Refused> all = {
      {"a clause that the text does not state",
       {{kExact, "\n**exact.S99** Down." + one}},
       "o/arithmetic/exact.md:2: found exact.S99, which the text does not state, expected one that "
       "it does, or the next one, exact.S11"},
      {"a clause stated twice",
       {{kExact, "**exact.S1** Down." + one + "\n**exact.S1** Up." + one}},
       "o/arithmetic/exact.md:7: found exact.S1, which o/arithmetic/exact.md:1 states already"},
      {"a clause of another chapter",
       {{kExact, "**conv.S1** Down." + one}},
       "o/arithmetic/exact.md:1: found conv.S1, a clause of ops/conv.md, expected one of "
       "arithmetic/exact.md"},
      {"prose alone",
       {{kExact, "**exact.S1** Down.\n"}},
       "o/arithmetic/exact.md:1: found no formula of exact.S1, expected one: an overlay changes "
       "what formulas say"},
      {"no clause",
       {{kExact, "Down.\n"}},
       "o/arithmetic/exact.md: found neither a clause nor a title '# Element type `NAME`'"},
      {"a formula that does not parse",
       {{kExact, "**exact.S1** Down." + Block("rounded(v) = floor(v")}},
       "o/arithmetic/exact.md:5:1: found the end of the line, expected ')'"},
      {"a use of nothing",
       {{kExact, "**exact.S1** Down." + Block("use exact.S98\nrounded(v) = v")}},
       "o/arithmetic/exact.md:4: found no formula of exact.S98"},
      {"a use that leads back",  // exact.S4 uses exact.S1
       {{kExact, "**exact.S1** Down." + Block("use exact.S4\nrounded(v) = quantized(v)")}},
       "o/arithmetic/exact.md:4: found that exact.S1 uses exact.S4, which uses exact.S1"},
      {"an operator without inputs",
       {{"o/ops/half.md", "# Half\n\n**half.S1** Half." + Block("y = x / 2")}},
       "o/ops/half.md:1: found no table below '## Inputs'"},
      {"a clause of another stem",
       {{"o/ops/half.md", "# Half\n\n**halve.S1** Half." + Block("y = x / 2")}},
       "o/ops/half.md:3: found halve.S1, expected a clause that begins with half."},
      {"a type of 3 bits",
       {{"o/format/t.md",
         "# Element type `TQ`\n\n| | |\n|---|---|\n| code | 1300 |\n| bits | 3 |\n"}},
       "o/format/t.md:6: found 3 bits, expected 2, 4 or 8"},
      {"a type without all values",
       {{"o/format/t.md",
         "# Element type `TQ`\n\n| | |\n|---|---|\n| code | 1300 |\n| bits | 2 |\n\n## Values\n\n"
         "| code | value |\n|---|---|\n| 0 | -1 |\n| 1 | 0 |\n"}},
       "o/format/t.md:1: found 2 rows below '## Values', expected 4"},
      {"the code of another type",
       {{"o/format/t.md", "# Element type `TQ`\n\n| | |\n|---|---|\n| code | 3 |\n| bits | 2 |\n"}},
       "o/format/t.md:5: found code 3, expected one of 1 to 2^31 - 1 that no other type has"},
  };
  for (const Refused& refused : all) {
    EXPECT_EQ(ErrorOf(refused.chapters), refused.says) << refused.what;
  }
}

TEST(Overlay, AddsAnOperatorByItsTables) {
  const auto text = Text::WithOverlay(std::vector<Chapter>{
      {"o/ops/half.md",
       "# Half\n\n**half.S1** Half." + Block("y = x / by") +
           "\n## Inputs\n\n| # | name | shape | type |\n|---|---|---|---|\n| 0 | x | any | real |\n"
           "| 1 | b, optional | any | real |\n\n## Attributes\n\n| name | type | default |\n"
           "|---|---|---|\n| by | float | 2 |\n| mode | string | |\n\n## Outputs\n\n"
           "| # | name | shape | type |\n|---|---|---|---|\n| 0 | y | that of x | real |\n"}});
  ASSERT_TRUE(text.has_value()) << text.error().where << text.error().message;
  EXPECT_TRUE(text->Adds("", "Half"));
  EXPECT_FALSE(text->Adds("", "Conv"));
  const format::OpSchema* schema = text->FindSchema("", "Half");
  ASSERT_NE(schema, nullptr);
  ASSERT_EQ(schema->inputs.size(), 2U);
  EXPECT_EQ(schema->inputs[0].name, "x");
  EXPECT_FALSE(schema->inputs[0].optional);
  EXPECT_EQ(schema->inputs[1].name, "b");
  EXPECT_TRUE(schema->inputs[1].optional);
  ASSERT_EQ(schema->attributes.size(), 2U);
  EXPECT_EQ(std::get<float>(schema->attributes[0].otherwise), 2.0F);
  EXPECT_TRUE(schema->attributes[1].required);
}

// The values of four codes: -4, 0, 1/2 and 1; scale 2.
TEST(Overlay, AddsAnElementTypeWhoseCodesHaveTheValuesOfItsTable) {
  const auto text = Text::WithOverlay(std::vector<Chapter>{
      {"o/format/t.md",
       "# Element type `TQ`\n\n| | |\n|---|---|\n| code | 1300 |\n| bits | 2 |\n\n## Values\n\n"
       "| code | value |\n|---|---|\n| 0 | -4 |\n| 1 | 0 |\n| 2 | 0.5 |\n| 3 | 1 |\n"}});
  ASSERT_TRUE(text.has_value()) << text.error().where << text.error().message;
  ASSERT_EQ(text->tables().size(), 1U);
  EXPECT_EQ(text->tables()[0].carrier, format::ElementType::kUint2Q);
  EXPECT_THAT(text->tables()[0].values, ElementsAre(-4.0, 0.0, 0.5, 1.0));
}

}  // namespace
}  // namespace qtx::formula::overlay_test
