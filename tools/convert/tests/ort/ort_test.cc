// ONNX Runtime's calibration data onto a model and out of one. The files are what onnxruntime 1.31
// (onnxruntime.quantization.calibrate) wrote for this net after [1 2 3 4], [-1 -2 0.5 0.125] and
// [0.75 6 -3 1], wrapped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "ort/entries.h"
#include "tests/files.h"
#include "tests/qdq/maker.h"

namespace qtx::convert::ort_test {
namespace {

using format::ElementType;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// y = Relu(x + (0.5 -0.5 0.25 0))
format::Model Net() {
  OnnxMaker maker;
  maker.model.graph.inputs = {OnnxMaker::Value("x", ElementType::kFloat, {1, 4})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kFloat, {1, 4})};
  maker.model.graph.values = {OnnxMaker::Value("s", ElementType::kFloat, {1, 4})};
  maker.Initializer<float>("w", ElementType::kFloat, {4}, {0.5F, -0.5F, 0.25F, 0});
  maker.Node("Add", {"x", "w"}, {"s"});
  maker.Node("Relu", {"s"}, {"y"});
  return maker.model;
}

Result<Conversion> ReadCalibration(const std::string& text, const Options& options = {}) {
  const auto folder = TestFolder();
  EXPECT_TRUE(Net().Save((folder / "net.onnx").string()).has_value());
  WriteBytes(folder / "net.json", text);
  return ReadFileAs(folder / "net.json", nullptr, options);
}

format::Statistics StatisticsOf(const Result<Conversion>& conversion, const std::string& value) {
  if (!conversion.has_value()) {
    ADD_FAILURE() << ErrorOf(conversion);
    return {};
  }
  const format::ValueInfo* info = conversion->model.graph.FindValue(value);
  return info != nullptr && info->type && info->type->statistics ? *info->type->statistics
                                                                 : format::Statistics();
}

constexpr const char* kMinMax =
    R"({"CLS": "TensorsData", "data": {"y": {"lowest": {"data": [0.0], "dtype": "float32", "CLS": )"
    R"("numpy.array"}, "highest": {"data": [5.5], "dtype": "float32", "CLS": "numpy.array"}, "CLS": )"
    R"("TensorData"}, "s": {"lowest": {"data": [-2.75], "dtype": "float32", "CLS": "numpy.array"}, )"
    R"("highest": {"data": [5.5], "dtype": "float32", "CLS": "numpy.array"}, "CLS": "TensorData"}}, )"
    R"("calibration_method": {"CLS": "CalibrationMethod", "value": "CalibrationMethod.MinMax"}, )"
    R"("smooth_quant": false})";

constexpr const char* kEntropy =
    R"({"CLS": "TensorsData", "data": {"s": {"lowest": -2.75, "highest": 5.5, "hist": {"data": [0, 0, )"
    R"(0, 0, 2, 0, 0, 1, 1, 3, 2, 0, 1, 1, 0, 1], "dtype": "int64", "CLS": "numpy.array"}, "bins": )"
    R"({"data": [-5.5, -4.8125, -4.125, -3.4375, -2.75, -2.0625, -1.375, -0.6875, 0.0, 0.6875, 1.375, )"
    R"(2.0625, 2.75, 3.4375, 4.125, 4.8125, 5.5], "dtype": "float32", "CLS": "numpy.array"}, "CLS": )"
    R"("TensorData"}}, "calibration_method": {"CLS": "CalibrationMethod", "value": )"
    R"("CalibrationMethod.Entropy"}, "smooth_quant": false})";

constexpr const char* kPercentile =
    R"({"CLS": "TensorsData", "data": {"s": {"lowest": -2.75, "highest": {"data": 3.8203125, "dtype": )"
    R"("float32", "CLS": "numpy.array"}, "hist": 1, "bins": 2, "CLS": "TensorData"}}, )"
    R"("calibration_method": {"CLS": "CalibrationMethod", "value": "CalibrationMethod.Percentile"}, )"
    R"("smooth_quant": false})";

constexpr const char* kPerChannel =
    R"({"CLS": "TensorsData", "data": {"y": {"lowest": {"data": [0.0, 0.0, 0.0, 0.125], "dtype": )"
    R"("float32", "CLS": "numpy.array"}, "highest": {"data": [1.5, 5.5, 3.25, 4.0], "dtype": "float32", )"
    R"("CLS": "numpy.array"}, "CLS": "TensorData"}}, "calibration_method": {"CLS": "CalibrationMethod", )"
    R"("value": "CalibrationMethod.MinMax"}, "smooth_quant": false})";

TEST(OrtCalibration, GivesMinimaAndMaxima) {
  const auto conversion = ReadCalibration(kMinMax);
  EXPECT_THAT(StatisticsOf(conversion, "s").min, ElementsAre(-2.75));
  EXPECT_THAT(StatisticsOf(conversion, "s").max, ElementsAre(5.5));
  EXPECT_THAT(StatisticsOf(conversion, "y").min, ElementsAre(0));
  EXPECT_EQ(StatisticsOf(conversion, "y").source, "onnxruntime MinMax");
}

TEST(OrtCalibration, PerChannelIsAxisOne) {
  const format::Statistics y = StatisticsOf(ReadCalibration(kPerChannel), "y");
  EXPECT_THAT(y.axis, ElementsAre(1));
  EXPECT_THAT(y.min, ElementsAre(0, 0, 0, 0.125));
  EXPECT_THAT(y.max, ElementsAre(1.5, 5.5, 3.25, 4));
}

// Relu gives the shape of its input, which the model declares.
TEST(OrtCalibration, TakesASizeThatFollowsFromTheModel) {
  const auto folder = TestFolder();
  format::Model net = Net();
  net.graph.values.clear();
  ASSERT_TRUE(net.Save((folder / "net.onnx").string()).has_value());
  std::string text = kPerChannel;
  text.replace(text.find("\"y\""), 3, "\"s\"");
  WriteBytes(folder / "net.json", text);
  const format::Statistics s = StatisticsOf(ReadFileAs(folder / "net.json", nullptr, {}), "s");
  EXPECT_THAT(s.axis, ElementsAre(1));
  EXPECT_THAT(s.max, ElementsAre(1.5, 5.5, 3.25, 4));
}

// Twelve values, none outside -5.5 to 5.5.
TEST(OrtCalibration, KeepsTheHistogramOfEntropy) {
  const format::Statistics s = StatisticsOf(ReadCalibration(kEntropy, {.allow = {"range"}}), "s");
  ASSERT_TRUE(s.histogram.has_value());
  EXPECT_EQ(s.histogram->lower, -5.5);
  EXPECT_EQ(s.histogram->upper, 5.5);
  EXPECT_THAT(s.histogram->counts, ElementsAre(0, 0, 0, 0, 2, 0, 0, 1, 1, 3, 2, 0, 1, 1, 0, 1));
  EXPECT_EQ(s.count, 12U);
}

TEST(OrtCalibration, TakesAChosenRangeForExtremesWithLeaveOnly) {
  EXPECT_THAT(ErrorOf(ReadCalibration(kEntropy)), HasSubstr("--allow range"));
  const auto allowed = ReadCalibration(kPercentile, {.allow = {"range"}});
  EXPECT_THAT(StatisticsOf(allowed, "s").max, ElementsAre(3.8203125));
  EXPECT_FALSE(StatisticsOf(allowed, "s").histogram.has_value());  // 1 and 2 are no histogram
}

// What versions before 1.16 wrote, and write_calibration_table writes: no outer object.
TEST(OrtCalibration, ReadsTheFormsWithoutAMethod) {
  const auto table = ort::ParseCalibration(R"({"s": {"lowest": -2.75, "highest": 5.5}})");
  ASSERT_TRUE(table.has_value());
  EXPECT_EQ(table->method, "MinMax");
  EXPECT_THAT(table->entries[0].highest, ElementsAre(5.5));
  const auto pairs = ort::ParseCalibration(R"({"s": [-2.75, 5.5], "y": [0, 5.5]})");
  ASSERT_TRUE(pairs.has_value());
  EXPECT_THAT(pairs->entries[0].lowest, ElementsAre(-2.75));
}

std::string Written(const format::Model& model, const Options& options = {}) {
  const auto written = Write(model, *FindKind("ort"), options);
  return written.has_value() ? std::get<std::string>(written->content) : ErrorOf(written);
}

TEST(OrtCalibration, WritesWhatItReads) {
  for (const char* text : {kMinMax, kPerChannel}) {
    const auto conversion = ReadCalibration(text);
    ASSERT_TRUE(conversion.has_value()) << ErrorOf(conversion);
    const auto again = ReadCalibration(Written(conversion->model));
    ASSERT_TRUE(again.has_value()) << ErrorOf(again);
    EXPECT_EQ(again->model, conversion->model);
  }
}

// Bins of a quarter from -0.5 to 0.5; 1/3 is no binary32.
TEST(OrtCalibration, WritesHistogramsAndRoundedMeans) {
  format::Model model = Net();
  format::Statistics s{.min = {-0.5}, .max = {0.375}, .mean = {1.0 / 3}, .std = {0.25}, .count = 6};
  s.histogram = format::Histogram{.lower = -0.5, .upper = 0.5, .counts = {1, 2, 0, 3}};
  model.graph.inputs[0].type->statistics = s;
  const auto again = ReadCalibration(Written(model));
  format::Statistics read = StatisticsOf(again, "x");
  EXPECT_THAT(read.mean, ElementsAre(static_cast<double>(static_cast<float>(1.0 / 3))));
  read.mean = s.mean;
  read.source.clear();
  EXPECT_EQ(read, s);
}

TEST(OrtCalibration, NamesWhatItHasNoPlaceFor) {
  format::Model model = Net();
  model.graph.inputs[0].type->statistics =
      format::Statistics{.min = {0}, .max = {1}, .nan_count = 1};
  EXPECT_THAT(Written(model), HasSubstr("x: nan and infinity counts"));
  EXPECT_THAT(Written(model, {.allow = {"statistics"}}), HasSubstr("\"x\""));
  model.graph.inputs[0].type->statistics =
      format::Statistics{.min = {0}, .max = {1}, .std = {1e39}};
  EXPECT_THAT(Written(model), HasSubstr("beyond binary32"));
  EXPECT_THAT(Written(Net()), HasSubstr("no value has a min and a max"));
}

struct Broken {
  const char* text;
  const char* error;
};

class BrokenOrtCalibration : public testing::TestWithParam<Broken> {};

TEST_P(BrokenOrtCalibration, IsRefused) {
  const auto calibration = ort::ParseCalibration(GetParam().text);
  ASSERT_FALSE(calibration.has_value());
  EXPECT_THAT(calibration.error().where + ": " + calibration.error().message,
              HasSubstr(GetParam().error));
}

INSTANTIATE_TEST_SUITE_P(
    All, BrokenOrtCalibration,
    testing::Values(
        Broken{R"({"data": {"s": )", "line 1, column 16"}, Broken{"[]", "expected an object"},
        Broken{R"({"data": {"s": 3}})", "value 's': expected an object or a pair"},
        Broken{R"({"data": {"s": {"lowest": "a", "highest": 1}}})", "lowest: expected a number"},
        Broken{R"({"data": {"s": {"lowest": [1, 2], "highest": 1}}})", "found 2 and 1"},
        Broken{R"({"data": {"s": {"hist": [1, 2], "bins": [0, 1]}}})", "expected one more"},
        Broken{R"({"data": {"s": {"hist": [1.5], "bins": [0, 1]}}})", "expected counts"},
        Broken{R"({"data": {}, "calibration_method": "Guess"})", "found 'Guess'"},
        Broken{R"({"data": {}, "method": "MinMax"})", "found unknown key 'method'"},
        Broken{R"({"data": {"s": {"lowst": 0}}})", "value 's': found unknown key 'lowst'"},
        Broken{R"({"data": {"s": {"lowest": 0, "lowest": 1, "highest": 2}}})",
               "value 's': found key 'lowest' twice"},
        Broken{R"({"data": {"s": {"lowest": {"date": 1}, "highest": 2}}})",
               "value 's': lowest: found unknown key 'date'"}));

TEST(OrtCalibration, RefusesBinsOfDifferentWidths) {
  const std::string text = kEntropy;
  EXPECT_THAT(ErrorOf(ReadCalibration(std::string(text).replace(text.find("-4.125"), 6, "-4.000"),
                                      {.allow = {"range"}})),
              HasSubstr("bins of different widths"));
}

// Whatever is cut off or changed: a model that Check passes, or one error.
TEST(OrtCalibration, SurvivesDamage) {
  std::mt19937 random(7);
  const std::string text = kEntropy;
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = text;
    damaged[random() % damaged.size()] = static_cast<char>(random());
    if (i % 4 == 0) damaged.resize(random() % damaged.size());
    const auto calibration = ort::ParseCalibration(damaged);
    EXPECT_TRUE(calibration.has_value() || !calibration.error().message.empty());
  }
}

}  // namespace
}  // namespace qtx::convert::ort_test
