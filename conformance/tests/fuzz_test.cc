// Fuzzing finds what is wrong, finds it again, and makes models that the reference takes.
#include "qtx/conformance/fuzz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "case_writer.h"
#include "effort.h"
#include "fuzz_maker.h"
#include "temporary_folder.h"
#include "wrong_backend.h"

namespace qtx::conformance {
namespace {

using testing::HasSubstr;

FuzzReport FuzzIt(const BackendSource& source, const FuzzOptions& options) {
  auto report = Fuzz(source, options);
  EXPECT_TRUE(report.has_value()) << report.error().where << ": " << report.error().message;
  return report ? *std::move(report) : FuzzReport{};
}

// Claims `exact`, and computes in another arithmetic.
class OtherArithmetic : public backend::Backend {
 public:
  explicit OtherArithmetic(std::string arithmetic) : arithmetic_(std::move(arithmetic)) {}
  Result<backend::Description> Describe() override {
    return backend::Description{"other", "1", {"exact"}, "test"};
  }
  Result<std::unique_ptr<backend::PreparedModel>> Prepare(const format::Model& model,
                                                          std::string_view) override {
    return right_->Prepare(model, arithmetic_);
  }

 private:
  std::string arithmetic_;
  std::unique_ptr<backend::Backend> right_ = *ReferenceSource().make();
};

// Gives the first answer of a prepared model to all inputs.
class FirstAnswer : public backend::PreparedModel {
 public:
  explicit FirstAnswer(std::unique_ptr<backend::PreparedModel> right) : right_(std::move(right)) {}
  Result<std::vector<format::Tensor>> Run(std::span<const format::Tensor> inputs) override {
    if (!first_) first_ = right_->Run(inputs);
    return *first_;
  }

 private:
  std::unique_ptr<backend::PreparedModel> right_;
  std::optional<Result<std::vector<format::Tensor>>> first_;
};

class Forgetful : public OtherArithmetic {
 public:
  Forgetful() : OtherArithmetic("exact") {}
  Result<std::unique_ptr<backend::PreparedModel>> Prepare(const format::Model& model,
                                                          std::string_view arithmetic) override {
    QTX_ASSIGN_OR_RETURN(auto right, OtherArithmetic::Prepare(model, arithmetic));
    return std::unique_ptr<backend::PreparedModel>(std::make_unique<FirstAnswer>(std::move(right)));
  }
};

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

// Sizes beyond the blocks of kernels, scales of all magnitudes, narrowed ranges, open shapes.
TEST(RandomModel, MakesWhatKernelsSeldomMeet) {
  std::int64_t largest = 0;
  int subnormal = 0, narrowed = 0, open = 0;
  for (std::int64_t number = 1; number <= 300; ++number) {
    const auto test = RandomModel(12, number, "exact", "*");
    if (!test) continue;
    open += test->open_shapes;
    for (const Datum& datum : test->data) {
      largest = std::max(largest, format::ElementCount(datum.tensor));
      const auto& q = datum.tensor.quantization;
      if (!q || q->scale.empty()) continue;
      narrowed += q->quant_min.has_value();
      subnormal += q->scale[0] < 0x1p-126F;
    }
  }
  EXPECT_GT(largest, 4096);
  EXPECT_GT(subnormal, 0);
  EXPECT_GT(narrowed, 10);
  EXPECT_GT(open, 10);
}

TEST(Fuzz, DoesNotBlameTheReferenceInAnyArithmetic) {
  for (const char* arithmetic : {"exact", "float32", "tflite"}) {
    const FuzzReport report =
        FuzzIt(ReferenceSource(), {.arithmetic = arithmetic, .seed = 5, .count = 32 / kCaseStep});
    EXPECT_EQ(report.failures, 0) << arithmetic;
    EXPECT_GE(report.counts.models, 16 / kCaseStep) << arithmetic;
  }
}

// A length one past the width of a vector register is among the sizes that are tried.
TEST(Fuzz, FindsAFaultOnceAndShrinksIt) {
  const BackendSource source = WrongBackend("MatMul", [](WrongRun& run) {
    if (run.inputs.size() > 1 && run.inputs[0].dims.back() == 17) run.stored[0] ^= 1;
  });
  const FuzzReport report = FuzzIt(source, {.seed = 16, .count = 12, .operators = "MatMul"});
  ASSERT_EQ(report.findings.size(), 1U);
  const FuzzFinding& finding = report.findings[0];
  EXPECT_EQ(finding.kind, "differs");
  EXPECT_EQ(finding.cause, "");
  EXPECT_EQ(finding.operators, (std::map<std::string, std::int64_t>{{"MatMul", report.failures}}));
  EXPECT_EQ(finding.failures, report.failures);
  ASSERT_TRUE(finding.shrunk.has_value()) << finding.detail;
  EXPECT_EQ(finding.shrunk->elements, 34);  // [1, 17] and [17, 1]
  EXPECT_EQ(finding.shrunk->nodes, 1);
}

bool HasKind(const FuzzReport& report, const std::string& kind) {
  return std::ranges::find(report.findings, kind, &FuzzFinding::kind) != report.findings.end();
}

TEST(Fuzz, GoesOnAfterACrashAndKeepsItApart) {
  const BackendSource source = WrongBackend("Relu", [](WrongRun& run) {
    if (run.stored.size() % 2 == 0) run.error = Error{ErrorCode::kIo, "", "ended by signal 11"};
    run.stored[0] ^= 1;
  });
  const FuzzReport report = FuzzIt(source, {.seed = 4, .count = 60, .operators = "Relu"});
  EXPECT_TRUE(HasKind(report, "crash"));
  EXPECT_TRUE(HasKind(report, "differs"));
}

// Whatever the operator: the answers are those of another named arithmetic.
TEST(Fuzz, GroupsByCauseAcrossOperators) {
  BackendSource source;
  source.name = "tflite for exact";
  source.make = []() -> Result<std::unique_ptr<backend::Backend>> {
    return std::unique_ptr<backend::Backend>(std::make_unique<OtherArithmetic>("tflite-double"));
  };
  const FuzzReport report =
      FuzzIt(source, {.arithmetic = "exact", .seed = 3, .count = 60, .operators = "*Mul*"});
  ASSERT_FALSE(report.findings.empty());
  const FuzzFinding& finding = report.findings[0];
  EXPECT_EQ(finding.cause, "tflite-double");
  EXPECT_GE(finding.operators.size(), 2U);
  EXPECT_LE(report.findings.size(), 3U);
  EXPECT_TRUE(finding.shrunk.has_value());
}

// Right once for each model: the second run of a handle gives its first answer.
TEST(Fuzz, FindsAndReducesWhatOnlyASessionShows) {
  BackendSource source = ReferenceSource();
  source.is_reference = false;
  source.make = []() -> Result<std::unique_ptr<backend::Backend>> {
    return std::unique_ptr<backend::Backend>(std::make_unique<Forgetful>());
  };
  const FuzzReport report = FuzzIt(source, {.seed = 6, .count = 40, .operators = "Relu"});
  ASSERT_FALSE(report.findings.empty());
  ASSERT_TRUE(report.findings[0].shrunk.has_value()) << report.findings[0].detail;
  const auto& tags = report.findings[0].shrunk->reduced.tags;
  EXPECT_NE(std::ranges::find(tags, kSessionTag), tags.end());
}

using FuzzJournalTest = TemporaryFolder;

TEST_F(FuzzJournalTest, SaysTheSameTwiceAndAfterAnInterruption) {
  const BackendSource source =
      WrongBackend("Add", [](WrongRun& run) { run.stored.back() ^= run.stored.size() > 2; });
  FuzzOptions options = {.seed = 9, .count = 90, .operators = "A*"};
  const FuzzReport first = FuzzIt(source, options);
  options.journal = folder() + "/journal";
  options.commit = "abc";
  options.count = 70;  // one block of 64 is kept
  (void)FuzzIt(source, options);
  options.count = 90;
  const FuzzReport second = FuzzIt(source, options);
  EXPECT_EQ(first.counts.models, second.counts.models);
  EXPECT_EQ(first.counts.operators, second.counts.operators);
  EXPECT_EQ(first.failures, second.failures);
  ASSERT_EQ(first.findings.size(), second.findings.size());
  ASSERT_FALSE(first.findings.empty());
  for (std::size_t i = 0; i < first.findings.size(); ++i) {
    const FuzzFinding& finding = first.findings[i];
    const FuzzFinding& other = second.findings[i];
    EXPECT_EQ(other.failures, finding.failures);
    ASSERT_TRUE(finding.shrunk && other.shrunk);
    EXPECT_EQ(*ToYaml(other.shrunk->reduced), *ToYaml(finding.shrunk->reduced));
  }
  options.commit = "def";
  EXPECT_FALSE(Fuzz(source, options).has_value());
}

TEST(Fuzz, SharesTheModelsAmongShards) {
  const FuzzOptions whole = {.seed = 9, .count = 50, .operators = "A*"};
  const FuzzReport report = FuzzIt(ReferenceSource(), whole);
  FuzzCounts joined;
  for (std::int64_t i = 1; i <= 3; ++i) {
    FuzzOptions part = whole;
    part.shard = {i, 3};
    joined.Add(FuzzIt(ReferenceSource(), part).counts);
  }
  EXPECT_EQ(joined.models, report.counts.models);
  EXPECT_EQ(joined.operators, report.counts.operators);
}

TEST(Fuzz, RefusesOperatorsAndArithmeticsThereAreNot) {
  const auto none = Fuzz(ReferenceSource(), {.operators = "Nothing*"});
  ASSERT_FALSE(none.has_value());
  EXPECT_THAT(none.error().message, HasSubstr("QLinearConv"));
  EXPECT_FALSE(Fuzz(ReferenceSource(), {.arithmetic = "vague"}).has_value());
}

}  // namespace
}  // namespace qtx::conformance
