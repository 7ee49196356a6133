// The tables against figures that are derived here, and against the networks built from blocks.
#include "qtx/bench/shapes.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <string>
#include <tuple>

#include "networks.h"
#include "qtx/bench/workload.h"

namespace qtx::bench {
namespace {

std::int64_t TotalOf(std::string_view network) {
  std::int64_t total = 0;
  for (const ConvTable& table : ConvTables()) {
    if (table.network != network) continue;
    for (const ConvShape& shape : table.shapes) total += shape.count * shape.multiply_adds();
  }
  return total;
}

const Types& TypesNamed(std::string_view name) {
  for (const Types& types : QuantizedTypes()) {
    if (types.name == name) return types;
  }
  ADD_FAILURE() << name;
  return QuantizedTypes()[0];
}

// Full convolution 112^2*32*27 = 10,838,016. Depthwise, 9 products a result, in thousands of
// results: 112^2*32 + 56^2*64 + 56^2*128 + 28^2*128 + 28^2*256 + 14^2*256 + 5 * 14^2*512 +
// 7^2*512 + 7^2*1024 = 401.408 + 200.704 + 401.408 + 100.352 + 200.704 + 50.176 + 501.760 + 25.088
// + 50.176 = 1,931.776, so 17,385,984. Pointwise: with p = 112^2*32*64 = 25,690,112, each block
// that halves the image takes p (56^2*64*128, 28^2*128*256, 14^2*256*512, 7^2*512*1024), as does
// the first; each of the eight others 2p (56^2*128*128 and so on): 21p = 539,492,352.
TEST(ConvTables, MobileNetV1HasItsMultiplyAdds) {
  EXPECT_EQ(TotalOf("mobilenet_v1"), 10'838'016 + 17'385'984 + 539'492'352);
  EXPECT_EQ(TotalOf("mobilenet_v1") + 1024 * 1000, 568'740'352);  // as published: 569 million
}

// As published for MobileNet v2: 300 million, with 1280 * 1000 for the classes.
TEST(ConvTables, MobileNetV2HasItsMultiplyAdds) {
  EXPECT_NEAR(static_cast<double>(TotalOf("mobilenet_v2") + 1280 * 1000), 300e6, 1e6);
}

// 7x7: 112^2*64*147 = 118,013,952. With u = 56^2*64*64 = 12,845,056, a block of any stage after its
// first takes 4u + 9u + 4u = 17u. The first block of stage 1: 1u + 9u + 4u + 4u = 18u; of the
// others, whose 1x1 is still on the larger image: 8u + 9u + 4u + 8u = 29u. Sum: 18 + 2*17 + 3*29 +
// (3 + 5 + 2) * 17 = 309u = 3,969,122,304.
TEST(ConvTables, ResNet50HasItsMultiplyAdds) {
  EXPECT_EQ(TotalOf("resnet50"), 118'013'952 + 3'969'122'304);
}

using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, bool>;

std::map<Key, int> InTable(std::string_view network) {
  std::map<Key, int> shapes;
  for (const ConvTable& table : ConvTables()) {
    if (table.network != network) continue;
    for (const ConvShape& s : table.shapes) {
      const bool is_new =
          shapes
              .try_emplace({s.channels, s.outputs, s.size, s.kernel, s.stride, s.depthwise},
                           s.count)
              .second;
      EXPECT_TRUE(is_new) << network << " twice " << s.channels << " " << s.size;
    }
  }
  return shapes;
}

std::map<Key, int> InModel(const format::Model& model) {
  std::map<Key, int> shapes;
  for (const format::Node& node : model.graph.nodes) {
    if (node.op_type != "Conv") continue;
    const auto x = *format::FixedDims(*model.graph.FindValue(node.inputs[0])->type->shape);
    const auto& w = model.graph.FindInitializer(node.inputs[1])->dims;
    ++shapes[{x[1], w[0], x[2], w[2], node.IntsOr("strides", {})[0], node.IntOr("group", 1) > 1}];
  }
  return shapes;
}

TEST(ConvTables, ListWhatTheBuiltNetworksHave) {
  const Types& types = TypesNamed("s8s8");
  EXPECT_EQ(InTable("mobilenet_v1"), InModel(MakeMobileNetV1("v1", types).model));
  EXPECT_EQ(InTable("resnet50"), InModel(MakeResNet50("r", types).model));
}

TEST(CountMultiplyAdds, OfTheBuiltNetworksIsThatOfTheTablesAndTheClasses) {
  const Types& types = TypesNamed("u8s8c");
  EXPECT_EQ(CountMultiplyAdds(MakeMobileNetV1("v1", types).model), 568'740'352);
  EXPECT_EQ(CountMultiplyAdds(MakeResNet50("r", types).model), 4'087'136'256 + 2048 * 1000);
}

// The same network from another hand, with 1001 classes by one more convolution.
TEST(ConvTables, ListWhatTheFileOfMobileNetV2Has) {
  const auto model = format::Model::Load(
      std::string(QTX_SOURCE_DIR) + "/conformance/cases/models/mobilenet_v2_1.0_224/model.onnx");
  ASSERT_TRUE(model.has_value());
  auto shapes = InTable("mobilenet_v2");
  shapes[{1280, 1001, 1, 1, 1, false}] = 1;
  EXPECT_EQ(InModel(*model), shapes);
  EXPECT_EQ(CountMultiplyAdds(*model), TotalOf("mobilenet_v2") + 1280 * 1001);
}

TEST(ProductShapes, CoverSquaresAndFewRows) {
  std::map<std::string, std::int64_t> products;
  for (const ProductShape& s : ProductShapes()) {
    products[std::string(s.name)] = s.batch * s.rows * s.inner * s.columns;
  }
  EXPECT_EQ(products.at("gemm/1024x1024x1024"), 1 << 30);
  EXPECT_EQ(products.at("gemm/16x4096x4096"), 1 << 28);
  EXPECT_EQ(products.at("bert/scores"), 12 * 128 * 128 * 64);
  EXPECT_EQ(products.at("bert/contract"), products.at("bert/expand"));
  EXPECT_EQ(products.size(), ProductShapes().size());
}

}  // namespace
}  // namespace qtx::bench
