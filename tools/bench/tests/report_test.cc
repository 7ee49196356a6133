// Reports of rows that are written down here.
#include "qtx/bench/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <string>
#include <vector>

#include "qtx/bench/shapes.h"

namespace qtx::bench::report_test {
namespace {

using testing::HasSubstr;
using testing::Not;

Row Measured(const std::string& backend, const std::string& types) {
  Row row;
  row.work = "gemm/<&\">";
  row.shape = "8x8 * 8x8";
  row.types = types;
  row.floats = types == kFloatTypes;
  row.backend = row.label = backend;
  row.version = "1";
  row.outcome = "measured";
  row.comparison = Comparison{64, 0, 0};
  row.multiply_adds = 5'000'000;
  row.bytes = 1'000'000;
  row.rounds = {1e-3, 1e-3, 2e-3};
  return row;
}

Report Sample() {
  Report report;
  report.machine = {"a <processor>",
                    {{"fma", true, 1, 100}, {"dot", false, 1, 400}, {"add", false, 1, 200}},
                    {{"L1", 1024, 1, 100}, {"DRAM", 1 << 20, 1, 10}}};
  report.results.rows = {Measured("x86", "u8s8"), Measured("other & more", "u8s8"),
                         Measured("x86", "fp32")};
  CompareRows(report.results.rows);
  Row declined = Measured("declines\x1b[31m", "u8s8");
  declined.outcome = "unsupported";
  declined.reason = "node: no \"such\" thing";
  declined.rounds.clear();
  report.results.rows.push_back(declined);
  report.results.skipped = {{"net/x", "file", "cannot be converted"}};
  return report;
}

rapidjson::Document Parsed(const std::string& json) {
  rapidjson::Document document;
  document.Parse(json.c_str());
  EXPECT_FALSE(document.HasParseError()) << json;
  return document;
}

// The keys that programs may rely on.
TEST(Json, HasItsKeysInEveryRow) {
  const auto document = Parsed(ToJson(Sample()));
  ASSERT_EQ(document["rows"].Size(), 4U);
  for (const auto& row : document["rows"].GetArray()) {
    for (const char* key :
         {"work", "shape", "types", "threads", "backend", "version", "exact", "gops", "seconds",
          "ratio_to_best_exact_peer", "ratio_to_best_peer", "outcome"}) {
      EXPECT_TRUE(row.HasMember(key)) << key;
    }
  }
}

TEST(Json, HoldsTheFigures) {
  const auto document = Parsed(ToJson(Sample()));
  const auto& row = document["rows"][0];
  EXPECT_EQ(row["gops"].GetDouble(), 10);  // 2 * 5e6 / 1e-3 / 1e9
  EXPECT_EQ(row["seconds"].GetDouble(), 1e-3);
  EXPECT_TRUE(row["exact"].GetBool());
  EXPECT_EQ(row["ratio_to_best_peer"].GetDouble(), 1);
  EXPECT_STREQ(row["best_peer"].GetString(), "other & more");
  EXPECT_STREQ(row["peak"].GetString(), "dot");
  EXPECT_EQ(row["fraction_of_peak"].GetDouble(), 10.0 / 400);
  EXPECT_EQ(document["rows"][2]["fraction_of_peak"].GetDouble(), 10.0 / 100);
  EXPECT_TRUE(document["rows"][3]["gops"].IsNull());
  EXPECT_STREQ(document["rows"][3]["reason"].GetString(), "node: no \"such\" thing");
  EXPECT_STREQ(document["skipped"][0]["work"].GetString(), "net/x");
  EXPECT_EQ(document["machine"]["peaks"].Size(), 3U);
}

TEST(Json, SaysNullForWhatWasNotCompared) {
  Report report = Sample();
  report.results.rows[0].comparison.reset();
  EXPECT_TRUE(Parsed(ToJson(report))["rows"][0]["exact"].IsNull());
}

TEST(Text, ShowsDeclinedAndLeftOut) {
  const Report report = Sample();
  const std::string text = ToText(report.machine, report.results);
  EXPECT_THAT(text, HasSubstr("net/x file is left out: cannot be converted"));
  EXPECT_THAT(text, HasSubstr("unsupported: node: no \"such\" thing"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

// Names of elements that are open at the end, or an error: enough of XML for what we write.
std::string Unbalanced(const std::string& xml) {
  std::vector<std::string> open;
  for (std::size_t at = 0; (at = xml.find('<', at)) != std::string::npos;) {
    const std::size_t end = xml.find('>', at);
    if (end == std::string::npos) return "unterminated tag";
    const std::string tag = xml.substr(at + 1, end - at - 1);
    if (tag.find('<') != std::string::npos) return "< in " + tag;
    const std::string name = tag.substr(0, tag.find_first_of(" /", 1));
    if (tag.front() == '/') {
      if (open.empty() || "/" + open.back() != tag) return "closes " + tag;
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
    at = end;
  }
  return open.empty() ? "" : "open: " + open.back();
}

std::size_t Count(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

TEST(Svg, IsWellFormedWhateverNamesHold) {
  const std::string svg = ToSvg(Sample());
  EXPECT_EQ(Unbalanced(svg), "");
  EXPECT_THAT(svg, HasSubstr("other &amp; more"));
  EXPECT_THAT(svg, HasSubstr("a &lt;processor&gt;"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

TEST(Svg, HasAPointForEveryMeasuredRowAndAPanelForEachKind) {
  const std::string svg = ToSvg(Sample());
  EXPECT_EQ(Count(svg, "<title>"), 3U);
  EXPECT_EQ(Count(svg, "<g "), 2U);
  EXPECT_THAT(svg, HasSubstr("8-bit integers, 1 thread"));
  EXPECT_THAT(svg, HasSubstr("fp32, 1 thread"));
  EXPECT_THAT(svg, HasSubstr("dot: 400"));
}

TEST(Svg, OfNothingIsAnEmptyPicture) { EXPECT_EQ(Unbalanced(ToSvg(Report())), ""); }

}  // namespace
}  // namespace qtx::bench::report_test
