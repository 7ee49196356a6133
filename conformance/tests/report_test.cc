#include "qtx/conformance/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <string>

#include "escape.h"

namespace qtx::conformance {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kHostile = "<script>alert('x')</script>&\"\x1b[31m\xff";

Report HostileReport() {
  CaseResult pass;
  pass.id = "add/a";
  pass.spec = "add.S1";
  CaseResult fail;
  fail.id = std::string("add/") + kHostile;
  fail.spec = "add.S2";
  fail.why = kHostile;
  fail.where = kHostile;
  fail.outcome = Outcome::kFail;
  fail.diagnosis = kHostile;
  fail.explained_by = {"half_away"};
  Difference difference;
  difference.output = kHostile;
  difference.elements = 40;
  difference.differing = 3;
  difference.unit = "LSB";
  difference.histogram = {{-1, 2}, {1, 1}};
  difference.first = {{7, kHostile, "4"}};
  fail.differences = {difference};
  BackendReport row;
  row.description = {kHostile, "1", {"exact"}, kHostile};
  row.arithmetic = "exact";
  row.cases = {pass, fail};
  row.counts[static_cast<std::size_t>(Outcome::kPass)] = 1;
  row.counts[static_cast<std::size_t>(Outcome::kFail)] = 1;
  BackendReport broken;
  broken.description.name = "broken";
  broken.error = Error{ErrorCode::kIo, kHostile, kHostile};
  Report report;
  report.suite = kHostile;
  report.backends = {row, broken};
  return report;
}

TEST(EscapeXml, LeavesNothingThatMarkupCouldTake) {
  EXPECT_EQ(EscapeXml("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&#39;");
  EXPECT_EQ(EscapeXml("\x01\x1b"), "\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(ValidUtf8, ReplacesWhatIsMalformed) {
  EXPECT_EQ(ValidUtf8("gr\xC3\xBC\xC3\x9F"), "gr\xC3\xBC\xC3\x9F");
  // A lone lead byte, an overlong form, a surrogate, and a code point past the last.
  for (const char* bad : {"\xC3", "\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80"}) {
    EXPECT_THAT(ValidUtf8(bad), testing::StartsWith("\xEF\xBF\xBD")) << bad;
  }
}

TEST(ToJson, ParsesBackWithTheKeysOfTheContract) {
  rapidjson::Document json;
  json.Parse<rapidjson::kParseValidateEncodingFlag>(ToJson(HostileReport()).c_str());
  ASSERT_FALSE(json.HasParseError());
  const auto& row = json["backends"][0];
  EXPECT_EQ(row["arithmetic"].GetString(), std::string("exact"));
  for (const char* key : {"pass", "fail", "unsupported", "crash", "timeout", "protocol_error",
                          "expected_fail", "unexpected_pass", "not_applicable"}) {
    EXPECT_TRUE(row["counts"].HasMember(key)) << key;
  }
  EXPECT_EQ(row["counts"]["fail"].GetInt(), 1);
  const auto& failed = row["cases"][1];
  EXPECT_EQ(failed["outcome"].GetString(), std::string("fail"));
  EXPECT_EQ(failed["spec"].GetString(), std::string("add.S2"));
  EXPECT_EQ(failed["diagnosis"].GetString(), ValidUtf8(kHostile));
  EXPECT_EQ(failed["differences"][0]["histogram"]["-1"].GetInt(), 2);
  EXPECT_FALSE(json["conforms"].GetBool());
  EXPECT_TRUE(json["backends"][1].HasMember("error"));
}

TEST(ToJunit, CountsAndEscapes) {
  const std::string xml = ToJunit(HostileReport());
  EXPECT_THAT(xml, HasSubstr("<testsuites name=\"qtx\" tests=\"3\" failures=\"1\" errors=\"1\">"));
  EXPECT_THAT(xml, HasSubstr("type=\"fail\""));
  EXPECT_THAT(xml, Not(HasSubstr("<script>")));
  EXPECT_THAT(xml, Not(HasSubstr("\x1b")));
}

TEST(ToHtml, IsSelfContainedAndEscapes) {
  const std::string html = ToHtml(HostileReport());
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(html, Not(HasSubstr("http://")));
  EXPECT_THAT(html, Not(HasSubstr("https://")));
  EXPECT_THAT(html, Not(HasSubstr("src=")));
  EXPECT_THAT(html, HasSubstr("data-outcome=\"fail\""));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;"));
}

TEST(ToText, ShowsTheTableAndWhatNeedsAttention) {
  const std::string text = ToText(HostileReport());
  EXPECT_THAT(text, HasSubstr("backend"));
  EXPECT_THAT(text, HasSubstr("1 need attention"));
  EXPECT_THAT(text, HasSubstr("broken"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(Reports, AreDeterministic) {
  EXPECT_EQ(ToJson(HostileReport()), ToJson(HostileReport()));
  EXPECT_EQ(ToHtml(HostileReport()), ToHtml(HostileReport()));
  EXPECT_EQ(ToJunit(HostileReport()), ToJunit(HostileReport()));
}

}  // namespace
}  // namespace qtx::conformance
