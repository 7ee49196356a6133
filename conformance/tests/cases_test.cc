// The repository's own cases: what must hold of each, whoever runs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "effort.h"
#include "fault.h"
#include "qtx/conformance/case.h"
#include "qtx/conformance/diagnosis.h"
#include "qtx/conformance/suite.h"
#include "qtx/format/check.h"
#include "qtx/reference/interpreter.h"

namespace qtx::conformance {
namespace {

std::string Text(const Error& error) { return error.where + ": " + error.message; }

const Suite& Cases() {
  static const Suite* const suite = [] {
    auto loaded = LoadSuite(QTX_SOURCE_DIR "/conformance/cases");
    EXPECT_TRUE(loaded.has_value()) << Text(loaded.error());
    return new Suite(loaded ? *std::move(loaded) : Suite());
  }();
  return *suite;
}

TEST(Cases, AreAtLeastThreeThousand) { EXPECT_GE(Cases().cases.size(), 3000U); }

TEST(Cases, AreAtLeastTwentyInEveryArithmetic) {
  for (const reference::Arithmetic& row : reference::Arithmetics()) {
    const auto holds = [&row](const Case& c) {
      return std::ranges::find(c.arithmetics, row.name) != c.arithmetics.end();
    };
    EXPECT_GE(std::ranges::count_if(Cases().cases, holds), 20) << row.name;
  }
}

// A case that is not about a refusal must not break a rule by accident.
TEST(Cases, ThatRunKeepEveryRuleOfTheFormat) {
  for (const Case& c : Cases().cases) {
    if (!c.error.empty()) continue;
    const auto model = BuildModel(c);
    ASSERT_TRUE(model.has_value()) << c.id << ": " << Text(model.error());
    for (const format::Finding& finding : format::Check(*model, c.id)) {
      ADD_FAILURE() << finding.rule << ": " << finding.where << ": " << finding.message;
    }
    const auto inputs = BuildInputs(c, *model);
    EXPECT_TRUE(inputs.has_value()) << c.id << ": " << Text(inputs.error());
  }
}

// The checker must name the very clause, or a case could pass because of some other fault in it.
// What the checker lets through, the reference must refuse.
TEST(Cases, ThatMustBeRefusedAreRefusedByTheirClause) {
  for (const Case& c : Cases().cases) {
    if (c.error.empty()) continue;
    const auto model = BuildModel(c);
    ASSERT_TRUE(model.has_value()) << c.id << ": " << Text(model.error());
    const auto findings = format::Check(*model, c.id);
    if (!findings.empty()) {
      const bool named =
          std::ranges::find(findings, c.error, &format::Finding::rule) != findings.end();
      EXPECT_TRUE(named) << c.id << " breaks " << findings[0].rule << ", not " << c.error;
      continue;
    }
    for (const std::string& arithmetic : c.arithmetics) {
      auto interpreter = reference::Interpreter::Prepare(*model, arithmetic);
      Error error = interpreter ? Error{} : interpreter.error();
      if (interpreter) {
        const auto inputs = BuildInputs(c, *model);
        ASSERT_TRUE(inputs.has_value()) << c.id << ": " << Text(inputs.error());
        const auto outputs = interpreter->Run(*inputs);
        ASSERT_FALSE(outputs.has_value()) << c.id << " is accepted";
        error = outputs.error();
      }
      EXPECT_THAT(error.code, testing::AnyOf(ErrorCode::kInvalid, ErrorCode::kUnsupported))
          << c.id << ": " << Text(error);
    }
  }
}

// `qtx validate` says whether it passes, and leaves out what a backend declines.
TEST(Cases, AreTakenByTheReferenceInEachArithmetic) {
  for (std::size_t i = 0; i < Cases().cases.size(); i += kCaseStep) {
    const Case& c = Cases().cases[i];
    const auto model = BuildModel(c);
    if (!c.error.empty() || !model) continue;
    for (const std::string& arithmetic : c.arithmetics) {
      const auto interpreter = reference::Interpreter::Prepare(*model, arithmetic);
      EXPECT_TRUE(interpreter.has_value()) << c.id << ": " << Text(interpreter.error());
    }
  }
}

// Whether `c` fails in an arithmetic.
bool FailsIn(const Case& c, const std::string& arithmetic) {
  const auto outputs = RunReference(c, arithmetic);
  if (!c.error.empty()) return outputs.has_value();
  if (!outputs.has_value()) return true;
  for (std::size_t i = 0; i < outputs->size(); ++i) {
    const auto& data = c.outputs[i].data;
    if (data && Compare("", (*outputs)[i], *data, c.ulp)) return true;
  }
  return false;
}

// The cases of an arithmetic's own chapter: a backend that computes in another one fails in one.
TEST(Cases, TellEveryArithmeticFromEveryOther) {
  for (const reference::Arithmetic& row : reference::Arithmetics()) {
    const std::string name(row.name);
    std::string stem = name + "/";
    std::ranges::replace(stem, '-', '_');
    std::vector<const Case*> own;
    for (const Case& c : Cases().cases) {
      const bool holds = std::ranges::find(c.arithmetics, name) != c.arithmetics.end();
      if (holds && c.op && c.id.starts_with(stem)) own.push_back(&c);
    }
    for (const reference::Arithmetic& other : reference::Arithmetics()) {
      const bool fails = std::ranges::any_of(
          own, [&other](const Case* c) { return FailsIn(*c, std::string(other.name)); });
      EXPECT_EQ(fails, other.name != name) << "the cases of " << name << " run in " << other.name;
    }
  }
}

}  // namespace
}  // namespace qtx::conformance
