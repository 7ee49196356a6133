// Tables of values: written by hand here, and read back onto a model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "table/text.h"
#include "tests/files.h"
#include "tests/qdq/maker.h"

namespace qtx::convert::table_test {
namespace {

using format::ElementType;
using testing::HasSubstr;

std::string Written(const char* kind, const format::Model& model) {
  const auto written = Write(model, *FindKind(kind), {});
  return written.has_value() ? std::get<std::string>(written->content) : ErrorOf(written);
}

// A name with a comma, a quote and a line break, and every field that a table has.
format::Model Annotated() {
  OnnxMaker maker;
  maker.model.graph.inputs = {OnnxMaker::Value("a,\"b\"\nc", ElementType::kFloat, {2, 3})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kFloat, {2, 3})};
  maker.Node("Relu", {"a,\"b\"\nc"}, {"y"});
  format::TensorType& x = *maker.model.graph.inputs[0].type;
  x.quantization.emplace();
  x.quantization->scale = {0.1F, 0x1p-126F};
  x.quantization->offset = {-3, 4};
  x.quantization->axis = {1};
  x.quantization->block_shape = {2};
  x.quantization->quant_min = -100;
  x.quantization->quant_max = 100;
  x.quantization->scheme = format::Scheme::kAsymmetric;
  x.quantization->storage_type = ElementType::kInt8;
  format::TensorType& y = *maker.model.graph.outputs[0].type;
  y.statistics.emplace();
  y.statistics->min = {-0.1};
  y.statistics->max = {0x1.fffffffffffffp+1};
  y.statistics->mean = {0.0};
  y.statistics->std = {1.0};
  y.statistics->count = 9;
  y.statistics->nan_count = 18446744073709551615U;
  y.statistics->histogram = format::Histogram{-1.0, 1.0, {2, 3}, 1, 3};
  y.statistics->source = "10 \"runs\"";
  y.statistics->moments = {{.count = 9, .sum = {-3, "\x05"}, .sum_of_squares = {0, "\x7f"}}};
  return maker.model;
}

constexpr const char* kHeader =
    "name,elem_type,shape,scale,offset,axis,block_shape,scheme,quant_min,quant_max,storage_type,"
    "requantization.multiplier,requantization.shift,statistics.min,statistics.max,statistics.mean,"
    "statistics.std,statistics.count,statistics.nan_count,statistics.infinity_count,"
    "statistics.axis,statistics.histogram.lower,statistics.histogram.upper,"
    "statistics.histogram.counts,statistics.histogram.below,statistics.histogram.above,"
    "statistics.source,statistics.moments\r\n";

TEST(CsvTable, QuotesAsRfc4180AndPrintsScalesInHex) {
  EXPECT_EQ(
      Written("csv", Annotated()),
      std::string(kHeader) +
          "\"a,\"\"b\"\"\nc\",FLOAT,2 3,0x1.99999ap-4 0x1p-126,-3 4,1,2,asymmetric,-100,100,"
          "INT8,,,,,,,,,,,,,,,,,\r\n"
          "y,FLOAT,2 3,,,,,,,,,,,-0x1.999999999999ap-4,0x1.fffffffffffffp+1,0x0p+0,0x1p+0,9,"
          "18446744073709551615,0,,-0x1p+0,0x1p+0,2 3,1,3,\"10 \"\"runs\"\"\",9;-3;05;0;7f\r\n");
}

TEST(JsonTable, NestsAsInspectDoes) {
  const std::string text = Written("json", Annotated());
  EXPECT_THAT(text, HasSubstr("\"name\": \"a,\\\"b\\\"\\nc\""));
  EXPECT_THAT(text, HasSubstr("\"nan_count\": 18446744073709551615"));
  EXPECT_THAT(text, HasSubstr("\"lower\": \"-0x1p+0\""));
  EXPECT_THAT(text, HasSubstr("\"shape\": [\n    2,\n    3\n   ]"));
}

TEST(JsonTable, KeepsASymbolOfDigits) {
  const std::vector<table::Record> records = {{{"name", "a"}, {"shape", "007 0 12"}}};
  const std::string text = table::JsonText(records);
  EXPECT_THAT(text, HasSubstr("\"007\",\n    0,\n    12\n"));
  std::vector<table::Record> read;
  const auto take = [&read](const table::Record& record) -> Result<void> {
    read.push_back(record);
    return {};
  };
  ASSERT_TRUE(table::ParseJson(text, take).has_value());
  EXPECT_EQ(read, records);
}

format::Model Bare(format::Model model) {
  model.graph.inputs[0].type->quantization.reset();
  model.graph.outputs[0].type->statistics.reset();
  return model;
}

TEST(Tables, ReadBackOntoTheModelBesideThemEqual) {
  for (const char* kind : {"csv", "json"}) {
    const format::Model model = Annotated();
    const auto folder = TestFolder();
    ASSERT_TRUE(Bare(model).Save((folder / "t.onnx").string()).has_value());
    WriteBytes(folder / "t.table", Written(kind, model));
    const auto source = Open((folder / "t.table").string());
    ASSERT_TRUE(source.has_value()) << ErrorOf(source);
    EXPECT_EQ((*KindOf(*source))->name, kind);
    // The name of the file has another ending: the model is found by its stem.
    const auto read = FindKind(kind)->read(*source, {});
    ASSERT_TRUE(read.has_value()) << ErrorOf(read);
    EXPECT_EQ(read->model.graph.inputs, model.graph.inputs) << kind;
    EXPECT_EQ(read->model.graph.outputs, model.graph.outputs) << kind;
  }
}

// As calibration writes it: the value between the nodes is not declared in the float model.
TEST(Tables, BringStatisticsPerAxisToAValueThatTheModelDoesNotDeclare) {
  OnnxMaker maker;
  maker.model.graph.inputs = {OnnxMaker::Value("x", ElementType::kFloat, {2, 3})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kFloat, {2, 3})};
  maker.Node("Relu", {"x"}, {"r"});
  maker.Node("Neg", {"r"}, {"y"});
  format::Model measured = maker.model;
  measured.graph.values = {OnnxMaker::Value("r", ElementType::kFloat, {2, 3})};
  format::TensorType& r = *measured.graph.values[0].type;
  r.statistics.emplace();
  r.statistics->axis = {1};
  r.statistics->min = {0, 0, 0.5};
  r.statistics->max = {1, 2, 3};
  r.statistics->count = 6;
  const auto folder = TestFolder();
  ASSERT_TRUE(maker.model.Save((folder / "t.onnx").string()).has_value());
  for (const char* kind : {"csv", "json"}) {
    WriteBytes(folder / "t.table", Written(kind, measured));
    const auto read = ReadFileAs(folder / "t.table");
    ASSERT_TRUE(read.has_value()) << ErrorOf(read);
    EXPECT_EQ(read->model.graph.values, measured.graph.values) << kind;
  }
  // Without the column the shape follows from the model.
  WriteBytes(folder / "t.csv",
             "name,elem_type,statistics.min,statistics.max,statistics.count,statistics.axis\n"
             "r,FLOAT,0 0 0.5,1 2 3,6,1\n");
  const auto read = ReadFileAs(folder / "t.csv");
  ASSERT_TRUE(read.has_value()) << ErrorOf(read);
  EXPECT_EQ(read->model.graph.values, measured.graph.values);
  WriteBytes(folder / "t.csv",
             "name,elem_type,statistics.min,statistics.max,statistics.count,statistics.axis\n"
             "r,FLOAT,0 0 0.5,1 2 3,6,2\n");
  EXPECT_THAT(ErrorOf(ReadFileAs(folder / "t.csv")),
              HasSubstr("value 'r': statistics.axis: found axis 2, whose size neither"));
}

TEST(Tables, OfQuantizedValuesAnnotateAFloatModel) {
  const auto folder = TestFolder();
  ASSERT_TRUE(Bare(Annotated()).Save((folder / "t.onnx").string()).has_value());
  WriteBytes(folder / "t.csv", "name,elem_type,scale\ny,UINT4Q,0x1p-3\n");
  const auto read = ReadFileAs(folder / "t.csv");
  ASSERT_TRUE(read.has_value()) << ErrorOf(read);
  const auto& q = *read->model.graph.outputs[0].type->quantization;
  EXPECT_EQ(q.storage_type, ElementType::kUint4);
  EXPECT_EQ(q.scale, std::vector<float>{0.125F});
}

TEST(Tables, RefuseNamesOfNoValueUnlessAllowed) {
  const auto folder = TestFolder();
  ASSERT_TRUE(Bare(Annotated()).Save((folder / "t.onnx").string()).has_value());
  WriteBytes(folder / "t.csv", "name,elem_type,scale\nz,INT8Q,1\n");
  EXPECT_THAT(ErrorOf(ReadFileAs(folder / "t.csv")), HasSubstr("z: row: is not a value"));
  EXPECT_TRUE(ReadFileAs(folder / "t.csv", nullptr, {.allow = {"unmatched"}}).has_value());
}

TEST(TableHostile, RefusesWhatIsNoTable) {
  const auto ignore = [](const table::Record&) -> Result<void> { return {}; };
  const auto csv = [&](const char* text) { return ErrorOf(table::ParseCsv(text, ignore)); };
  EXPECT_THAT(csv("name,foo\n"), HasSubstr("line 1: found unknown column 'foo', expected name, "));
  EXPECT_THAT(csv("name,name\n"), HasSubstr("twice"));
  EXPECT_THAT(csv("name,scale\n\"a\n\",1\nb\n"), HasSubstr("line 4: found 1 fields, expected 2"));
  EXPECT_THAT(csv("name\n\"a"), HasSubstr("line 2: found a quote that is not closed"));
  EXPECT_THAT(csv("name\n\"a\"b\n"), HasSubstr("after a closing quote"));
  const auto row = [](table::Record cells) { return ErrorOf(table::ParseRecord(cells)); };
  EXPECT_THAT(row({{"name", "a"}, {"scale", "x"}}), HasSubstr("value 'a': scale: found 'x'"));
  EXPECT_THAT(row({{"scale", "0x1.000001p-3"}}), testing::Not(HasSubstr("no error")));
  EXPECT_THAT(row({{"scale", "1"}, {"offset", "99999999999"}}), HasSubstr("offset"));
  EXPECT_THAT(row({{"elem_type", "INT9"}}), HasSubstr("elem_type: found 'INT9'"));
  EXPECT_THAT(row({{"name", "a"}, {"offset", "1"}}), HasSubstr("'a': offset: found no scale"));
  EXPECT_THAT(row({{"name", "a"}, {"statistics.min", "1"}}),
              HasSubstr("statistics.min: found no statistics.count"));
  EXPECT_THAT(row({{"scale", "1"}}), HasSubstr("found no name"));
}

struct Text {
  const char* json;
  const char* says;
};

// Each says where: the line, the record, the key; what is there; what belongs there.
TEST(TableHostile, SaysWhatItDoesNotKnowOfJson) {
  const Text texts[] = {
      {R"({"values": 3})", "line 1, column 12: values: found '3', expected an array \"values\""},
      {R"([])", "found an array, expected an object with \"values\""},
      {R"(3)", "found '3', expected an object with \"values\""},
      {R"({"value": []})", "found unknown key 'value', expected \"values\""},
      {R"({"nodes": [{"a": [3]}]})", "found no \"values\", expected an array of records"},
      {R"({"values": [], "values": []})", "found key 'values' twice, expected it once"},
      {"{\"values\": [\n{\"name\": \"a\"},\n3]}",
       "line 3, column 1: values[1]: found '3', expected an object, the record of a value"},
      {R"({"values": [[], []]})", "values[0]: found an array, expected an object"},
      {R"({"values": [null]})", "values[0]: found true, false or null, expected an object"},
      {R"({"values": [{"scael": "1"}]})", "values[0]: found unknown key 'scael', expected name, "},
      {R"({"values": [{"name": "a", "name": "b"}]})", "values[0]: found key 'name' twice"},
      {R"({"values": [{"statistics": {"minn": 1}}]})", "found unknown key 'statistics.minn'"},
      {R"({"values": [{"statistics": {}, "statistics": {}}]})", "found key 'statistics' twice"},
      {R"({"values": [{"statistics": 3}]})", "values[0].statistics: found '3', expected an object"},
      {R"({"values": [{"name": ["a"]}]})",
       "values[0].name: found an array, expected a text or a number"},
      {R"({"values": [{"scale": [[1]]}]})",
       "values[0].scale: found an array, expected a text or a number"},
      {R"({"values": [{"scale": {"data": 1}}]})",
       "values[0].scale: found an object, expected a list of texts or numbers"},
      {R"({"values": [{"scale": true}]})",
       "values[0].scale: found true, false or null, expected a list"},
      {R"({"schema": "qtx/evil/9", "values": []})",
       "schema: found 'qtx/evil/9', expected 'qtx/inspect/1'"},
      {R"({"schema": null, "values": []})",
       "schema: found true, false or null, expected 'qtx/inspect/1'"},
      {R"({"values": [)", "line 1, column 13: found no JSON: "},
  };
  const auto ignore = [](const table::Record&) -> Result<void> { return {}; };
  for (const Text& text : texts)
    EXPECT_THAT(ErrorOf(table::ParseJson(text.json, ignore)), HasSubstr(text.says)) << text.json;
  const std::string deep = "{\"nodes\": " + std::string(1000000, '[');
  EXPECT_THAT(ErrorOf(table::ParseJson(deep, ignore)), HasSubstr("more than 32 levels"));
}

TEST(Tables, ThatSayNothingOfTheModelAreAnErrorAndIdleRowsAreCounted) {
  const auto folder = TestFolder();
  ASSERT_TRUE(Bare(Annotated()).Save((folder / "t.onnx").string()).has_value());
  WriteBytes(folder / "t.csv", "name,elem_type,scale\ny,FLOAT,\n");
  EXPECT_THAT(ErrorOf(ReadFileAs(folder / "t.csv")),
              HasSubstr("found no scale and no statistics in 1 rows"));
  WriteBytes(folder / "t.csv", "name,elem_type,scale\ny,INT8Q,1\n\"a,\"\"b\"\"\nc\",FLOAT,\n");
  const auto read = ReadFileAs(folder / "t.csv");
  ASSERT_TRUE(read.has_value()) << ErrorOf(read);
  EXPECT_EQ(read->ledger.back().why, "1 of 2 rows give the model no scale and no statistics");
}

TEST(TableHostile, SurvivesTruncationAndDamage) {
  const auto folder = TestFolder();
  ASSERT_TRUE(Bare(Annotated()).Save((folder / "t.onnx").string()).has_value());
  std::mt19937 random(1);
  for (const char* kind : {"csv", "json"}) {
    const std::string text = Written(kind, Annotated());
    for (std::size_t round = 0; round < text.size() + 500; ++round) {
      std::string damaged = text.substr(0, round);
      if (round >= text.size()) damaged[random() % text.size()] = static_cast<char>(random());
      ExpectRefusedOrSound(ReadBytesAs(folder / "t", damaged, kind));
    }
  }
}

}  // namespace
}  // namespace qtx::convert::table_test
