#include "qtx/format/annotation.h"

#include <gtest/gtest.h>

#include "tests/samples.h"

namespace qtx::format {
namespace {

// One annotated output and value of MatMulModel, with the digest of both.
Model Lowered() {
  Model model = MatMulModel();
  model.graph.outputs[0].type = Annotated(*std::move(model.graph.outputs[0].type));
  model.graph.values[0].type = Annotated(*std::move(model.graph.values[0].type));
  model.metadata.emplace_back(kDigestKey, ToText(*DigestOf(model.graph)));
  return model;
}

TEST(Annotation, TurnsAQuantizedTypeIntoFloatAndBack) {
  const TensorType type = *MatMulModel().graph.values[0].type;
  EXPECT_FALSE(IsAnnotated(type));
  const TensorType annotated = Annotated(type);
  EXPECT_TRUE(IsAnnotated(annotated));
  EXPECT_EQ(annotated.elem_type, ElementType::kFloat);
  EXPECT_EQ(annotated.quantization->storage_type, StorageOf(type.elem_type));
  EXPECT_EQ(Unannotated(annotated), type);
}

// lowering.S3: elem_type says what real_type said.
TEST(Annotation, TurnsAQuantizedTypeIntoItsTypeOfRealsAndBack) {
  TensorType type = *MatMulModel().graph.values[0].type;
  for (const ElementType real : {ElementType::kFloat16, ElementType::kBfloat16}) {
    type.quantization->real_type = real;
    const TensorType annotated = Annotated(type);
    EXPECT_TRUE(IsAnnotated(annotated));
    EXPECT_EQ(annotated.elem_type, real);
    EXPECT_EQ(annotated.quantization->real_type, ElementType::kUndefined);
    EXPECT_EQ(Unannotated(annotated), type);
  }
  type.quantization->real_type = ElementType::kFloat;
  EXPECT_EQ(Unannotated(Annotated(type)), type);
}

// lowering.S4: FNV-1a of no bytes but the empty graph of the message ("3a 00": field 7, no content)
// worked by hand: basis cbf29ce484222325, then (h ^ 3a) * p, (h ^ 00) * p modulo 2^64.
TEST(AnnotationDigest, IsFnv1aOfTheSerialisedValues) {
  const std::uint64_t prime = 0x100000001b3U;
  const std::uint64_t hash = ((0xcbf29ce484222325U ^ 0x3aU) * prime) * prime;
  const auto digest = DigestOf(Graph());
  ASSERT_TRUE(digest.has_value());
  EXPECT_EQ(*digest, (Digest{0, hash}));
}

TEST(AnnotationDigest, IgnoresShapesAndWhereAValueIsDeclared) {
  Model model = Lowered();
  model.graph.values.push_back(std::move(model.graph.outputs[0]));
  model.graph.outputs.clear();
  for (ValueInfo& value : model.graph.values) value.type->shape.reset();
  EXPECT_TRUE(CheckDigest(model).has_value());
}

TEST(AnnotationDigest, CountsTheAnnotationsThatAToolDropped) {
  Model model = Lowered();
  model.graph.outputs[0].type->quantization.reset();
  const auto checked = CheckDigest(model);
  ASSERT_FALSE(checked.has_value());
  EXPECT_EQ(checked.error().message, "2 annotated values written, 1 left");
}

TEST(AnnotationDigest, SeesAChangedScale) {
  Model model = Lowered();
  model.graph.outputs[0].type->quantization->scale[0] *= 2;
  const auto checked = CheckDigest(model);
  ASSERT_FALSE(checked.has_value());
  EXPECT_EQ(checked.error().message, "2 annotated values written, 2 left, some changed");
}

TEST(AnnotationDigest, RefusesTextThatIsNoDigest) {
  Model model = Lowered();
  for (const char* text : {"", ":", "2", "2:", "x:0", "-1:0"}) {
    model.metadata[0].second = text;
    EXPECT_FALSE(CheckDigest(model).has_value()) << text;
  }
}

// A FLOAT output with statistics, and its digest.
Model Calibrated() {
  Model model = MatMulModel();
  TensorType& type = *model.graph.outputs[0].type;
  type.elem_type = ElementType::kFloat;
  type.quantization.reset();
  type.statistics.emplace();
  type.statistics->min = {-0.75};
  type.statistics->max = {62.5};
  type.statistics->count = 1000;
  EXPECT_TRUE(RecordStatistics(model).has_value());
  return model;
}

TEST(StatisticsDigest, SeesWhatAToolDropped) {
  Model model = Calibrated();
  EXPECT_TRUE(CheckStatisticsDigest(model).has_value());
  model.graph.outputs[0].type->shape.reset();  // tools change shapes
  EXPECT_TRUE(CheckStatisticsDigest(model).has_value());
  model.graph.outputs[0].type->statistics->max[0] = 62;
  EXPECT_EQ(CheckStatisticsDigest(model).error().message,
            "1 values with statistics written, 1 left, some changed");
  ValueInfo bare = model.graph.outputs[0];
  bare.name = "bare";
  bare.type->statistics.reset();
  model.graph.values.push_back(bare);
  EXPECT_EQ(CheckStatisticsDigest(model).error().message,
            "1 values with statistics written, 1 left, some changed, none on 'bare'");
  model.graph.outputs[0].type->statistics.reset();
  EXPECT_EQ(CheckStatisticsDigest(model).error().message,
            "1 values with statistics written, 0 left");
}

// What is annotated is in the other digest.
TEST(StatisticsDigest, IsOfFloatValuesThatAreNotAnnotated) {
  Model model = Lowered();
  model.graph.outputs[0].type->statistics = Calibrated().graph.outputs[0].type->statistics;
  ASSERT_TRUE(RecordStatistics(model).has_value());
  EXPECT_EQ(FindMetadata(model.metadata, kStatisticsKey), nullptr);
  model.graph.outputs[0].type->quantization.reset();
  ASSERT_TRUE(RecordStatistics(model).has_value());
  EXPECT_TRUE(FindMetadata(model.metadata, kStatisticsKey)->starts_with("1:"));
}

TEST(StatisticsDigest, GoesWithTheLastStatistics) {
  Model model = Calibrated();
  ASSERT_NE(FindMetadata(model.metadata, kStatisticsKey), nullptr);
  model.graph.outputs[0].type->statistics.reset();
  ASSERT_TRUE(RecordStatistics(model).has_value());
  EXPECT_EQ(FindMetadata(model.metadata, kStatisticsKey), nullptr);
}

// lowering.S9: FNV-1a, computed apart, of 3a 0e (a graph of 14 bytes), 0a 0c (a node of 12), 0a 01
// "x", 12 01 "y", 22 04 "Relu".
TEST(NodeDigest, IsFnv1aOfTheSerialisedNodes) {
  Graph graph;
  Node& node = graph.nodes.emplace_back();
  node.name = "not counted";
  node.op_type = "Relu";
  node.domain = "ai.onnx";
  node.inputs = {"x"};
  node.outputs = {"y"};
  node.attributes = {Attribute::Int("neither", 1)};
  EXPECT_EQ(*NodeDigestOf(graph), (Digest{1, 0x604392a0d5ee8caaU}));
  EXPECT_EQ(ToText(*NodeDigestOf(graph)), "1:604392a0d5ee8caa");
  node.domain = "com.example";
  EXPECT_NE(*NodeDigestOf(graph), (Digest{1, 0x604392a0d5ee8caaU}));
}

}  // namespace
}  // namespace qtx::format
