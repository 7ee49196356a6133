// Runs of models that are made up, with samples and executors that are.
#include "qtx/calibrate/calibrate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "qtx/format/annotation.h"
#include "qtx/format/check.h"
#include "tests/data/files.h"

namespace qtx::calibrate::calibrate_test {
namespace {

using format::Model;
using format::Statistics;
using format::Tensor;
using testing::ElementsAre;
using testing::HasSubstr;

// Samples that are given.
class Given : public Samples {
 public:
  explicit Given(std::vector<Tensor> tensors) : tensors_(std::move(tensors)) {}
  std::int64_t size() const override { return std::ssize(tensors_); }
  std::string Name(std::int64_t index) const override { return "s" + std::to_string(index); }
  std::string Digest() const override { return "given"; }
  Sample Read(std::int64_t index) const override {
    return std::vector<Tensor>{tensors_[static_cast<std::size_t>(index)]};
  }

 private:
  std::vector<Tensor> tensors_;
};

format::Node Node(const char* op, std::vector<std::string> inputs, const char* output,
                  std::vector<format::Attribute> attributes = {}) {
  return {.op_type = op,
          .inputs = std::move(inputs),
          .outputs = {output},
          .attributes = std::move(attributes)};
}

// x of `dims`, -1 being N; y is declared without a shape.
Model ModelWith(const format::Dims& dims, std::vector<format::Node> nodes) {
  Model model = ModelOf({{"x", dims}});
  model.ir_version = 8;
  model.opset_imports = {{"", 17, ""}};
  model.graph.name = "g";
  model.graph.nodes = std::move(nodes);
  format::ValueInfo y{.name = "y", .type = format::TensorType()};
  y.type->elem_type = format::ElementType::kFloat;
  model.graph.outputs = {y};
  return model;
}

Result<Calibration> Measure(const Model& model, const Samples& samples,
                            const Options& options = {}) {
  return Calibrate(model, samples, ReferenceExecutor(model), options);
}

std::string ShapeOf(const Model& model, const std::string& value) {
  const auto* info = model.graph.FindValue(value);
  if (info == nullptr || !info->type) return "none";
  return info->type->shape ? format::ToString(*info->type->shape) : "unknown";
}

const Statistics& Of(const Model& model, const std::string& value) {
  return *model.graph.FindValue(value)->type->statistics;
}

TEST(Calibrate, LeavesSizesOpenThatFollowFromOpenOnes) {
  const Model model =
      ModelWith({-1, 3}, {Node("Relu", {"x"}, "same"), Node("Transpose", {"same"}, "turned"),
                          Node("Concat", {"x", "x"}, "twice", {format::Attribute::Int("axis", 0)}),
                          Node("ReduceMax", {"x"}, "fixed", {format::Attribute::Ints("axes", {0})}),
                          Node("Neg", {"twice"}, "y")});
  const auto done =
      Measure(model, Given({Floats({1, 3}, {1, 2, 3})}), {.statistics = {.axis = 1, .bins = 8}});
  ASSERT_TRUE(done.has_value()) << done.error().where << done.error().message;
  EXPECT_EQ(ShapeOf(done->model, "x"), "[N,3]");
  EXPECT_EQ(ShapeOf(done->model, "same"), "[N,3]");
  EXPECT_EQ(ShapeOf(done->model, "turned"), "[3,N]");
  EXPECT_EQ(ShapeOf(done->model, "twice"), "[?,3]");
  EXPECT_EQ(ShapeOf(done->model, "fixed"), "[1,3]");
  EXPECT_THAT(Of(done->model, "twice").axis, ElementsAre(1));
  EXPECT_TRUE(Of(done->model, "turned").axis.empty());  // its axis 1 is N
  EXPECT_TRUE(format::Check(done->model).empty());
}

// Statistics of the axis are given up where its size changes from sample to sample, whoever sees
// that first: one run, or the merge of two.
TEST(Calibrate, IsPerTensorWhereTheAxisChangesItsSize) {
  const Model model = ModelWith({1, -1}, {Node("Neg", {"x"}, "mid"), Node("Relu", {"mid"}, "y")});
  const Given samples({Floats({1, 2}, {1, 2}), Floats({1, 3}, {3, 4, 5}), Floats({1, 2}, {7, 8})});
  Options options{.statistics = {.axis = 1, .bins = 8}};
  const auto whole = Measure(model, samples, options);
  ASSERT_TRUE(whole.has_value());
  EXPECT_TRUE(Of(whole->model, "mid").axis.empty());
  EXPECT_EQ(Of(whole->model, "mid").count, 7U);
  EXPECT_EQ(ShapeOf(whole->model, "mid"), "[1,N]");
  std::vector<Model> shards;
  options.shard_count = 3;
  for (options.shard_index = 1; options.shard_index <= 3; ++options.shard_index) {
    shards.push_back(Measure(model, samples, options)->model);
  }
  std::ranges::reverse(shards);
  const auto merged = MergeModels(shards);
  ASSERT_TRUE(merged.has_value()) << merged.error().where << merged.error().message;
  EXPECT_EQ(*merged->model.Serialize(), *whole->model.Serialize());
}

// e^1000 is beyond binary32, its difference from itself NaN.  Source: statistics.S4.
TEST(Calibrate, CountsWhereAValueHasNothingFinite) {
  const Model model = ModelWith(
      {1, 2},
      {Node("Exp", {"x"}, "inf"), Node("Sub", {"inf", "inf"}, "nan"), Node("Neg", {"x"}, "y")});
  for (const Options& options :
       {Options{.statistics = {.bins = 8}}, Options{.statistics = {.axis = 1, .bins = 8}}}) {
    const auto done = Measure(model, Given({Floats({1, 2}, {1000, 2000})}), options);
    ASSERT_TRUE(done.has_value()) << done.error().where << done.error().message;
    for (const char* name : {"inf", "nan"}) {
      const Statistics& s = Of(done->model, name);
      EXPECT_TRUE(s.min.empty() && s.max.empty() && s.mean.empty() && s.std.empty()) << name;
      EXPECT_FALSE(s.histogram.has_value()) << name;
      EXPECT_EQ(s.count, 0U) << name;
    }
    EXPECT_EQ(Of(done->model, "inf").infinity_count, 2U);
    EXPECT_EQ(Of(done->model, "nan").nan_count, 2U);
    for (const format::Finding& finding : format::Check(done->model))
      ADD_FAILURE() << finding.rule << " " << finding.where << ": " << finding.message;
  }
}

TEST(Calibrate, NamesValuesOfOtherTypes) {
  Model model = ModelWith({2}, {Node("Shape", {"x"}, "size"), Node("Neg", {"x"}, "y")});
  const auto done = Measure(model, Given({Floats({2}, {1, 2})}));
  ASSERT_TRUE(done.has_value());
  ASSERT_EQ(done->left_out.size(), 1U);
  EXPECT_EQ(done->left_out[0].value, "size");
  EXPECT_EQ(done->left_out[0].why, "INT64");
}

TEST(Calibrate, ReplacesStatisticsOfAnEarlierRun) {
  const Model model = ModelWith({1}, {Node("Neg", {"x"}, "mid"), Node("Neg", {"mid"}, "y")});
  const auto first = Measure(model, Given({Floats({1}, {5})}));
  ASSERT_TRUE(first.has_value());
  const auto direct = Measure(model, Given({Floats({1}, {7})}));
  const auto again = Measure(first->model, Given({Floats({1}, {7})}));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(*again->model.Serialize(), *direct->model.Serialize());
}

// Lowering left a digest of annotations; statistics are part of those.
TEST(Calibrate, KeepsTheDigestOfAnnotationsTrue) {
  Model model = ModelWith({1}, {Node("Neg", {"x"}, "y")});
  model.metadata = {{std::string(format::kDigestKey), ToText(*format::DigestOf(model.graph))}};
  ASSERT_TRUE(format::CheckDigest(model).has_value());
  const auto done = Measure(model, Given({Floats({1}, {5})}));
  ASSERT_TRUE(done.has_value());
  EXPECT_TRUE(format::CheckDigest(done->model).has_value());
  const auto merged = MergeModels(std::vector{done->model});
  ASSERT_TRUE(merged.has_value());
  EXPECT_EQ(*merged->model.Serialize(), *done->model.Serialize());
}

// What tools drop that do not know the fields shows (statistics.C7), and viewers show the rest.
TEST(Calibrate, RecordsAndDescribesItsStatistics) {
  const Model model = ModelWith({1}, {Node("Neg", {"x"}, "y")});
  const auto done = Measure(model, Given({Floats({1}, {5}), Floats({1}, {7})}));
  ASSERT_TRUE(done.has_value());
  ASSERT_NE(format::FindMetadata(done->model.metadata, format::kStatisticsKey), nullptr);
  EXPECT_TRUE(format::CheckStatisticsDigest(done->model).has_value());
  EXPECT_EQ(done->model.graph.inputs[0].doc_string, "min 5, max 7, mean 6, std 1 of 2 values");
}

// Shows values, then fails where x is 13.
class Unlucky : public Executor {
 public:
  Result<void> Run(std::span<const Tensor> inputs, const Observer& observer) override {
    observer("x", inputs[0]);  // an input counts once all the same
    observer("y", inputs[0]);
    if (inputs[0].As<float>()[0] == 13) return Error{ErrorCode::kInvalid, "node 'n'", "bad luck"};
    return {};
  }
};

Result<Calibration> RunUnlucky(const std::vector<float>& values, const Options& options) {
  const Model model = ModelWith({1}, {Node("Neg", {"x"}, "y")});
  std::vector<Tensor> samples;
  samples.reserve(values.size());
  for (const float value : values) samples.push_back(Floats({1}, {value}));
  return Calibrate(
      model, Given(samples),
      []() -> Result<std::unique_ptr<Executor>> { return std::make_unique<Unlucky>(); }, options);
}

TEST(Calibrate, ForgetsWhatASampleShowedBeforeItFailed) {
  const auto done = RunUnlucky({1, 13, 2}, {.threads = 2, .skip_bad_samples = true});
  ASSERT_TRUE(done.has_value());
  EXPECT_THAT(Of(done->model, "x").max, ElementsAre(2));
  EXPECT_EQ(Of(done->model, "x").count, 2U);
  EXPECT_THAT(Of(done->model, "y").max, ElementsAre(2));
  ASSERT_EQ(done->skipped.size(), 1U);
  EXPECT_EQ(done->skipped[0], (SkippedSample{"s1", "execution", "node 'n': bad luck"}));
  EXPECT_EQ(done->progress.skipped, 1);
}

TEST(Calibrate, FailsAtTheFirstBadSampleForAnyThreads) {
  std::vector<float> values(200, 1);
  for (std::size_t i = 90; i < values.size(); ++i) values[i] = 13;
  for (int threads = 1; threads <= 8; ++threads) {
    const auto done = RunUnlucky(values, {.threads = threads});
    ASSERT_FALSE(done.has_value());
    EXPECT_EQ(done.error().where, "model: with sample 's90': node 'n'");
  }
}

TEST(Calibrate, GoesOnFromAJournalOfAFailedRun) {
  const auto folder = TestFolder();
  const std::string journal = (folder / "journal").string();
  Options options{.journal = journal};
  ASSERT_FALSE(RunUnlucky({1, 2, 13, 4}, options).has_value());
  options.skip_bad_samples = true;
  const auto done = RunUnlucky({1, 2, 13, 4}, options);
  ASSERT_TRUE(done.has_value()) << done.error().where << done.error().message;
  EXPECT_EQ(done->progress.resumed, 2);
  options.journal.clear();
  EXPECT_EQ(*done->model.Serialize(), *RunUnlucky({1, 2, 13, 4}, options)->model.Serialize());
  // What is skipped is in the journal as well.
  options.journal = journal;
  const auto whole = RunUnlucky({1, 2, 13, 4}, options);
  EXPECT_EQ(whole->progress.resumed, 4);
  EXPECT_EQ(whole->skipped, done->skipped);
  EXPECT_EQ(*done->model.Serialize(), *whole->model.Serialize());
}

// Cut anywhere, or with a byte changed, a journal is refused, or is one whose numbers nobody could
// know to be wrong.
TEST(Calibrate, RefusesDamagedJournals) {
  const auto folder = TestFolder();
  const std::string journal = (folder / "journal").string();
  ASSERT_TRUE(RunUnlucky({1, 2, 3}, {.journal = journal}).has_value());
  const std::string whole = ContentsOf(journal);
  for (std::size_t size = 1; size < whole.size(); size += 5) {
    WriteBytes(journal, whole.substr(0, size));
    const auto done = RunUnlucky({1, 2, 3}, {.journal = journal});
    EXPECT_TRUE(done.has_value() || done.error().where.starts_with(journal));
  }
  for (std::size_t at = 0; at < whole.size(); at += 2) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
    WriteBytes(journal, damaged);
    const auto done = RunUnlucky({1, 2, 3}, {.journal = journal});
    EXPECT_TRUE(done.has_value() || done.error().where.starts_with(journal));
  }
}

TEST(Calibrate, RefusesOptionsOutOfRange) {
  for (const Options& options :
       {Options{.statistics = {.axis = {}, .bins = 1}},
        Options{.statistics = {.axis = {}, .bins = -5}},
        Options{.statistics = {.axis = {}, .bins = (1 << 20) + 1}}, Options{.threads = 0},
        Options{.shard_index = 0}, Options{.shard_index = 3, .shard_count = 2}}) {
    EXPECT_EQ(RunUnlucky({1}, options).error().code, ErrorCode::kInvalid);
  }
}

TEST(MergeModels, RefusesWhatNobodyCalibrated) {
  EXPECT_FALSE(MergeModels({}).has_value());
  Model model = RunUnlucky({1, 2}, {})->model;
  EXPECT_THAT(MergeModels(std::vector{model, model}).error().message, HasSubstr("twice"));
  for (const char* text : {"", "{}", "[]", "{\"version\":2}", "{\"version\":1,\"model\":3}"}) {
    model.metadata[0].second = text;
    EXPECT_EQ(MergeModels(std::vector{model}).error().code, ErrorCode::kInvalid) << text;
  }
}

TEST(MergeModels, ReadsItsMetadataStrictly) {
  const Model good = RunUnlucky({1, 13}, {.skip_bad_samples = true})->model;
  struct Change {
    std::string from, to, says;
  };
  const Change changes[] = {
      {"\"axis\"", "\"surprise\":1,\"axis\"", "found unknown key 'surprise'"},
      {"\"axis\":null", "\"axis\":null,\"axis\":1", "found key 'axis' twice"},
      {"\"axis\":null", "\"axis\":\"0\"", "axis: expected an integer"},
      {",\"axis\":null", "", "axis: found none, expected a value"},
      {"\"samples\":1", "\"samples\":true", "parts[0]: samples: expected an integer"},
      {"\"samples\":1", "\"samples\":1,\"samples\":1", "parts[0]: found key 'samples' twice"},
      {"\"reason\"", "\"reasons\"", "parts[0]: skipped[0]: reason: found none"},
      {"\"reason\"", "\"why\":\"\",\"reason\"", "parts[0]: skipped[0]: found unknown key 'why'"},
  };
  for (const auto& [from, to, says] : changes) {
    Model model = good;
    std::string& text = model.metadata[0].second;
    ASSERT_NE(text.find(from), std::string::npos) << text;
    text.replace(text.find(from), from.size(), to);
    const auto merged = MergeModels(std::vector{model});
    ASSERT_FALSE(merged.has_value()) << says;
    EXPECT_THAT(merged.error().Text(),
                testing::StartsWith("models[0]: metadata_props 'qtx.calibration': " + says));
  }
  Model twice = good;
  twice.metadata.push_back(twice.metadata[0]);
  EXPECT_THAT(MergeModels(std::vector{twice}).error().message, HasSubstr("found it twice"));
}

TEST(Calibrate, ReadsItsJournalStrictly) {
  const auto folder = TestFolder();
  const std::string journal = (folder / "journal").string();
  ASSERT_TRUE(RunUnlucky({1, 13}, {.skip_bad_samples = true, .journal = journal}).has_value());
  const Model good = *Model::Load(journal);
  const std::pair<std::string, std::string> changes[] = {
      {"\"done\"", "found unknown key 'surprise'"},
      {"\"reason\"", "skipped[0]: found unknown key 'surprise'"}};
  for (const auto& [key, says] : changes) {
    Model model = good;
    std::string& text = model.metadata[0].second;
    text.insert(text.find(key), "\"surprise\":0,");
    ASSERT_TRUE(model.Save(journal).has_value());
    const auto done = RunUnlucky({1, 13}, {.skip_bad_samples = true, .journal = journal});
    ASSERT_FALSE(done.has_value()) << says;
    EXPECT_THAT(done.error().Text(), testing::StartsWith(journal + ": " + says));
  }
}

// One process would have failed: so do its shards, but not before all of them are there.
TEST(MergeModels, FailsWhereNoSampleIsLeft) {
  Options options{.skip_bad_samples = true, .shard_count = 2};
  const Model first = RunUnlucky({13, 13}, options)->model;
  options.shard_index = 2;
  const Model second = RunUnlucky({13, 13}, options)->model;
  EXPECT_TRUE(MergeModels(std::vector{first}).has_value());
  EXPECT_THAT(MergeModels(std::vector{second, first}).error().message, HasSubstr("no sample"));
}

// Sums that contradict the extremes beside them.
TEST(MergeModels, RefusesMomentsThatNoSampleHas) {
  const Model good = RunUnlucky({1, 2, 3, 4}, {.shard_count = 2})->model;
  Model bad = RunUnlucky({1, 2, 3, 4}, {.shard_index = 2, .shard_count = 2})->model;
  bad.graph.inputs[0].type->statistics->moments[0].sum_of_squares = {-4, "\x01"};
  ASSERT_TRUE(format::RecordStatistics(bad).has_value());
  const auto merged = MergeModels(std::vector{good, bad});
  ASSERT_FALSE(merged.has_value());
  EXPECT_EQ(merged.error().where, "models[1]: value 'x': moments");
}

// y is x doubled three times: v, in the body, is x, 2x and 4x.
Model Doubling() {
  Model model = ModelWith({2}, {Node("Loop", {"n", "", "x"}, "y")});
  Tensor n = *format::MakeTensor(format::ElementType::kInt64, {});
  n.As<std::int64_t>()[0] = 3;
  model.graph.initializers = {format::ToTensorData("n", n)};
  const auto value = [](const char* name, format::ElementType type, const format::Dims& dims) {
    format::ValueInfo info{.name = name, .type = format::TensorType()};
    info.type->elem_type = type;
    info.type->shape = format::ToShape(dims);
    return info;
  };
  using enum format::ElementType;
  format::Attribute body;
  body.name = "body";
  body.type = format::AttributeType::kGraph;
  body.graphs.resize(1);
  format::Graph& graph = body.graphs[0];
  graph.name = "body";
  graph.inputs = {value("i", kInt64, {}), value("go", kBool, {}), value("v", kFloat, {2})};
  graph.nodes = {Node("Identity", {"go"}, "on"), Node("Add", {"v", "v"}, "next")};
  graph.outputs = {value("on", kBool, {}), value("next", kFloat, {2})};
  model.graph.nodes[0].attributes = {body};
  return model;
}

// Each iteration counts.
TEST(Calibrate, MeasuresValuesOfBodies) {
  const Model model = Doubling();
  const auto done = Measure(model, Given({Floats({2}, {1, -3}), Floats({2}, {2, 0})}));
  ASSERT_TRUE(done.has_value()) << done.error().where << done.error().message;
  EXPECT_TRUE(format::Check(done->model).empty());
  const format::Graph& body = done->model.graph.nodes[0].attributes[0].graphs[0];
  const Statistics& v = *body.inputs[2].type->statistics;
  EXPECT_EQ(v.count, 12U);
  EXPECT_THAT(v.min, ElementsAre(-12));
  EXPECT_THAT(v.max, ElementsAre(8));
  const Statistics& next = *body.outputs[1].type->statistics;
  EXPECT_THAT(next.min, ElementsAre(-24));
  EXPECT_THAT(next.max, ElementsAre(16));
  EXPECT_THAT(Of(done->model, "y").min, ElementsAre(-24));
  std::vector<std::string> left_out;
  for (const LeftOut& value : done->left_out) left_out.push_back(value.value);
  EXPECT_THAT(left_out, testing::UnorderedElementsAre("y.body/i", "y.body/go", "y.body/on"));
}

TEST(MergeModels, JoinsValuesOfBodies) {
  const Model model = Doubling();
  const Given samples({Floats({2}, {1, -3}), Floats({2}, {2, 0})});
  std::vector<Model> shards;
  for (const std::int64_t shard : {1, 2}) {
    shards.push_back(Measure(model, samples, {.shard_index = shard, .shard_count = 2})->model);
  }
  const auto merged = MergeModels(shards);
  ASSERT_TRUE(merged.has_value()) << merged.error().where << merged.error().message;
  EXPECT_TRUE(*merged->model.Serialize() == *Measure(model, samples)->model.Serialize());
}

}  // namespace
}  // namespace qtx::calibrate::calibrate_test
