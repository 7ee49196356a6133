// GatherBlockQuantized in and out.
#include <cstring>

#include "tests/qoperator/lifted.h"

namespace qtx::convert::gather_blocks_test {
namespace {

using format::Attribute;
using format::ElementType;
using testing::ElementsAre;

// Two rows of 32 codes of 4 bits in bytes, blocks of 16; scales 1, 2 and -4, 0; zero points 8
// (absent) or those of `zero_points`, a byte a row.
OnnxMaker OneGather(std::vector<std::uint8_t> zero_points) {
  OnnxMaker maker(17);
  maker.model.opset_imports.push_back({"com.microsoft", 1});
  maker.model.graph.inputs = {OnnxMaker::Value("i", ElementType::kInt64, {1})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kFloat, {1, 32})};
  std::vector<std::uint8_t> data(32, 0x88);
  data[0] = 0x21;   // row 0: 1, then 2
  data[16] = 0xF9;  // row 1: 9, then 15
  data[24] = 0x33;  // row 1, block 1
  maker.Initializer<std::uint8_t>("data", ElementType::kUint8, {2, 16}, data);
  maker.Initializer<float>("s", ElementType::kFloat, {2, 2}, {1, 2, -4, 0});
  std::vector<std::string> inputs = {"data", "i", "s"};
  if (!zero_points.empty()) {
    maker.Initializer<std::uint8_t>("z", ElementType::kUint8, {2, 1}, zero_points);
    inputs.emplace_back("z");
  }
  format::Node& node = maker.Node("GatherBlockQuantized", inputs, {"y"});
  node.domain = "com.microsoft";
  node.attributes = {Attribute::Int("block_size", 16), Attribute::Int("quantize_axis", 1)};
  return maker;
}

std::vector<float> Row(const format::Model& model, std::int64_t row) {
  const auto bytes =
      RunIn(model, "exact", {TensorOf<std::int64_t>(ElementType::kInt64, {1}, {row})});
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// Row 1 is (9 - 8) * -4 and (15 - 8) * -4, then zeros.
TEST(GatherBlocks, IsAGatherOfATableInBlocks) {
  const format::Model lifted = Lifted(OneGather({}).model);
  EXPECT_THAT(OpTypes(lifted), ElementsAre("Gather"));
  EXPECT_EQ(ElementTypeOf(lifted, "data"), ElementType::kUint4Q);
  EXPECT_THAT(QuantizationOf(lifted, "data").block_shape, ElementsAre(1, 16));
  const std::vector<float> row = Row(lifted, 1);
  ASSERT_EQ(row.size(), 32U);
  EXPECT_EQ(row[0], -4);
  EXPECT_EQ(row[1], -28);
  EXPECT_EQ(row[16], 0);
}

// Zero points 1 and 2 of row 0: 1 - 1 and 2 - 1; the second block (8 - 2) * 2.
TEST(GatherBlocks, UnpacksZeroPointsByRow) {
  const std::vector<float> row = Row(Lifted(OneGather({0x21, 0x43}).model), 0);
  ASSERT_EQ(row.size(), 32U);
  EXPECT_EQ(row[0], 0);
  EXPECT_EQ(row[1], 1);
  EXPECT_EQ(row[16], 12);
}

TEST(GatherBlocks, GoesOutBitForBit) {
  for (const auto& zero_points : {std::vector<std::uint8_t>{}, {0x21, 0x43}}) {
    const format::Model stock = OneGather(zero_points).model;
    const auto written = Write(Lifted(stock), *FindKind("qoperator"), {});
    ASSERT_TRUE(written.has_value()) << Text(written.has_value() ? Error{} : written.error());
    const auto& back = std::get<format::Model>(written->content);
    ASSERT_EQ(back.graph.nodes.size(), 1U);
    const format::Node &was = stock.graph.nodes[0], &is = back.graph.nodes[0];
    EXPECT_EQ(is.op_type, was.op_type);
    EXPECT_EQ(is.attributes, was.attributes);
    ASSERT_EQ(is.inputs.size(), was.inputs.size());
    for (const std::size_t i : {std::size_t{0}, std::size_t{2}, was.inputs.size() - 1}) {
      EXPECT_EQ(*format::Decode(*stock.graph.FindInitializer(was.inputs[i])),
                *format::Decode(*back.graph.FindInitializer(is.inputs[i])));
    }
  }
}

}  // namespace
}  // namespace qtx::convert::gather_blocks_test
