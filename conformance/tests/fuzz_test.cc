// Fuzzing finds what is wrong, finds it again, and makes models that the reference takes.
#include "qtx/conformance/fuzz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "case_writer.h"
#include "fuzz_maker.h"
#include "wrong_backend.h"

namespace qtx::conformance {
namespace {

using testing::HasSubstr;

FuzzReport FuzzIt(const BackendSource& source, const FuzzOptions& options) {
  auto report = Fuzz(source, options);
  EXPECT_TRUE(report.has_value()) << report.error().where << ": " << report.error().message;
  return report ? *std::move(report) : FuzzReport{};
}

TEST(RandomModel, MakesTheSameModelAgainAndAnotherForAnotherNumber) {
  std::set<std::string> models;
  for (std::int64_t number = 1; number <= 40; ++number) {
    const auto one = RandomModel(7, number, "exact", "*");
    const auto again = RandomModel(7, number, "exact", "*");
    ASSERT_TRUE(one && again) << number;
    EXPECT_EQ(*ToModel(*one).Serialize(), *ToModel(*again).Serialize());
    EXPECT_EQ(InputsOf(*one), InputsOf(*again));
    EXPECT_LE(one->nodes.size(), 6U);
    models.insert(*ToModel(*one).Serialize());
  }
  EXPECT_EQ(models.size(), 40U);
}

// Drafts that are always refused would test nothing.
TEST(RandomModel, MakesEveryOperatorOfTheText) {
  std::set<std::string> sections;
  for (const auto& file : std::filesystem::directory_iterator(QTX_SOURCE_DIR "/spec/ops")) {
    std::ifstream text(file.path());
    std::string title;
    std::getline(text, title);
    sections.insert(title.substr(2));
  }
  DraftCounts counts;
  for (const std::string& op_type : sections) {
    int made = 0;
    for (std::int64_t number = 1; number <= 4; ++number) {
      made += RandomModel(3, number, "exact", op_type, &counts).has_value();
    }
    EXPECT_GE(made, 2) << op_type;
  }
  EXPECT_GE(sections.size(), 93U);
  EXPECT_LT(3 * (counts.refused + counts.unanswered), counts.drafts);
}

// The models of one seed have every optional input, output and attribute of these rows.
TEST(RandomModel, MakesWhatTheRowsAllow) {
  struct Form {
    const char* op_type;
    std::size_t inputs, outputs;
    const char* attribute;
  };
  for (const Form& form : {Form{"Attention", 4, 1, "softcap"}, Form{"LSTM", 4, 2, "hidden_size"},
                           Form{"MaxPool", 1, 2, "dilations"}, Form{"TopK", 2, 2, "largest"},
                           Form{"QLinearAdd", 8, 1, nullptr}, Form{"Resize", 3, 1, "mode"}}) {
    std::size_t inputs = 0, outputs = 0;
    bool has_attribute = form.attribute == nullptr;
    for (std::int64_t number = 1; number <= 16; ++number) {
      const auto test = RandomModel(5, number, "exact", form.op_type);
      for (const format::Node& node : test ? test->nodes : std::vector<format::Node>()) {
        inputs = std::max(inputs, node.inputs.size());
        outputs = std::max(outputs, node.outputs.size());
        has_attribute = has_attribute || node.Find(form.attribute) != nullptr;
      }
    }
    EXPECT_GE(inputs, form.inputs) << form.op_type;
    EXPECT_GE(outputs, form.outputs) << form.op_type;
    EXPECT_TRUE(has_attribute) << form.op_type;
  }
}

TEST(RandomModel, MakesModelsOfSeveralNodesAndTypes) {
  std::size_t nodes = 0;
  std::set<format::ElementType> types;
  std::set<std::int64_t> opsets;
  for (std::int64_t number = 1; number <= 200; ++number) {
    const auto program = RandomModel(11, number, "exact", "*");
    if (!program) continue;
    nodes = std::max(nodes, program->nodes.size());
    opsets.insert(program->opset_imports[0].version);
    for (const Datum& datum : program->data) types.insert(datum.tensor.elem_type);
  }
  EXPECT_GE(nodes, 4U);
  EXPECT_EQ(opsets.size(), 16U);  // 13 to 28
  EXPECT_GE(types.size(), 10U);
}

TEST(Fuzz, DoesNotBlameTheReferenceInAnyArithmetic) {
  for (const char* arithmetic : {"exact", "float32", "tflite"}) {
    const FuzzReport report =
        FuzzIt(ReferenceSource(), {.arithmetic = arithmetic, .seed = 5, .count = 60});
    EXPECT_EQ(report.failures, 0) << arithmetic;
    EXPECT_GT(report.models, 30) << arithmetic;
  }
}

// A length one past the width of a vector register is among the sizes that are tried.
TEST(Fuzz, FindsAFaultOnceAndShrinksIt) {
  const BackendSource source = WrongBackend("MatMul", [](WrongRun& run) {
    if (run.inputs.size() > 1 && run.inputs[0].dims.back() == 17) run.stored[0] ^= 1;
  });
  const FuzzReport report = FuzzIt(source, {.seed = 2, .count = 60, .operators = "MatMul"});
  ASSERT_EQ(report.findings.size(), 1U);
  const auto& [key, finding] = *report.findings.begin();
  EXPECT_EQ(key, (std::pair<std::string, std::string>("MatMul", "differs")));
  EXPECT_EQ(finding.failures, report.failures);
  ASSERT_TRUE(finding.shrunk.has_value()) << finding.detail;
  EXPECT_EQ(finding.shrunk->elements, 34);  // [1, 17] and [17, 1]
  EXPECT_EQ(finding.shrunk->nodes, 1);
}

TEST(Fuzz, GoesOnAfterACrashAndKeepsItApart) {
  const BackendSource source = WrongBackend("Relu", [](WrongRun& run) {
    if (run.stored.size() % 2 == 0) run.error = Error{ErrorCode::kIo, "", "ended by signal 11"};
    run.stored[0] ^= 1;
  });
  const FuzzReport report = FuzzIt(source, {.seed = 4, .count = 60, .operators = "Relu"});
  EXPECT_TRUE(report.findings.contains({"Relu", "crash"}));
  EXPECT_TRUE(report.findings.contains({"Relu", "differs"}));
}

TEST(Fuzz, SaysTheSameTwice) {
  const BackendSource source =
      WrongBackend("Add", [](WrongRun& run) { run.stored.back() ^= run.stored.size() > 2; });
  const FuzzOptions options = {.seed = 9, .count = 80, .operators = "A*"};
  const FuzzReport first = FuzzIt(source, options);
  const FuzzReport second = FuzzIt(source, options);
  ASSERT_EQ(first.findings.size(), second.findings.size());
  ASSERT_FALSE(first.findings.empty());
  for (const auto& [key, finding] : first.findings) {
    const FuzzFinding& other = second.findings.at(key);
    EXPECT_EQ(other.failures, finding.failures);
    ASSERT_TRUE(finding.shrunk && other.shrunk);
    EXPECT_EQ(*ToYaml(other.shrunk->reduced), *ToYaml(finding.shrunk->reduced));
  }
}

TEST(Fuzz, RefusesOperatorsAndArithmeticsThereAreNot) {
  const auto none = Fuzz(ReferenceSource(), {.operators = "Nothing*"});
  ASSERT_FALSE(none.has_value());
  EXPECT_THAT(none.error().message, HasSubstr("QLinearConv"));
  EXPECT_FALSE(Fuzz(ReferenceSource(), {.arithmetic = "vague"}).has_value());
}

}  // namespace
}  // namespace qtx::conformance
