// Holds clauses, cases and code together: a clause without a case, a case without a clause, an
// operator that lacks one of its parts and a citation that dangles each fail here.
#include "tests/links.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "qtx/conformance/suite.h"
#include "qtx/format/check.h"
#include "qtx/reference/arithmetic.h"
#include "qtx/reference/interpreter.h"

namespace qtx::spec {
namespace {

const std::string kRoot = QTX_SOURCE_DIR;

bool IsIn(const std::string& place, const std::string& folder) {
  return place.compare(0, folder.size(), folder) == 0;
}

// The cases of the suite and the examples of the text.
std::vector<conformance::Case> AllCases() {
  std::vector<conformance::Case> cases;
  for (auto load : {&conformance::LoadSuite, &conformance::LoadExamples}) {
    const bool examples = load == &conformance::LoadExamples;
    auto suite = load(kRoot + (examples ? "/spec" : "/conformance/cases"));
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
    EXPECT_NE(places.front().find("/" + stem + ".md:"), std::string::npos)
        << id << " in " << places.front();
  }
}

TEST(SpecLinks, EveryClauseOfOperatorsAndArithmeticsHasACase) {
  std::set<std::string> cited;
  for (const conformance::Case& c : AllCases()) cited.insert(c.spec);
  for (const auto& [id, places] : StatedClauses()) {
    const std::string& place = places.front();
    if (!IsIn(place, "spec/ops/") && !IsIn(place, "spec/arithmetic/")) continue;
    EXPECT_TRUE(cited.contains(id)) << place << ": " << id << " has no case";
  }
}

// The rules of the format that a file can break are the checker's.
TEST(SpecLinks, EveryConstraintOfTheFormatHasACheckOrACase) {
  const std::vector<std::string> rules = format::CheckedRules();
  std::set<std::string> held(rules.begin(), rules.end());
  for (const conformance::Case& c : AllCases()) held.insert(c.spec);
  for (const auto& [id, places] : StatedClauses()) {
    if (!IsIn(places.front(), "spec/format/") || id.find(".C") == std::string::npos) continue;
    EXPECT_TRUE(held.contains(id)) << places.front() << ": " << id << " is held by nothing";
  }
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
  EXPECT_EQ(known, Stems("spec/ops", ".md"));
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
  for (const std::string& stem : Stems("spec/ops", ".md")) {
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
    EXPECT_TRUE(Stems("spec/arithmetic", ".md").contains(stem)) << stem;
    EXPECT_TRUE(std::filesystem::exists(kRoot + "/conformance/cases/arithmetic/" + stem)) << stem;
  }
}

TEST(SpecLinks, NoCitationInTheCodeDangles) {
  const Clauses clauses = StatedClauses();
  for (const auto& [place, ids] : Citations()) {
    for (const std::string& id : ids) EXPECT_TRUE(clauses.contains(id)) << place << ": " << id;
  }
}

TEST(SpecLinks, EveryExpectationIsDerivedAndEveryCaseSaysWhy) {
  for (const conformance::Case& c : AllCases()) {
    const bool literal = std::ranges::any_of(
        c.outputs, [](const conformance::CaseValue& y) { return y.data || !y.file.empty(); });
    EXPECT_FALSE(literal && c.derivation.empty()) << c.where << ": " << c.id;
  }
}

}  // namespace
}  // namespace qtx::spec
