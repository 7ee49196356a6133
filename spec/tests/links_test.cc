// Holds clauses, cases and code together: a clause without a case, a case without a clause, an
// operator that lacks one of its parts and a citation that dangles each fail here.
#include "qtx/spec/links.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>

#include "qtx/conformance/suite.h"
#include "qtx/format/check.h"
#include "qtx/reference/arithmetic.h"
#include "qtx/reference/interpreter.h"
#include "qtx/spec/chapters.h"
#include "qtx/spec/coverage.h"

namespace qtx::spec::links_test {
namespace {

const std::string kRoot = QTX_SOURCE_DIR;

// "conv.S2" -> the places that state it ("ops/conv.md:12"); exactly one when all is well.
using Clauses = std::map<std::string, std::vector<std::string>>;

Clauses StatedClauses() {
  Clauses places;
  const auto clauses = spec::ReadClauses(kRoot + "/spec");
  if (!clauses.has_value()) return places;
  for (const spec::Clause& clause : *clauses) places[clause.id].push_back(clause.place);
  return places;
}

// The cases of the suite and the examples of the text.
std::vector<conformance::Case> AllCases() {
  std::vector<conformance::Case> cases;
  for (const auto& suite : {conformance::LoadSuite(kRoot + "/conformance/cases"),
                            spec::LoadExamples(kRoot + "/spec")}) {
    if (!suite.has_value()) {
      ADD_FAILURE() << suite.error().where << ": " << suite.error().message;
      continue;
    }
    cases.insert(cases.end(), suite->cases.begin(), suite->cases.end());
  }
  return cases;
}

TEST(SpecLinks, EveryClauseIsStatedOnceInTheFileOfItsStem) {
  for (const auto& [id, places] : StatedClauses()) {
    EXPECT_EQ(places.size(), 1U) << id << " in " << places.front() << " and " << places.back();
    std::string stem = id.substr(0, id.find('.'));
    if (stem.starts_with("op_")) stem = "ops/" + stem.substr(3);  // spec/README.md: op_shape
    EXPECT_NE(("/" + places.front()).find("/" + stem + ".md:"), std::string::npos)
        << id << " in " << places.front();
  }
}

// Nothing here does yet what these say of those who do.
constexpr std::array kNobodyDoes = {"statistics.S1"};  // fills a histogram

TEST(SpecLinks, EveryClauseHasACaseOrIsMarkedAndCitedByATest) {
  const auto clauses = spec::ReadClauses(kRoot + "/spec");
  ASSERT_TRUE(clauses.has_value()) << clauses.error().message;
  const spec::Coverage coverage = spec::MeasureCoverage(AllCases(), *clauses);
  for (const spec::Clause& clause : coverage.uncovered) {
    ADD_FAILURE() << clause.place << ": " << clause.id << " has no case";
  }
  std::set<std::string> tested;
  for (const auto& [place, ids] : TestCitations(kRoot)) tested.insert(ids.begin(), ids.end());
  for (const spec::Clause& clause : coverage.held_by_tests) {
    const bool exempt = std::ranges::find(kNobodyDoes, clause.id) != kNobodyDoes.end();
    EXPECT_NE(tested.contains(clause.id), exempt)
        << clause.place << ": " << clause.id << " is marked (tests), and no test cites it";
  }
}

// A mark must not hide that there is a case after all.
TEST(SpecLinks, NoClauseThatHasACaseIsMarked) {
  const auto clauses = spec::ReadClauses(kRoot + "/spec");
  ASSERT_TRUE(clauses.has_value()) << clauses.error().message;
  const spec::Coverage coverage = spec::MeasureCoverage(AllCases(), *clauses);
  const auto marked = std::ranges::count_if(
      *clauses, [](const spec::Clause& clause) { return clause.held_by_test; });
  EXPECT_EQ(marked, std::ssize(coverage.held_by_tests));
}

TEST(SpecLinks, EveryCaseAndEveryCheckCitesAClause) {
  const Clauses clauses = StatedClauses();
  for (const conformance::Case& c : AllCases()) {
    EXPECT_TRUE(clauses.contains(c.spec)) << c.where << ": " << c.id << " cites " << c.spec;
    if (c.error.empty()) continue;
    EXPECT_TRUE(clauses.contains(c.error)) << c.where << ": " << c.id << " expects " << c.error;
  }
  for (const std::string& rule : format::CheckedRules()) {
    EXPECT_TRUE(clauses.contains(rule)) << "the checker knows " << rule;
  }
}

TEST(SpecLinks, EveryOperatorHasSectionCodeAndCases) {
  std::set<std::string> known;
  for (const std::string& op_type : reference::SupportedOperators()) {
    known.insert(SnakeCase(op_type));
  }
  EXPECT_EQ(known, Stems(kRoot + "/spec/ops", ".md"));
  for (const std::string& stem : known) {
    EXPECT_TRUE(std::filesystem::exists(kRoot + "/reference/src/ops/" + stem + ".cc")) << stem;
    EXPECT_TRUE(std::filesystem::exists(kRoot + "/conformance/cases/ops/" + stem)) << stem;
  }
}

TEST(SpecLinks, EveryOperatorHasARefusedCase) {
  std::set<std::string> refused;
  for (const conformance::Case& c : AllCases()) {
    if (!c.error.empty()) refused.insert(c.error.substr(0, c.error.find('.')));
  }
  for (const std::string& stem : Stems(kRoot + "/spec/ops", ".md")) {
    EXPECT_TRUE(refused.contains(stem) || refused.contains("op_" + stem)) << stem;
  }
}

TEST(SpecLinks, EveryArithmeticHasASectionAndCases) {
  std::vector<std::string_view> names;
  for (const reference::Arithmetic& row : reference::Arithmetics()) names.push_back(row.name);
  for (const reference::Alias& alias : reference::Aliases()) names.push_back(alias.name);
  for (const std::string_view name : names) {
    std::string stem(name);
    std::ranges::replace(stem, '-', '_');
    EXPECT_TRUE(Stems(kRoot + "/spec/arithmetic", ".md").contains(stem)) << stem;
    EXPECT_TRUE(std::filesystem::exists(kRoot + "/conformance/cases/arithmetic/" + stem)) << stem;
  }
}

// Code behind a feature cites what its proposal states.
TEST(SpecLinks, NoCitationInTheCodeDangles) {
  Clauses clauses = StatedClauses();
  const auto proposed = ReadClauses(kRoot + "/spec/proposals");
  ASSERT_TRUE(proposed.has_value()) << proposed.error().message;
  for (const Clause& clause : *proposed) clauses[clause.id].push_back(clause.place);
  for (const auto& [place, ids] : Citations(kRoot)) {
    for (const std::string& id : ids) EXPECT_TRUE(clauses.contains(id)) << place << ": " << id;
  }
}

TEST(SpecLinks, NoLinkDangles) {
  const auto links = DanglingLinks(kRoot + "/spec", true);
  ASSERT_TRUE(links.has_value()) << links.error().where << ": " << links.error().message;
  for (const Dangling& link : *links) ADD_FAILURE() << link.place << ": " << link.target;
}

TEST(SpecLinks, EveryExpectationIsDerivedAndEveryCaseSaysWhy) {
  for (const conformance::Case& c : AllCases()) {
    const bool literal = std::ranges::any_of(
        c.outputs, [](const conformance::CaseValue& y) { return y.data || !y.file.empty(); });
    EXPECT_FALSE(literal && c.derivation.empty()) << c.where << ": " << c.id;
  }
}

}  // namespace
}  // namespace qtx::spec::links_test
