// Restore: what tools drop comes back by name, and what cannot is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "qtx/convert/convert.h"
#include "qtx/format/annotation.h"
#include "qtx/format/check.h"
#include "tests/qdq/maker.h"

namespace qtx::convert::restore_test {
namespace {

using format::ElementType;
using Fate = LedgerEntry::Fate;

// x -> Relu -> y, both INT8Q.
format::Model Extended() {
  OnnxMaker maker(17);
  maker.model.opset_imports.push_back({"qtx", 1});
  maker.model.graph.inputs = {OnnxMaker::Quantized("x", ElementType::kInt8Q, {2, 4})};
  maker.model.graph.outputs = {OnnxMaker::Quantized("y", ElementType::kInt8Q, {2, 4})};
  maker.Node("Relu", {"x"}, {"y"});
  return maker.model;
}

format::Model Lowered() {
  auto lowered = ToQdq(Extended());
  EXPECT_TRUE(lowered.has_value());
  return lowered->model;
}

// As a tool leaves it that does not know the fields.
format::Model Dropped(format::Model model) {
  for (auto* list : {&model.graph.inputs, &model.graph.outputs, &model.graph.values}) {
    for (format::ValueInfo& value : *list) {
      if (!value.type) continue;
      value.type->quantization.reset();
      value.type->statistics.reset();
    }
  }
  return model;
}

TEST(Restore, GivesBackTheAnnotationsOfALoweredModel) {
  const format::Model model = Lowered();
  const format::Model dropped = Dropped(model);
  ASSERT_FALSE(format::CheckDigest(dropped).has_value());
  const auto restored = Restore(model, dropped);
  ASSERT_TRUE(restored.has_value());
  EXPECT_TRUE(restored->model == model);
  ASSERT_EQ(restored->ledger.size(), 2U);
  EXPECT_EQ(restored->ledger[0].value, "x");
  EXPECT_EQ(restored->ledger[0].field, "annotation");
  EXPECT_EQ(restored->ledger[0].fate, Fate::kChanged);
}

TEST(Restore, GivesBackTheParametersOfTheExtendedForm) {
  const format::Model model = Extended();
  format::Model dropped = Dropped(model);
  ASSERT_FALSE(format::Check(dropped).empty());
  const auto restored = Restore(model, dropped);
  ASSERT_TRUE(restored.has_value());
  EXPECT_TRUE(restored->model == model);
  ASSERT_EQ(restored->ledger.size(), 2U);
  EXPECT_EQ(restored->ledger[0].field, "quantization");

  dropped.graph.inputs[0].type->elem_type = ElementType::kInt8;  // parameters of another type
  const auto refused = Restore(model, dropped);
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->ledger[0].fate, Fate::kDropped);
  EXPECT_EQ(refused->ledger[0].why, "found INT8[2,4], expected INT8Q");
}

// x -> Neg -> middle -> Relu -> y of FLOAT, with statistics of all.
format::Model Calibrated() {
  OnnxMaker maker(17);
  for (const char* name : {"x", "middle", "y"}) {
    format::ValueInfo value = OnnxMaker::Quantized(name, ElementType::kInt8Q, {2, 4});
    value.type->elem_type = ElementType::kFloat;
    value.type->quantization.reset();
    value.type->statistics.emplace();
    value.type->statistics->min = {-1};
    value.type->statistics->max = {2};
    value.type->statistics->count = 8;
    auto& graph = maker.model.graph;
    (name[0] == 'x'   ? graph.inputs
     : name[0] == 'y' ? graph.outputs
                      : graph.values)
        .push_back(value);
  }
  maker.Node("Neg", {"x"}, {"middle"});
  maker.Node("Relu", {"middle"}, {"y"});
  EXPECT_TRUE(format::RecordStatistics(maker.model).has_value());
  return maker.model;
}

TEST(Restore, GivesBackStatisticsToValuesThatAreLeft) {
  const format::Model model = Calibrated();
  format::Model changed = Dropped(model);
  changed.graph.values.clear();  // "middle" is no longer declared,
  changed.graph.outputs[0].type->shape = format::ToShape(format::Dims{8});
  changed.graph.nodes[0].outputs = {"other"};  // nor there
  changed.graph.nodes[1].inputs = {"other"};
  const auto restored = Restore(model, changed);
  ASSERT_TRUE(restored.has_value());
  EXPECT_EQ(restored->model.graph.inputs[0].type->statistics,
            model.graph.inputs[0].type->statistics);
  ASSERT_EQ(restored->ledger.size(), 3U);
  EXPECT_EQ(restored->ledger[1].value, "y");
  EXPECT_EQ(restored->ledger[1].why, "found FLOAT[8], expected the shape of FLOAT[2,4]");
  EXPECT_EQ(restored->ledger[2].value, "middle");
  EXPECT_EQ(restored->ledger[2].fate, Fate::kDropped);
  EXPECT_TRUE(format::CheckStatisticsDigest(restored->model).has_value());
}

TEST(Restore, DeclaresAValueThatIsNoLongerDeclared) {
  const format::Model model = Calibrated();
  format::Model dropped = Dropped(model);
  dropped.graph.values.clear();
  const auto restored = Restore(model, dropped);
  ASSERT_TRUE(restored.has_value());
  EXPECT_EQ(restored->model.graph.values, model.graph.values);
}

// A form without the values that an extended model says more of has a digest of what it has.
TEST(Write, MakesTheDigestOfStatisticsAnew) {
  format::Model model = Calibrated();
  model.graph.inputs[0].type->statistics->max = {3};  // the digest is of another
  const auto written = Write(model, *FindKind("qdq"));
  ASSERT_TRUE(written.has_value());
  const auto& stock = std::get<format::Model>(written->content);
  EXPECT_TRUE(format::CheckStatisticsDigest(stock).has_value());
  EXPECT_NE(format::FindMetadata(stock.metadata, format::kStatisticsKey), nullptr);
}

// What is lost is told, and stays no obstacle.
TEST(Read, TellsOfStatisticsThatAToolDropped) {
  const auto bytes = Dropped(Calibrated()).Serialize();
  ASSERT_TRUE(bytes.has_value());
  const Source source = FromBytes(*bytes, "m.onnx");
  const auto read = Read(source, **KindOf(source));
  ASSERT_TRUE(read.has_value()) << read.error().message;
  ASSERT_EQ(read->ledger.size(), 1U);
  EXPECT_EQ(read->ledger[0].why, "3 values with statistics written, 0 left");
  EXPECT_TRUE(format::Check(read->model, "").empty());
}

}  // namespace
}  // namespace qtx::convert::restore_test
