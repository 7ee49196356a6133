#include "onnx/float_casts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "qtx/format/check.h"
#include "tests/qdq/maker.h"

namespace qtx::convert::float_casts_test {
namespace {

using format::ElementType;
using ::testing::ElementsAre;

OnnxMaker Extended(std::int64_t opset) {
  OnnxMaker maker(opset);
  maker.model.opset_imports.push_back({"qtx", 1});
  return maker;
}

void ExpectSound(const format::Model& model) {
  for (const format::Finding& finding : format::Check(model))
    ADD_FAILURE() << finding.rule << " " << finding.where << ": " << finding.message;
}

// Bernoulli and MaxRoiPool have no section, Relu has. The real of x is made once.
TEST(AddFloatCasts, SurroundsOperatorsWithoutASection) {
  OnnxMaker maker = Extended(17);
  maker.model.graph.inputs = {OnnxMaker::Quantized("x", ElementType::kInt8Q, {1, 1, 2, 2}),
                              OnnxMaker::Quantized("rois", ElementType::kInt8Q, {1, 5})};
  maker.model.graph.outputs = {OnnxMaker::Quantized("y", ElementType::kInt8Q, {1, 1, 2, 2}),
                               OnnxMaker::Quantized("z", ElementType::kInt8Q, {1, 1, 2, 2}),
                               OnnxMaker::Value("g", ElementType::kFloat, {1, 1, 1, 2})};
  maker.Node("Bernoulli", {"x"}, {"y"});
  maker.Node("Relu", {"x"}, {"z"});
  maker.Node("MaxRoiPool", {"x", "rois"}, {"g"});
  maker.model.graph.nodes.back().attributes = {format::Attribute::Ints("pooled_shape", {1, 2})};
  AddFloatCasts(maker.model);
  EXPECT_THAT(OpTypes(maker.model),
              ElementsAre("Cast", "Bernoulli", "Cast", "Relu", "Cast", "MaxRoiPool"));
  ASSERT_EQ(maker.model.graph.nodes.size(), 6U);
  EXPECT_THAT(maker.model.graph.nodes[5].inputs, ElementsAre("x/float", "rois/float"));
  ExpectSound(maker.model);
  const format::Model once = maker.model;
  AddFloatCasts(maker.model);
  EXPECT_EQ(maker.model, once);
}

// Resize takes a quantized x, and FLOAT scales.
TEST(AddFloatCasts, AsksTheCatalogueForEachInput) {
  OnnxMaker maker = Extended(19);
  maker.model.graph.inputs = {OnnxMaker::Quantized("x", ElementType::kInt8Q, {1, 2}),
                              OnnxMaker::Quantized("scales", ElementType::kInt8Q, {2})};
  maker.model.graph.outputs = {OnnxMaker::Quantized("y", ElementType::kInt8Q, {1, 4})};
  maker.Node("Resize", {"x", "", "scales"}, {"y"});
  AddFloatCasts(maker.model);
  EXPECT_THAT(OpTypes(maker.model), ElementsAre("Cast", "Resize"));
  EXPECT_THAT(maker.model.graph.nodes[1].inputs, ElementsAre("x", "", "scales/float"));
  ExpectSound(maker.model);
}

}  // namespace
}  // namespace qtx::convert::float_casts_test
