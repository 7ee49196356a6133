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
  EXPECT_EQ(table::ParseJson(text).value(), records);
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
  const auto csv = [](const char* text) { return ErrorOf(table::ParseCsv(text)); };
  EXPECT_THAT(csv("name,foo\n"), HasSubstr("line 1: unknown column 'foo'"));
  EXPECT_THAT(csv("name,name\n"), HasSubstr("twice"));
  EXPECT_THAT(csv("name,scale\n\"a\n\",1\nb\n"), HasSubstr("line 4: found 1 fields, expected 2"));
  EXPECT_THAT(csv("name\n\"a"), HasSubstr("line 2: a quote that is not closed"));
  EXPECT_THAT(csv("name\n\"a\"b\n"), HasSubstr("after a closing quote"));
  const auto row = [](table::Record cells) { return ErrorOf(table::ParseRecord(cells)); };
  EXPECT_THAT(row({{"name", "a"}, {"scale", "x"}}), HasSubstr("value 'a': scale: found 'x'"));
  EXPECT_THAT(row({{"scale", "0x1.000001p-3"}}), testing::Not(HasSubstr("no error")));
  EXPECT_THAT(row({{"scale", "1"}, {"offset", "99999999999"}}), HasSubstr("offset"));
  EXPECT_THAT(row({{"elem_type", "INT9"}}), HasSubstr("elem_type: found 'INT9'"));
  EXPECT_THAT(ErrorOf(table::ParseJson("{\"values\": 3}")), HasSubstr("no array"));
  EXPECT_THAT(ErrorOf(table::ParseJson("{\"values\": [{\"scale\": [[1]]}]}")),
              HasSubstr("values[0]: scale is no list"));
  EXPECT_FALSE(table::ParseJson(std::string(1000000, '[')).has_value());
  EXPECT_FALSE(table::ParseJson("{\"values\": [3, \"a\"]}").value().at(0).contains("name"));
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
