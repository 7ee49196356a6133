#include "yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "qtx/conformance/case.h"
#include "yaml_reader.h"

namespace qtx::conformance::yaml_test {
namespace {

using testing::HasSubstr;

Error ErrorOf(const std::string& text) {
  const auto parsed = ParseYaml(text, "f.yaml");
  return parsed ? Error{ErrorCode::kInvalid, "", "no error"} : parsed.error();
}

TEST(Yaml, KeepsTextQuotingOrderAndLines) {
  const auto documents = ParseYaml("b: 1.50\na: [x, '2']\n---\nc: {d: ~}\n", "f.yaml");
  ASSERT_TRUE(documents.has_value()) << documents.error().message;
  ASSERT_EQ(documents->size(), 2U);
  const Yaml& first = documents->front();
  EXPECT_EQ(first.keys, (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(first.items[0].text, "1.50");
  EXPECT_FALSE(first.items[1].items[0].quoted);
  EXPECT_TRUE(first.items[1].items[1].quoted);
  EXPECT_EQ(first.items[1].line, 2);
  EXPECT_TRUE((*documents)[1].Find("c")->Find("d")->is_null());
}

TEST(Yaml, RefusesAnchorsThatWouldExplode) {
  const Error error = ErrorOf("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n");
  EXPECT_EQ(error.where, "f.yaml:1");
  EXPECT_THAT(error.message, HasSubstr("anchor"));
}

TEST(Yaml, RefusesDeepNesting) {
  const std::string deep = std::string(5000, '[') + std::string(5000, ']');
  EXPECT_FALSE(ParseYaml(deep, "f.yaml").has_value());
  const Error error = ErrorOf(std::string(40, '[') + std::string(40, ']'));
  EXPECT_EQ(error.code, ErrorCode::kTooLarge);
}

TEST(Yaml, RefusesMoreBytesThanALimit) {
  const std::string text(static_cast<std::size_t>(kMaxCaseFileBytes) + 1, ' ');
  EXPECT_EQ(ErrorOf(text).code, ErrorCode::kTooLarge);
}

TEST(Yaml, RefusesManyKeysOfOneMap) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "k" + std::to_string(i) + ": 1\n";
  EXPECT_EQ(ErrorOf(text).code, ErrorCode::kTooLarge);
}

TEST(Yaml, NamesTheLineOfARepeatedKey) {
  EXPECT_EQ(ErrorOf("a: 1\nb: 2\na: 3\n").where, "f.yaml:3");
}

TEST(Yaml, NamesTheLineOfMalformedText) {
  const Error error = ErrorOf("a: 1\nb: [1, 2\nc: }\n");
  EXPECT_THAT(error.where, HasSubstr("f.yaml:"));
  EXPECT_THAT(error.message, HasSubstr("malformed YAML"));
}

TEST(Yaml, SurvivesArbitraryBytes) {
  // A small walk over hostile beginnings; what matters is that each returns.
  for (int seed = 0; seed < 500; ++seed) {
    std::string text = "id: a\nx: [";
    for (int i = 0; i < 20; ++i)
      text.push_back("[]{}:,&*!|>'\"%@`#-?\n \x00\xff"[(seed * 7 + i * i * 13) % 24]);
    (void)ParseYaml(text, "f.yaml");
  }
}

TEST(YamlReader, ReadsFloatsCorrectlyRoundedToTheirWidth) {
  const auto read = [](const std::string& text) {
    Yaml node;
    node.kind = Yaml::Kind::kScalar;
    node.text = text;
    return ReadFloat<float>(node, {"f", "x"});
  };
  EXPECT_EQ(read("0x1.8p-3").value(), 0.1875F);
  EXPECT_EQ(read("-0x1p-149").value(), -0x1p-149F);
  EXPECT_EQ(read("+1e-3").value(), 1e-3F);
  // Halfway between two binary32 but for the last digit: through a binary64 it would round down.
  EXPECT_EQ(read("1.00000005960464477540").value(), 1.00000012F);
  EXPECT_TRUE(std::isnan(read(".nan").value()));
  EXPECT_EQ(read("-inf").value(), -std::numeric_limits<float>::infinity());
  for (const char* bad : {"", "-", "0x", "1.0f", "1 ", "--1", "0x1p-3x", "nanx", "1e999"}) {
    EXPECT_FALSE(read(bad).has_value()) << bad;
  }
}

}  // namespace
}  // namespace qtx::conformance::yaml_test
