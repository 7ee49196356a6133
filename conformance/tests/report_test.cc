#include "qtx/conformance/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <string>

#include "compare.h"
#include "report_data.h"
#include "row_names.h"

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

Report Of(std::vector<BackendReport> rows) {
  Report report;
  report.backends = std::move(rows);
  return report;
}

TEST(ToJson, ParsesBackWithTheKeysOfTheContract) {
  rapidjson::Document json;
  json.Parse<rapidjson::kParseValidateEncodingFlag>(ToJson(HostileReport()).c_str());
  ASSERT_FALSE(json.HasParseError());
  const auto& row = json["backends"][0];
  EXPECT_EQ(row["arithmetic"].GetString(), std::string("exact"));
  for (const char* key :
       {"pass", "fail", "unsupported", "crash", "timeout", "protocol_error", "expected_fail",
        "unexpected_pass", "self", "bad_expectation", "bad_golden", "not_applicable"}) {
    EXPECT_TRUE(row["counts"].HasMember(key)) << key;
  }
  EXPECT_EQ(row["counts"]["fail"].GetInt(), 1);
  EXPECT_EQ(row["passes"]["reference"].GetInt(), 1);
  EXPECT_EQ(row["passes"]["hand"].GetInt(), 0);
  const auto& failed = row["cases"][1];
  EXPECT_EQ(failed["outcome"].GetString(), std::string("fail"));
  EXPECT_EQ(failed["expectation"].GetString(), std::string("reference"));
  EXPECT_EQ(failed["spec"].GetString(), std::string("add.S2"));
  EXPECT_STREQ(failed["diagnosis"].GetString(), "<script>alert('x')</script>&\"\x1b[31m\ufffd");
  EXPECT_EQ(failed["differences"][0]["histogram"]["-1"].GetInt(), 2);
  EXPECT_FALSE(json["conforms"].GetBool());
  EXPECT_TRUE(json["backends"][1].HasMember("error"));
}

TEST(ToJunit, CountsAndEscapes) {
  const std::string xml = ToJunit(HostileReport());
  EXPECT_THAT(xml,
              HasSubstr("<testsuites name=\"qtx\" tests=\"3\" failures=\"1\" errors=\"1\" time="));
  EXPECT_THAT(xml, HasSubstr("type=\"fail\""));
  EXPECT_THAT(xml, Not(HasSubstr("<script>")));
  EXPECT_THAT(xml, Not(HasSubstr("\x1b")));
}

// Readers of JUnit reports take two test cases of one class and name for the same one.
TEST(ToJunit, NamesTheBackendInTheClass) {
  CaseResult result;
  result.id = "conv/a";
  result.op = "Conv";
  BackendReport row;
  row.description.name = "npu.v2";
  row.arithmetic = "exact";
  row.cases = {result};
  const std::string xml = ToJunit(Of({row}));
  EXPECT_THAT(xml, HasSubstr("classname=\"npu_v2.exact.Conv\" name=\"conv/a\""));
}

TEST(ToJunit, SaysLevelClauseTagsAndDifferences) {
  Report report = HostileReport();
  CaseResult& failed = report.backends[0].cases[1];
  failed.level = "vision";
  failed.tags = {"padding", "ties"};
  const std::string xml = ToJunit(report);
  EXPECT_THAT(xml, HasSubstr("<property name=\"level\" value=\"vision\"/>"));
  EXPECT_THAT(xml, HasSubstr("<property name=\"clause\" value=\"add.S2\"/>"));
  EXPECT_THAT(xml, HasSubstr("<property name=\"tag\" value=\"ties\"/>"));
  EXPECT_THAT(xml, HasSubstr("3 of 40 elements differ"));
  EXPECT_THAT(xml, HasSubstr("got - expected: -1 LSB in 2; +1 LSB in 1\n"));
}

// The page as far as no browser is needed; tests/browser/ has the rest.
TEST(ToHtml, IsSelfContainedAndEscapes) {
  const std::string html = ToHtml(HostileReport());
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(html, Not(HasSubstr("https://")));
  EXPECT_THAT(html, Not(HasSubstr("src=")));
  EXPECT_THAT(html, Not(HasSubstr("unsafe-inline")));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;"));       // in the totals
  EXPECT_THAT(html, HasSubstr("\\u003cscript>alert"));  // in the data
  EXPECT_THAT(html, Not(HasSubstr("@data@")));
  EXPECT_THAT(html, testing::EndsWith("</html>\n"));
}

rapidjson::Document PageData(const Report& report) {
  rapidjson::Document json;
  json.Parse<rapidjson::kParseValidateEncodingFlag>(ToPageData(report).c_str());
  EXPECT_FALSE(json.HasParseError());
  return json;
}

TEST(ToPageData, KeepsWhatRepeatsOnce) {
  CaseResult result;
  result.id = "add/a";
  result.why = result.diagnosis = "the same";
  BackendReport row;
  row.cases = {result};
  const rapidjson::Document json = PageData(Of({row, row, row}));
  EXPECT_EQ(json["cases"].Size(), 1U);
  EXPECT_EQ(json["strings"].Size(), 3U);  // with the empty text and "reference"
  EXPECT_EQ(json["rows"].Size(), 3U);
}

TEST(RowNames, AreUnique) {
  BackendReport row;
  row.description = {"npu", "1", {"exact"}, "B"};
  row.arithmetic = "exact";
  BackendReport other = row;
  other.arithmetic = "float32";
  EXPECT_THAT(RowNames(Of({row, other, row, row})),
              testing::ElementsAre("npu", "npu", "npu (B)", "npu (2)"));
}

TEST(ToPageData, BoundsTheErrorOutputOfThousandsOfCrashes) {
  BackendReport row;
  for (int i = 0; i < 2000; ++i) {
    CaseResult crash;
    crash.id = std::to_string(i);
    crash.outcome = Outcome::kCrash;
    crash.error_output = std::string(1 << 16, 'x') + "the end";
    row.cases.push_back(crash);
  }
  const std::string data = ToPageData(Of({row}));
  EXPECT_LT(data.size(), static_cast<std::size_t>(2 * kMaxErrorOutputBytes));
  EXPECT_THAT(data, HasSubstr("the end"));
}

TEST(ToPageData, BoundsWhatABackendSays) {
  Report report = HostileReport();
  report.backends[0].cases[1].diagnosis = std::string(1 << 20, '<');
  report.backends[0].description.device = std::string(1 << 20, '\0');
  EXPECT_LT(ToPageData(report).size(), 20000U);
}

format::Tensor Bytes(std::int64_t count, std::int32_t first) {
  auto tensor = format::MakeTensor(format::ElementType::kInt8, {count});
  EXPECT_TRUE(tensor.has_value());
  std::vector<std::int32_t> values(static_cast<std::size_t>(count), 0);
  values[0] = first;
  format::PackInt32(values, *tensor);
  return *tensor;
}

CaseResult WithEvidence(const std::string& id, std::int64_t elements) {
  CaseResult result;
  result.id = id;
  result.outcome = Outcome::kFail;
  const format::Tensor expected = Bytes(elements, 0);
  const format::Tensor got = Bytes(elements, 7);
  result.differences = {*Compare("y", got, expected, std::nullopt)};
  result.evidence = Evidence{{{"x", expected}}, {{"y", expected}}, {{"y", got}}};
  return result;
}

TEST(ToPageData, HasOnlyTheElementsThatDifferOfAWrongOutput) {
  BackendReport row;
  row.cases = {WithEvidence("add/a", 1 << 16)};
  const rapidjson::Document json = PageData(Of({row}));
  const auto& difference = json["rows"][0]["results"][0][5]["differences"][0];
  EXPECT_EQ(difference["tensor"]["data"].Size(), kMaxShownElements);
  ASSERT_EQ(difference["at"].Size(), 1U);
  EXPECT_EQ(difference["at"][0].GetInt(), 0);
  EXPECT_EQ(difference["delta"][0].GetDouble(), 7);
  EXPECT_EQ(difference["got"][0].GetInt(), 7);
  EXPECT_EQ(difference["want"][0].GetInt(), 0);
}

// 200 answers of 2 * 4,096 elements are more than the page may hold; the small one comes last.
TEST(ToPageData, KeepsTheValuesOfTheSmallestAnswersWithinItsBound) {
  BackendReport row;
  for (int i = 0; i < 200; ++i) {
    row.cases.push_back(WithEvidence("add/" + std::to_string(i), 1 << 14));
  }
  row.cases.push_back(WithEvidence("add/small", 2));
  const rapidjson::Document json = PageData(Of({row}));
  const auto& results = json["rows"][0]["results"];
  EXPECT_FALSE(results[199][5].HasMember("inputs"));
  EXPECT_TRUE(results[200][5].HasMember("inputs"));
  EXPECT_LT(ToPageData(Of({row})).size(), static_cast<std::size_t>(kMaxValueBytes));
}

TEST(Distances, AreUlpsOfFloatsAndNoneOfANanBesideANumber) {
  auto got = *format::MakeTensor(format::ElementType::kFloat, {3});
  auto expected = got;
  got.As<float>()[0] = 0x1.000004p0F;
  expected.As<float>()[0] = 1.0F;
  got.As<float>()[1] = std::numeric_limits<float>::quiet_NaN();
  got.As<float>()[2] = -0.0F;
  const auto distances = Distances(got, expected, {});
  ASSERT_EQ(distances->size(), 2U);  // the two zeros are equal
  EXPECT_EQ((*distances)[0].distance, 2);
  EXPECT_FALSE((*distances)[0].allowed);
  EXPECT_EQ((*distances)[1].index, 1U);
  EXPECT_FALSE((*distances)[1].distance.has_value());
  EXPECT_TRUE(Distances(got, expected, {.ulp = 2})->front().allowed);
  EXPECT_TRUE(Distances(got, expected, {.relative = 1e-6})->front().allowed);
  EXPECT_FALSE(Distances(got, expected, {.absolute = 1e-9})->front().allowed);
  EXPECT_FALSE(Distances(got, Bytes(3, 0), {}).has_value());
}

TEST(ToText, ShowsTheTableAndWhatNeedsAttention) {
  const std::string text = ToText(HostileReport());
  EXPECT_THAT(text, HasSubstr("backend"));
  EXPECT_THAT(text, HasSubstr("1 need attention"));
  EXPECT_THAT(text, HasSubstr("&\"\\x1b[31m\\xff"));
  EXPECT_THAT(text, HasSubstr("broken"));
  for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << int{c};
}

// A row of each source: a report says which passes are evidence of what.
TEST(Reports, CountPassesByTheSourceOfTheExpectation) {
  BackendReport row;
  row.description.name = "npu";
  for (const auto source : {ExpectationSource::kHand, ExpectationSource::kHand,
                            ExpectationSource::kThirdParty, ExpectationSource::kText}) {
    CaseResult& result = row.cases.emplace_back();
    result.id = std::to_string(row.cases.size());
    result.expectation = source;
    ++row.counts[static_cast<std::size_t>(Outcome::kPass)];
  }
  row.cases[2].within_bound = true;
  EXPECT_THAT(row.Passes(), testing::ElementsAre(2, 1, 1, 0));
  const std::string text = ToText(Of({row}));
  EXPECT_THAT(text, HasSubstr("pass  fail  hand  3rd p.  text  ref.   time\n"));
  EXPECT_THAT(text, HasSubstr("   4     0     2       1     1     0  0.0 s\n"));
  EXPECT_THAT(text, HasSubstr("1 passes within the bound, not exactly"));
  const std::string xml = ToJunit(Of({row}));
  EXPECT_THAT(xml, HasSubstr("<property name=\"passes_hand\" value=\"2\"/>"));
  EXPECT_THAT(xml, HasSubstr("<property name=\"expectation\" value=\"third_party\"/>"
                             "<property name=\"within_bound\" value=\"true\"/>"));
}

TEST(ToText, HasColumnsForOutcomesThatOccur) {
  BackendReport row;
  row.counts[static_cast<std::size_t>(Outcome::kSelf)] = 3;
  const std::string text = ToText(Of({row}));
  EXPECT_THAT(text, HasSubstr("pass  fail  self  hand"));
  EXPECT_THAT(text, Not(HasSubstr("crash")));
}

TEST(ToJunit, SkipsWhatWasComparedWithItself) {
  BackendReport row;
  row.cases.emplace_back().outcome = Outcome::kSelf;
  row.counts[static_cast<std::size_t>(Outcome::kSelf)] = 1;
  const std::string xml = ToJunit(Of({row}));
  EXPECT_THAT(xml, HasSubstr("failures=\"0\" errors=\"0\" skipped=\"1\""));
  EXPECT_THAT(xml, HasSubstr("<skipped message=\"compared with itself\"/>"));
}

TEST(Reports, AreDeterministic) {
  EXPECT_EQ(ToJson(HostileReport()), ToJson(HostileReport()));
  EXPECT_EQ(ToHtml(HostileReport()), ToHtml(HostileReport()));
  EXPECT_EQ(ToJunit(HostileReport()), ToJunit(HostileReport()));
}

}  // namespace
}  // namespace qtx::conformance
