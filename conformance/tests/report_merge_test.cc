// The JSON report read back, hostile ones too, and reports joined.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

#include "qtx/conformance/report.h"
#include "qtx/conformance/suite.h"
#include "report_json.h"

namespace qtx::conformance {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Parsed(const std::string& json) {
  const auto report = ParseReport(json, "r.json");
  return report ? ToJson(*report) : report.error().where + ": " + report.error().message;
}

format::Tensor Quantized() {
  format::Tensor tensor = *format::MakeTensor(format::ElementType::kInt4Q, {3});
  tensor.bytes = {std::byte{0xf1}, std::byte{0x07}};
  tensor.quantization.emplace();
  tensor.quantization->scale = {0.1F, 0x1p-20F, 3.0F};
  tensor.quantization->offset = {-1, 0, 1};
  tensor.quantization->axis = {0};
  tensor.quantization->quant_min = -7;
  tensor.quantization->scheme = format::Scheme::kSymmetric;
  tensor.quantization->requantization = {{1 << 30}, {-3}};
  return tensor;
}

CaseResult Result1(const std::string& id, std::int64_t position, Outcome outcome) {
  CaseResult result;
  result.id = id;
  result.position = position;
  result.arithmetic = "exact";
  result.outcome = outcome;
  return result;
}

// Every field set to something that is not its default.
Report Full() {
  CaseResult fail = Result1("add/a", 7, Outcome::kFail);
  fail.spec = "add.S1";
  fail.why = "why \"quoted\"";
  fail.where = "add.yaml:3";
  fail.op = "Add";
  fail.level = "core";
  fail.tags = {"ties", "offset"};
  fail.diagnosis = "wrong";
  fail.explained_by = {"half_away"};
  fail.differences = {{"y", "", 3, 1, {{2, "1", "0"}}, {{-1, 2}, {1, 1}}, "LSB", {4, 0.1, 1e-9}}};
  fail.evidence = Evidence{{{"x", Quantized()}}, {{"y", Quantized()}}, {{"y", Quantized()}}};
  fail.expectation = ExpectationSource::kHand;
  fail.text = TextVerdict::kConfirmed;
  fail.within_bound = true;
  fail.error_output = "said\n";
  fail.unstable = true;
  fail.session = SessionRun{.run = 2, .handle = 3, .threads = 8, .draw = 1, .at_once = true};
  fail.unmodelled = {"graph.node[0] 'a': says"};
  fail.seconds = 0.25;
  BackendReport row;
  row.source = "cmd:x";
  row.description = {"b", "2", {"exact", "float32"}, "device"};
  row.arithmetic = "exact";
  row.cases = {fail};
  row.counts[static_cast<std::size_t>(Outcome::kFail)] = 1;
  row.findings = {{{"Add", "Mul"},
                   "float32",
                   "computes in binary32",
                   3,
                   2,
                   4,
                   {{"Add", "Add(a: INT8Q [1] {3})", "whatever the values"}}}};
  row.not_applicable = 4;
  row.protocol_faults = {{ErrorCode::kProtocol, "exit", "took 3 s", "backend_protocol.S6"}};
  row.seconds = 1.5;
  BackendReport broken;
  broken.source = "cmd:y";
  broken.description.name = "cmd:y";
  broken.error = Error{ErrorCode::kTimeout, "place", "message"};
  Report report;
  report.suite = "cases";
  report.selected = 5;
  report.backends = {row, broken};
  report.stale_expectations = {"f:1: gone"};
  report.strict_expectations = true;
  return report;
}

TEST(ParseReport, GivesBackEveryField) {
  const std::string json = ToJson(Full());
  EXPECT_EQ(Parsed(json), json);
  const auto report = ParseReport(json, "r.json");
  ASSERT_TRUE(report.has_value());
  const CaseResult& result = report->backends[0].cases[0];
  ASSERT_TRUE(result.evidence.has_value());
  EXPECT_EQ(result.evidence->got[0].tensor, Quantized());
  EXPECT_EQ(result.differences[0].tolerance.relative, 0.1);
  EXPECT_EQ(result.differences[0].tolerance.absolute, 1e-9);
  EXPECT_EQ(result.expectation, ExpectationSource::kHand);
  EXPECT_EQ(result.text, TextVerdict::kConfirmed);
  EXPECT_TRUE(result.within_bound);
  EXPECT_EQ(result.tags, Full().backends[0].cases[0].tags);
  EXPECT_EQ(report->backends[0].count(Outcome::kFail), 1);
  ASSERT_EQ(report->backends[0].protocol_faults.size(), 1U);
  EXPECT_EQ(report->backends[0].protocol_faults[0].Text(), "exit: took 3 s [backend_protocol.S6]");
  EXPECT_EQ(report->backends[1].error->code, ErrorCode::kTimeout);
}

TEST(ParseReport, NamesThePlaceOfWhatIsWrong) {
  const std::string json = ToJson(Full());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = json;
    const std::size_t place = changed.find(from);
    EXPECT_NE(place, std::string::npos) << from;
    return Parsed(changed.replace(place, from.size(), to));
  };
  EXPECT_EQ(Parsed("[]"), "r.json: found no object, expected one");
  EXPECT_THAT(Parsed("{"), HasSubstr("r.json: line 1, column 2: found no JSON"));
  EXPECT_EQ(Parsed("{}"), "r.json: backends: found none, expected a value");
  EXPECT_EQ(with("\"outcome\":\"fail\"", "\"outcome\":\"odd\""),
            "r.json: backends[0]: cases[0]: outcome: expected the name of an outcome");
  EXPECT_EQ(with("\"expectation\":\"hand\"", "\"expectation\":\"odd\""),
            "r.json: backends[0]: cases[0]: expectation: expected the name of a source of "
            "expectations");
  EXPECT_EQ(with("\"text\":\"confirmed\"", "\"text\":\"odd\""),
            "r.json: backends[0]: cases[0]: text: expected the name of a verdict");
  EXPECT_EQ(with("\"position\":7", "\"position\":\"7\""),
            "r.json: backends[0]: cases[0]: position: expected an integer");
  EXPECT_EQ(with("\"seconds\":0.25", "\"seconds\":1e300"),
            "r.json: backends[0]: cases[0]: seconds: expected a time");
  EXPECT_EQ(with("\"selected\":5", "\"selected\":-5"), "r.json: selected: expected a count");
  EXPECT_THAT(with("\"selected\":5", "\"selectd\":5"),
              HasSubstr("r.json: found unknown key 'selectd', expected one of schema, provenance, "
                        "merged, suite, "));
  EXPECT_THAT(with("\"selected\":5", "\"selected\":5,\"selected\":6"),
              HasSubstr("r.json: found key 'selected' twice"));
  EXPECT_THAT(with("\"position\":7", "\"place\":7"),
              HasSubstr("backends[0]: cases[0]: found unknown key 'place'"));
  EXPECT_THAT(with("\"not_applicable\"", "\"skipped\""),
              HasSubstr("backends[0]: counts: found unknown key 'skipped'"));
  EXPECT_THAT(with("{\"-1\":2,\"1\":1}", "{}"), HasSubstr("differences[0]: first"));
  EXPECT_THAT(with("{\"-1\":2,\"1\":1}", "{\"x\":2}"), HasSubstr("histogram: expected integers"));
  EXPECT_THAT(with("f107", "f10"), HasSubstr("inputs[0]: data: expected hexadecimal digits"));
  EXPECT_THAT(with("f107", "f1"), HasSubstr("inputs[0]: data: found 1 bytes, expected 2"));
  EXPECT_THAT(with("f107", "g107"), HasSubstr("expected hexadecimal digits"));
  EXPECT_THAT(with("\"dims\":[3]", "\"dims\":[-3]"), HasSubstr("inputs[0]: dims"));
  EXPECT_THAT(with("\"dims\":[3]", "\"dims\":[4611686018427387904,4]"), HasSubstr("dims"));
  EXPECT_THAT(with("\"axis\":[0]", "\"axis\":[5]"), HasSubstr("inputs[0]: quantization"));
  EXPECT_THAT(with("0x1.8p+1", "inf"), HasSubstr("quantization: scale: expected floats"));
}

// Counts are added up and tolerances compared with; lists are as long as Compare makes them.
TEST(ParseReport, RefusesCountsAndListsThatNoRunGives) {
  const auto refusal = [](const auto& spoil) {
    Report report = Full();
    spoil(report.backends[0], report.backends[0].cases[0].differences[0]);
    const auto read = ParseReport(ToJson(report), "r");
    return read ? "" : read.error().where.substr(read.error().where.rfind(' ') + 1);
  };
  using Row = BackendReport;
  EXPECT_EQ(refusal([](Row&, Difference& d) { d.tolerance.ulp = -1; }), "ulp");
  EXPECT_EQ(refusal([](Row&, Difference& d) { d.tolerance.relative = -0.5; }), "relative");
  EXPECT_EQ(refusal([](Row&, Difference& d) { d.tolerance.absolute = -0.5; }), "absolute");
  EXPECT_EQ(refusal([](Row&, Difference& d) { d.elements = -1; }), "elements");
  EXPECT_EQ(refusal([](Row&, Difference& d) { d.differing = (1LL << 40) + 1; }), "differing");
  EXPECT_EQ(refusal([](Row&, Difference& d) { d.histogram[5] = -1; }), "histogram");
  EXPECT_EQ(refusal([](Row&, Difference& d) { d.first.resize(9, d.first[0]); }), "first[8]");
  EXPECT_EQ(refusal([](Row&, Difference& d) {
              for (int i = 0; i < 33; ++i) d.histogram[i] = 1;
            }),
            "histogram");
  EXPECT_EQ(refusal([](Row& row, Difference&) { row.findings[0].failing = -1; }), "failing");
  EXPECT_EQ(refusal([](Row& row, Difference&) { row.findings[0].explained = -1; }), "explained");
  EXPECT_EQ(refusal([](Row& row, Difference&) { row.findings[0].confirmed = -1; }), "confirmed");
}

TEST(ParseReport, BoundsItsBackends) {
  Report report;
  report.suite = "cases";
  BackendReport row;
  row.description.name = "b";
  report.backends.assign(4096, row);
  EXPECT_TRUE(ParseReport(ToJson(report), "r").has_value());
  report.backends.push_back(row);
  const auto read = ParseReport(ToJson(report), "r");
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(read.error().where, "r: backends[4096]");
}

TEST(ParseReport, RefusesEveryTruncation) {
  const std::string json = ToJson(Full());
  for (std::size_t length = 0; length + 2 < json.size(); length += 7) {
    EXPECT_FALSE(ParseReport(json.substr(0, length), "r").has_value()) << length;
  }
}

TEST(ParseReport, BoundsDepthAndCountBeforeItParses) {
  const std::string deep(1'000'000, '[');
  const auto report = ParseReport("{\"x\":" + deep, "r");
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().code, ErrorCode::kTooLarge);
  const std::string many = "[" + std::string(static_cast<std::size_t>(kReportBounds.values), ',');
  EXPECT_EQ(ParseReport(many, "r").error().code, ErrorCode::kTooLarge);
}

Report OneRow(std::vector<CaseResult> cases, std::int64_t selected,
              const std::string& arithmetic = "exact") {
  BackendReport row;
  row.description = {"b", "1", {"exact", "float32"}, ""};
  row.arithmetic = arithmetic;
  row.cases = std::move(cases);
  Report report;
  report.suite = "cases";
  report.selected = selected;
  report.backends = {row};
  return report;
}

std::vector<std::string> Ids(const BackendReport& row) {
  std::vector<std::string> ids;
  for (const CaseResult& result : row.cases) ids.push_back(result.id);
  return ids;
}

TEST(MergeReports, PutsCasesInTheSuitesOrder) {
  const Report whole =
      *MergeReports({OneRow({Result1("a", 0, Outcome::kPass), Result1("c", 4, Outcome::kFail)}, 3),
                     OneRow({Result1("b", 1, Outcome::kPass)}, 2)});
  ASSERT_EQ(whole.backends.size(), 1U);
  EXPECT_THAT(Ids(whole.backends[0]), ElementsAre("a", "b", "c"));
  EXPECT_EQ(whole.backends[0].count(Outcome::kPass), 2);
  EXPECT_EQ(whole.backends[0].count(Outcome::kFail), 1);
  EXPECT_EQ(whole.backends[0].not_applicable, 2);
}

TEST(MergeReports, CountsACaseOnceAndKeepsTheWorseOutcome) {
  CaseResult crash = Result1("a", 0, Outcome::kCrash);
  crash.diagnosis = "SIGSEGV";
  const std::vector<Report> parts = {
      OneRow({Result1("a", 0, Outcome::kPass), Result1("b", 1, Outcome::kPass)}, 3),
      OneRow({crash, Result1("b", 1, Outcome::kPass)}, 3)};
  for (const auto& order : {parts, {parts[1], parts[0]}}) {
    const Report whole = *MergeReports(order);
    EXPECT_THAT(Ids(whole.backends[0]), ElementsAre("a", "b"));
    EXPECT_EQ(whole.backends[0].cases[0].outcome, Outcome::kCrash);
    EXPECT_EQ(whole.backends[0].cases[0].diagnosis, "SIGSEGV; another run of it gave pass");
    EXPECT_EQ(whole.backends[0].cases[1].diagnosis, "");
    EXPECT_EQ(whole.backends[0].not_applicable, 1);
    EXPECT_FALSE(Conforms(whole));
  }
}

TEST(MergeReports, KeepsTheWeakerExpectationOfEqualOutcomes) {
  CaseResult text = Result1("a", 0, Outcome::kPass);
  text.expectation = ExpectationSource::kText;
  const Report whole =
      *MergeReports({OneRow({text}, 1), OneRow({Result1("a", 0, Outcome::kPass)}, 1)});
  EXPECT_THAT(whole.backends[0].Passes(), ElementsAre(0, 0, 0, 1));
}

TEST(MergeReports, KeepsRowsOfArithmeticsApartAndInTheBackendsOrder) {
  Report other = OneRow({Result1("a", 0, Outcome::kPass)}, 1, "float32");
  Report different = OneRow({Result1("a", 0, Outcome::kPass)}, 1);
  different.backends[0].description.device = "another";
  const Report whole =
      *MergeReports({other, different, OneRow({Result1("a", 0, Outcome::kPass)}, 1)});
  ASSERT_EQ(whole.backends.size(), 3U);
  EXPECT_EQ(whole.backends[0].arithmetic, "exact");
  EXPECT_EQ(whole.backends[1].arithmetic, "float32");
  EXPECT_EQ(whole.backends[2].description.device, "another");
}

TEST(MergeReports, JoinsFindingsThatSayTheSame) {
  Report first = OneRow({Result1("a", 0, Outcome::kFail)}, 1);
  Report second = OneRow({Result1("b", 1, Outcome::kFail)}, 1);
  first.backends[0].findings = {{{"Mul"}, "", "unexplained", 3, 0},
                                {{"Add", "Sub"}, "float32", "computes in binary32", 2, 1}};
  second.backends[0].findings = {{{"Add", "Abs"}, "float32", "computes in binary32", 5, 5}};
  const Report whole = *MergeReports({first, second});
  const auto& findings = whole.backends[0].findings;
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_THAT(findings[0].operators, ElementsAre("Abs", "Add", "Sub"));
  EXPECT_EQ(findings[0].failing, 7);
  EXPECT_EQ(findings[0].explained, 6);
  EXPECT_EQ(findings[1].says, "unexplained");
}

// Shards of a few cases each, and of none.
TEST(MergeReports, EqualsTheRunThatWasNotSharded) {
  const auto suite = LoadSuite(QTX_SOURCE_DIR "/conformance/cases");
  ASSERT_TRUE(suite.has_value());
  const auto cases = Select(suite->cases, {.filters = {"add/*", "q_linear_mat_mul/*", "pow/*"}});
  const std::vector<BackendSource> sources = {ReferenceSource()};
  const auto json = [&](const Report& report) {
    return std::regex_replace(ToJson(report), std::regex(R"("seconds":[0-9.e-]+)"), "");
  };
  const std::string whole = json(RunSuite("s", cases, sources, {}));
  for (const std::int64_t count : {2, 7, 150}) {
    std::vector<Report> parts;
    for (std::int64_t i = 1; i <= count; ++i) {
      const auto part = Select(cases, {.shard = {i, count}});
      const std::string text = ToJson(RunSuite("s", part, sources, {}));
      parts.push_back(*ParseReport(text, "part"));
    }
    EXPECT_TRUE(json(*MergeReports(std::move(parts))) == whole) << count;
  }
}

TEST(MergeReports, MissesAShardThatIsNotThere) {
  std::vector<Report> parts;
  for (const std::int64_t shard : {1, 3}) {
    Report part = OneRow({Result1("a" + std::to_string(shard), shard, Outcome::kPass)}, 1);
    part.shard = shard;
    part.shards = 3;
    parts.push_back(std::move(part));
  }
  const auto incomplete = MergeReports(parts);
  ASSERT_FALSE(incomplete.has_value());
  EXPECT_EQ(incomplete.error().where, "shard 2/3");
  parts[1].shards = 4;
  EXPECT_FALSE(MergeReports(parts).has_value());
  parts[0].shards = parts[1].shards = 2;
  parts[1].shard = 2;
  const auto whole = MergeReports(parts);
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(whole->shards, 1);
}

}  // namespace
}  // namespace qtx::conformance
