#include "qtx/conformance/provenance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include "qtx/conformance/report.h"

namespace qtx::conformance::provenance_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

Provenance Sample() {
  return {.date = "2026-11-24T11:30:00Z",
          .version = "0.1.0",
          .commit = std::string(40, 'a') + "-dirty",
          .compiler = "GNU 12.2.0",
          .build_type = "Release",
          .libraries = {{"gmp", "6.2.1"},
                        {"mpfi", "1.5.3"},
                        {"mpfr", "4.2.0"},
                        {"protobuf", "3.21.12"}},
          .processor = "a \x1b processor",
          .threads = 2,
          .instruction_sets = {"avx2", "fma"},
          .command = {"validate", "--backend", "cmd:it's <here>", ""}};
}

Report Shard(std::int64_t index, std::int64_t count) {
  Report report;
  report.provenance = Sample();
  report.shard = index;
  report.shards = count;
  report.suite = "cases";
  report.suite_digest = "0123456789abcdef";
  return report;
}

std::string Refusal(const Report& a, const Report& b) {
  const auto merged = MergeReports({a, b});
  return merged ? "" : merged.error().Text();
}

// The command can be pasted into a shell.
TEST(Facts, AreTextsForPeople) {
  EXPECT_THAT(Facts(Sample()),
              ElementsAre(Pair("date", "2026-11-24T11:30:00Z"),
                          Pair("qtx", "0.1.0, commit " + std::string(40, 'a') + "-dirty"),
                          Pair("build", "GNU 12.2.0, Release"),
                          Pair("libraries", "gmp 6.2.1, mpfi 1.5.3, mpfr 4.2.0, protobuf 3.21.12"),
                          Pair("processor", "a \x1b processor, 2 threads"),
                          Pair("instruction sets", "avx2 fma"),
                          Pair("command", "qtx validate --backend 'cmd:it'\\''s <here>' ''")));
  EXPECT_TRUE(Facts({}).empty());
}

TEST(Summary, IsOnePrintableLine) {
  EXPECT_EQ(Summary(Sample()),
            "qtx 0.1.0 (aaaaaaaaaaaa-dirty), 2026-11-24T11:30:00Z, a \\x1b processor, 2 threads");
  EXPECT_EQ(Summary({}), "");
}

TEST(Document, BeginsWithSchemaAndProvenance) {
  rapidjson::Document json;
  json.Parse(Document("power", Sample(), R"({"cases": 1})").c_str());
  ASSERT_FALSE(json.HasParseError());
  const auto member = json.MemberBegin();
  EXPECT_STREQ(member[0].name.GetString(), "schema");
  EXPECT_STREQ(member[0].value.GetString(), "qtx/power/1");
  EXPECT_STREQ(member[1].name.GetString(), "provenance");
  EXPECT_EQ(json["cases"].GetInt(), 1);
}

TEST(ParseReport, ReadsTheProvenanceOfEachRun) {
  Report report = Shard(1, 1);
  report.merged = {Sample(), Sample()};
  report.merged[1].threads = 4;
  const auto read = ParseReport(ToJson(report), "r.json");
  ASSERT_TRUE(read.has_value()) << read.error().Text();
  EXPECT_EQ(read->provenance, report.provenance);
  EXPECT_EQ(read->merged, report.merged);
  EXPECT_EQ(read->suite_digest, report.suite_digest);
}

TEST(ParseReport, RefusesADocumentOfAnotherSchema) {
  const auto read = ParseReport(R"({"schema": "qtx/validate/1", "backends": []})", "r.json");
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().Text(), "r.json: schema: expected qtx/validate/2");
  EXPECT_FALSE(ParseReport(R"({"provenance": 1, "backends": []})", "r.json").has_value());
}

// Each value as common.schema.json has it, because a merged report repeats it.
TEST(ParseReport, RefusesAValueThatBreaksTheSchema) {
  struct Change {
    std::string from, to, says;
  };
  const std::string date = Sample().date, commit = Sample().commit;
  const Change changes[] = {
      {date, "</script>", "r: provenance: date: found '</script>', expected YYYY-MM-DDThh:mm:ssZ"},
      {date, std::string(100000, '1'), "r: provenance: date: found '1111"},
      {commit, "</script>", "r: provenance: qtx: commit: found '</script>', expected 7 to 64 hex"},
      {commit, std::string(100000, 'a'), "r: provenance: qtx: commit: found 'aaaa"},
      {"0.1.0", "0.1", "r: provenance: qtx: version: found '0.1', expected MAJOR.MINOR.PATCH"},
      {R"(,"version":"0.1.0")", "", "r: provenance: qtx: version: found '', expected MAJOR"},
      {R"("threads":2)", R"("threads":-1)",
       "r: provenance: processor: threads: found -1, expected at least 1"},
      {"\"avx2\"", "\"\"", "r: provenance: processor: instruction_sets: found an empty name"},
      {"\"avx2\"", "\"fma\"", "r: provenance: processor: instruction_sets: found an empty name"},
      {"GNU 12.2.0", "", "r: provenance: build: compiler: found an empty text"},
      {R"(,"instruction_sets":["avx2","fma"])", "",
       "r: provenance: processor: instruction_sets: found none, expected a value"},
      {R"(,"type":"Release")", "", "r: provenance: build: type: found none, expected a value"},
      {R"("mpfi":"1.5.3",)", "", "r: provenance: libraries: mpfi: found an empty text or none"},
      {"\"command\":", "\"command\":[],\"words\":", "r: provenance: command: found no words"},
      {"\"processor\":", "\"device\":", "r: provenance: processor: found none, expected a value"},
      {"\"suite\":\"cases\"", "\"suite\":\"\"", "r: suite: found an empty text or none"},
      {Shard(1, 1).suite_digest, "</script>",
       "r: suite_digest: found '</script>', expected 16 hex"},
  };
  for (const auto& [from, to, says] : changes) {
    std::string json = ToJson(Shard(1, 1));
    json.replace(json.find(from), from.size(), to);
    const auto read = ParseReport(json, "r");
    EXPECT_TRUE(!read.has_value() && read.error().Text().starts_with(says))
        << says << ": " << (read.has_value() ? "" : read.error().Text());
  }
}

TEST(MergeReports, KeepsTheProvenanceOfEachShard) {
  Report second = Shard(2, 2);
  second.provenance.processor = "another";
  const auto merged = MergeReports({Shard(1, 2), second});
  ASSERT_TRUE(merged.has_value());
  EXPECT_THAT(merged->merged, ElementsAre(Sample(), second.provenance));
  const auto again = MergeReports({*merged, *merged});
  EXPECT_EQ(again->merged.size(), 4U);
}

TEST(MergeReports, RefusesShardsOfDifferentCommitsOrSuites) {
  Report second = Shard(2, 2);
  second.provenance.commit = "b";
  EXPECT_THAT(Refusal(Shard(1, 2), second), HasSubstr("found commits aaaa"));
  second = Shard(2, 2);
  second.suite_digest = "0";
  EXPECT_EQ(Refusal(Shard(1, 2), second),
            "shards: found digests of suites 0123456789abcdef and 0, expected one");
}

// Runs on several devices need not be of one commit, but the reader has to know.
TEST(MergeReports, FlagsRunsOfDifferentCommits) {
  Report second = Shard(1, 1);
  second.provenance.commit = "b";
  const auto merged = MergeReports({Shard(1, 1), second});
  ASSERT_TRUE(merged.has_value());
  EXPECT_THAT(ToText(*merged), HasSubstr("warning: the runs are of 2 commits of qtx\n"));
  EXPECT_THAT(ToText(Shard(1, 1)), Not(HasSubstr("warning")));
}

TEST(ToJunit, HasTheFactsAsProperties) {
  Report report = Shard(1, 1);
  report.backends.emplace_back();
  EXPECT_THAT(ToJunit(report), HasSubstr("<property name=\"command\" value=\"qtx validate "
                                         "--backend &#39;cmd:it&#39;\\&#39;&#39;s &lt;here&gt;"));
}

}  // namespace
}  // namespace qtx::conformance::provenance_test
