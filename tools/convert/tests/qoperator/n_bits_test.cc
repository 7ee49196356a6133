// MatMulNBits in and out: order of codes, blocks, zero points, padding.
#include <limits>

#include "tests/qoperator/lifted.h"

namespace qtx::convert::n_bits_test {
namespace {

using format::Attribute;
using format::ElementType;
using testing::Each;
using testing::ElementsAre;

struct NBits {
  std::int64_t k = 16, n = 1, bits = 4, block = 16;
  std::vector<std::uint8_t> b;
  std::vector<float> scales;
};

OnnxMaker OneMatMulNBits(const NBits& c) {
  OnnxMaker maker(17);
  maker.model.opset_imports.push_back({"com.microsoft", 1});
  maker.model.graph.inputs = {OnnxMaker::Value("a", ElementType::kFloat, {1, c.k})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kFloat, {1, c.n})};
  const std::int64_t blocks = (c.k + c.block - 1) / c.block;
  maker.Initializer<std::uint8_t>("b", ElementType::kUint8, {c.n, blocks, c.block * c.bits / 8},
                                  c.b);
  maker.Initializer<float>("s", ElementType::kFloat, {c.n * blocks}, c.scales);
  format::Node& node = maker.Node("MatMulNBits", {"a", "b", "s"}, {"y"});
  node.domain = "com.microsoft";
  node.attributes = {Attribute::Int("K", c.k), Attribute::Int("N", c.n),
                     Attribute::Int("bits", c.bits), Attribute::Int("block_size", c.block)};
  return maker;
}

// Two columns, K 20 in blocks of 16. Column 0 begins 0x21: codes 1, then 2; its second block 0x43.
NBits TwoColumns() {
  NBits c{.k = 20, .n = 2};
  c.b.assign(32, 0x88);
  c.b[0] = 0x21;   // column 0, block 0, k 0 and 1
  c.b[8] = 0x43;   // column 0, block 1, k 16 and 17
  c.b[16] = 0x65;  // column 1, block 0, k 0 and 1
  c.scales = {1, 2, 4, 8};
  return c;
}

std::vector<std::int64_t> Weights(const format::Model& model) {
  const auto w = format::LoadInitializer(model, "b");
  EXPECT_TRUE(w.has_value());
  return w.has_value() ? format::UnpackIntegers(*w) : std::vector<std::int64_t>{};
}

TEST(NBits, TakesTheLowCodeOfAByteFirstAndColumnsAsAxis1) {
  const format::Model lifted = Lifted(OneMatMulNBits(TwoColumns()).model);
  EXPECT_THAT(OpTypes(lifted), ElementsAre("MatMul"));
  const std::vector<std::int64_t> w = Weights(lifted);  // [20, 2]
  ASSERT_EQ(w.size(), 40U);
  EXPECT_EQ(w[0], 1);   // k 0, column 0
  EXPECT_EQ(w[2], 2);   // k 1, column 0
  EXPECT_EQ(w[1], 5);   // k 0, column 1
  EXPECT_EQ(w[32], 3);  // k 16, column 0
  EXPECT_EQ(w[34], 4);
  EXPECT_EQ(w[33], 8);  // k 16, column 1
}

// The file has scales by column, then block; the type by block, then column.
TEST(NBits, LaysScalesOutByBlockThenColumnAndDefaultsTheOffsetTo8) {
  const format::Model lifted = Lifted(OneMatMulNBits(TwoColumns()).model);
  const format::Quantization q = QuantizationOf(lifted, "b");
  EXPECT_EQ(ElementTypeOf(lifted, "b"), ElementType::kUint4Q);
  EXPECT_THAT(q.axis, ElementsAre(0, 1));
  EXPECT_THAT(q.block_shape, ElementsAre(16, 1));
  EXPECT_THAT(q.scale, ElementsAre(1, 4, 2, 8));
  EXPECT_THAT(q.offset, ElementsAre(8, 8, 8, 8));
}

// a = 1 at k 0, 1 and 16: column 0 is (1-8)*1 + (2-8)*1 + (3-8)*2 = -23, column 1 is
// (5-8)*4 + (6-8)*4 + 0 = -20. High codes first, a zero point of 0, or scales by block first
// differ.
TEST(NBits, ComputesTheProductOfTheDequantized) {
  std::vector<float> a(20, 0.0F);
  a[0] = a[1] = a[16] = 1;
  const auto expected = TensorOf<float>(ElementType::kFloat, {2}, {-23, -20});
  EXPECT_EQ(RunIn(Lifted(OneMatMulNBits(TwoColumns()).model), "float32",
                  {TensorOf<float>(ElementType::kFloat, {1, 20}, a)}),
            expected.bytes);
}

// Two blocks a column: one byte of zero points each, the first in its low half.
TEST(NBits, UnpacksZeroPointsByColumn) {
  OnnxMaker maker = OneMatMulNBits(TwoColumns());
  maker.Initializer<std::uint8_t>("z", ElementType::kUint8, {2}, {0x21, 0x43});
  maker.model.graph.nodes[0].inputs.push_back("z");
  EXPECT_THAT(QuantizationOf(Lifted(maker.model), "b").offset, ElementsAre(1, 3, 2, 4));
}

TEST(NBits, TakesFloatZeroPointsThatAreStoredIntegersAsOffsets) {
  OnnxMaker maker = OneMatMulNBits(TwoColumns());
  maker.Initializer<float>("z", ElementType::kFloat, {4}, {1, 2, 3, 15});
  maker.model.graph.nodes[0].inputs.push_back("z");
  EXPECT_THAT(QuantizationOf(Lifted(maker.model), "b").offset, ElementsAre(1, 3, 2, 15));
}

// Scales 1, 2, 4, 8 by column, then block: bases 1 * -1, 4 * -3, 2 * -2.5, 8 * -4 in the order of
// the type. a = 1 at k 0 and 16: column 0 is 1 - 1 + 2 * 3 - 5 = 1, column 1 is 4 * 5 - 12 + 0 * 8
// + 8 * 8 - 32 = 40.
TEST(NBits, TakesOtherFloatZeroPointsAsBases) {
  OnnxMaker maker = OneMatMulNBits(TwoColumns());
  maker.Initializer<float>("z", ElementType::kFloat, {4}, {1, 2.5F, 3, 4});
  maker.model.graph.nodes[0].inputs.push_back("z");
  const format::Model lifted = Lifted(maker.model);
  const format::Quantization q = QuantizationOf(lifted, "b");
  ASSERT_EQ(q.base_levels.size(), 1U);
  EXPECT_THAT(q.base_levels[0].value, ElementsAre(-1, -12, -5, -32));
  EXPECT_THAT(q.offset, Each(0));
  std::vector<float> a(20, 0.0F);
  a[0] = a[16] = 1;
  EXPECT_EQ(RunIn(lifted, "exact", {TensorOf<float>(ElementType::kFloat, {1, 20}, a)}),
            TensorOf<float>(ElementType::kFloat, {2}, {1, 40}).bytes);
}

// Rows 16 to 19 are the short block 1; its g_idx puts rows 0 to 3 there, and block 0 has the
// others.
TEST(NBits, BringsTheColumnsOfAIntoTheOrderOfGIdx) {
  OnnxMaker maker = OneMatMulNBits(TwoColumns());
  std::vector<std::int32_t> g_idx(20, 0);
  for (std::size_t k = 0; k < 4; ++k) g_idx[k] = 1;
  maker.Initializer<std::int32_t>("g", ElementType::kInt32, {20}, g_idx);
  for (const char* input : {"", "g"}) maker.model.graph.nodes[0].inputs.push_back(input);
  const format::Model lifted = Lifted(maker.model);
  EXPECT_THAT(OpTypes(lifted), ElementsAre("Gather", "MatMul"));
  EXPECT_EQ(Weights(lifted)[32], 1);  // row 0 of column 0 is the first of block 1
  // a = 1 at k 0 and 4: column 0 is (1 - 8) * 2 + 0, column 1 (5 - 8) * 8 + 0.
  std::vector<float> a(20, 0.0F);
  a[0] = a[4] = 1;
  EXPECT_EQ(RunIn(lifted, "exact", {TensorOf<float>(ElementType::kFloat, {1, 20}, a)}),
            TensorOf<float>(ElementType::kFloat, {2}, {-14, -24}).bytes);
}

// A model may have such nodes beside others.
TEST(NBits, StaysWhereWeightsAreLeftOut) {
  OnnxMaker none = OneMatMulNBits({.b = std::vector<std::uint8_t>(8), .scales = {1}});
  none.model.graph.initializers[0] =
      format::ToTensorData("b", *format::MakeTensor(ElementType::kUint8, {1, 1, 0}));
  EXPECT_THAT(OpTypes(Lifted(none.model)), ElementsAre("MatMulNBits"));
}

TEST(NBits, TakesTwoBitsFourToAByteAndEightBits) {
  NBits two{.bits = 2, .b = {0b11100100, 0, 0, 0}, .scales = {1}};
  const format::Model lifted = Lifted(OneMatMulNBits(two).model);
  EXPECT_EQ(ElementTypeOf(lifted, "b"), ElementType::kUint2Q);
  EXPECT_THAT(QuantizationOf(lifted, "b").offset, ElementsAre(2));
  const std::vector<std::int64_t> w = Weights(lifted);
  EXPECT_THAT(std::vector<std::int64_t>(w.begin(), w.begin() + 4), ElementsAre(0, 1, 2, 3));
  NBits eight{.bits = 8, .b = std::vector<std::uint8_t>(16, 200), .scales = {1}};
  EXPECT_THAT(QuantizationOf(Lifted(OneMatMulNBits(eight).model), "b").offset, ElementsAre(128));
}

void ExpectSameInputs(const format::Model& before, const format::Model& after) {
  ASSERT_EQ(after.graph.nodes.size(), before.graph.nodes.size());
  const format::Node &was = before.graph.nodes[0], &is = after.graph.nodes[0];
  EXPECT_EQ(is.op_type, was.op_type);
  EXPECT_EQ(is.domain, was.domain);
  EXPECT_EQ(is.attributes, was.attributes);
  EXPECT_EQ(is.outputs, was.outputs);
  ASSERT_EQ(is.inputs.size(), was.inputs.size());
  for (std::size_t i = 1; i < was.inputs.size(); ++i) {
    if (was.inputs[i].empty()) continue;
    const auto a = format::Decode(*before.graph.FindInitializer(was.inputs[i]));
    const auto b = format::Decode(*after.graph.FindInitializer(is.inputs[i]));
    EXPECT_EQ(*a, *b) << was.inputs[i];
  }
}

format::Model WrittenBack(const format::Model& stock) {
  const auto written = Write(Lifted(stock), *FindKind("qoperator"), {});
  EXPECT_TRUE(written.has_value()) << Text(written.has_value() ? Error{} : written.error());
  return written.has_value() ? std::get<format::Model>(written->content) : format::Model{};
}

// Codes of other widths lie on from byte to byte, the lowest bit first. 3 bits: 1 + 2 * 8 + 7 * 64
// is 0x1D1; 5: 1 + 2 * 32 + 21 * 1024 is 0x5441; 6: 1 + 2 * 64 + 33 * 4096 is 0x21081; 7: 1 + 2 *
// 128 + 65 * 16384 is 0x104101.
TEST(NBits, TakesOtherWidthsOverTheEndsOfBytes) {
  struct Row {
    std::int64_t bits;
    std::vector<std::uint8_t> first;
    std::int64_t third;
    ElementType type;
  };
  const std::vector<Row> rows = {{3, {0xD1, 0x01}, 7, ElementType::kUint4Q},
                                 {5, {0x41, 0x54}, 21, ElementType::kUint8Q},
                                 {6, {0x81, 0x10, 0x02}, 33, ElementType::kUint8Q},
                                 {7, {0x01, 0x41, 0x10}, 65, ElementType::kUint8Q}};
  for (const Row& row : rows) {
    NBits c{.bits = row.bits, .b = row.first, .scales = {1}};
    c.b.resize(static_cast<std::size_t>(2 * row.bits));
    c.b.back() = 0xF0;  // the highest bits of the last code
    OnnxMaker maker = OneMatMulNBits(c);
    const format::Model lifted = Lifted(maker.model);
    EXPECT_EQ(ElementTypeOf(lifted, "b"), row.type);
    EXPECT_THAT(QuantizationOf(lifted, "b").offset, ElementsAre(1 << (row.bits - 1)));
    const std::vector<std::int64_t> w = Weights(lifted);
    EXPECT_EQ(w[0], 1);
    EXPECT_EQ(w[1], 2);
    EXPECT_EQ(w[2], row.third);
    EXPECT_EQ(w[3], 0);
    EXPECT_EQ(w[15], row.bits == 3 ? 7 : 15 << (row.bits - 4));
    ExpectSameInputs(maker.model, WrittenBack(maker.model));
  }
}

// Three blocks a column, of zero points 1, 2 and 7 in 9 bits: a second byte has the highest.
TEST(NBits, UnpacksZeroPointsOfThreeBits) {
  NBits c{.k = 48, .bits = 3, .b = std::vector<std::uint8_t>(18, 0x92), .scales = {1, 2, 4}};
  OnnxMaker maker = OneMatMulNBits(c);
  maker.Initializer<std::uint8_t>("z", ElementType::kUint8, {1, 2}, {0xD1, 0x01});
  maker.model.graph.nodes[0].inputs.push_back("z");
  EXPECT_THAT(QuantizationOf(Lifted(maker.model), "b").offset, ElementsAre(1, 2, 7));
  ExpectSameInputs(maker.model, WrittenBack(maker.model));
}

// Weights that were changed to have more bits than the former node are of as many as they need.
TEST(NBits, WritesMoreBitsWhereCodesHaveThem) {
  NBits c{.bits = 3, .b = std::vector<std::uint8_t>(6), .scales = {1}};
  format::Model lifted = Lifted(OneMatMulNBits(c).model);
  auto w = *format::LoadInitializer(lifted, "b");
  w.bytes[0] = std::byte{0x0F};
  const auto place = std::ranges::find(lifted.graph.initializers, "b", &format::TensorData::name);
  *place = format::ToTensorData("b", w);
  const auto written = Write(lifted, *FindKind("qoperator"), {});
  ASSERT_TRUE(written.has_value()) << Text(written.error());
  const auto& model = std::get<format::Model>(written->content);
  EXPECT_EQ(model.graph.nodes[0].IntOr("bits", 0), 4);
  EXPECT_EQ(format::Decode(*model.graph.FindInitializer("b"))->bytes[0], std::byte{0x0F});
}

// -3 * (2 - 8) = 18, and 0 * (2 - 8) = 0: the codes stay.
TEST(NBits, KeepsScalesOfAnySign) {
  NBits c{.n = 2, .b = std::vector<std::uint8_t>(16, 0x22), .scales = {-3, 0}};
  const format::Model lifted = Lifted(OneMatMulNBits(c).model);
  EXPECT_THAT(QuantizationOf(lifted, "b").scale, ElementsAre(-3, 0));
  EXPECT_THAT(QuantizationOf(lifted, "b").offset, ElementsAre(8, 8));
  EXPECT_THAT(Weights(lifted), Each(2));
}

TEST(NBits, GoesOutBitForBit) {
  OnnxMaker plain = OneMatMulNBits(TwoColumns());  // its codes past K are 8, not 0
  ExpectSameInputs(plain.model, WrittenBack(plain.model));
  OnnxMaker packed = OneMatMulNBits(TwoColumns());
  packed.Initializer<std::uint8_t>("z", ElementType::kUint8, {2}, {0x21, 0x43});
  packed.model.graph.nodes[0].inputs.push_back("z");
  packed.model.graph.nodes[0].attributes.push_back(Attribute::Int("accuracy_level", 4));
  ExpectSameInputs(packed.model, WrittenBack(packed.model));
  NBits negative = TwoColumns();
  negative.scales = {-1, 2, 4, -8};
  OnnxMaker turned = OneMatMulNBits(negative);
  turned.Initializer<float>("bias", ElementType::kFloat, {2}, {1, 2});
  for (const char* input : {"", "", "bias"}) turned.model.graph.nodes[0].inputs.push_back(input);
  EXPECT_THAT(OpTypes(Lifted(turned.model)), ElementsAre("MatMul", "Add"));
  ExpectSameInputs(turned.model, WrittenBack(turned.model));
}

TEST(NBits, GivesRealZeroPointsAndGIdxBack) {
  OnnxMaker maker = OneMatMulNBits(TwoColumns());
  maker.Initializer<float>("z", ElementType::kFloat, {2, 2}, {1, 2.5F, 3, 4});
  std::vector<std::int32_t> g_idx(20, 0);
  for (std::size_t k = 0; k < 4; ++k) g_idx[2 * k] = 1;
  maker.Initializer<std::int32_t>("g", ElementType::kInt32, {20}, g_idx);
  for (const char* input : {"z", "g"}) maker.model.graph.nodes[0].inputs.push_back(input);
  ExpectSameInputs(maker.model, WrittenBack(maker.model));
}

// 32 values for K 20: ONNX Runtime takes g_idx of whole blocks, and reads no value past K.
TEST(NBits, IgnoresGIdxPastK) {
  OnnxMaker maker = OneMatMulNBits(TwoColumns());
  std::vector<std::int32_t> g_idx(32, 99);
  for (std::size_t k = 0; k < 20; ++k) g_idx[k] = k < 16 ? 0 : 1;
  maker.Initializer<std::int32_t>("g", ElementType::kInt32, {32}, g_idx);
  for (const char* input : {"", "g"}) maker.model.graph.nodes[0].inputs.push_back(input);
  EXPECT_THAT(OpTypes(Lifted(maker.model)), ElementsAre("MatMul"));
  ExpectSameInputs(maker.model, WrittenBack(maker.model));
}

// Scale 0x1.048p+0, zero point 0x1.c6cp+0, both FLOAT16. The weight of code 5 is 0x1.45ap+2 -
// 0x1.cebe6p+0 = 0x1.a3e0dp+1, a binary32, in FLOAT16 0x1.a4p+1 (0x4290). Were product, base and
// sum of FLOAT16, it would be 0x1.458p+2 - 0x1.cecp+0 = 0x1.a3ap+1, half even 0x1.a38p+1.
TEST(NBits, ComputesFloat16WithRealZeroPointsInFloat) {
  OnnxMaker maker = OneMatMulNBits({.b = std::vector<std::uint8_t>(8, 0x55), .scales = {1}});
  format::Graph& graph = maker.model.graph;
  maker.Initializer<std::uint16_t>("s16", ElementType::kFloat16, {1}, {0x3C12});
  maker.Initializer<std::uint16_t>("z", ElementType::kFloat16, {1}, {0x3F1B});
  maker.Initializer<std::uint16_t>("bias", ElementType::kFloat16, {1}, {0});
  graph.nodes[0].inputs = {"a", "b", "s16", "z", "", "bias"};
  graph.nodes[0].outputs = {"m"};
  maker.Node("Neg", {"m"}, {"y"});
  for (auto* list : {&graph.inputs, &graph.outputs}) {
    list->front().type->elem_type = ElementType::kFloat16;
  }
  const format::Model lifted = Lifted(maker.model);
  EXPECT_THAT(OpTypes(lifted), ElementsAre("Cast", "Cast", "MatMul", "Add", "Cast", "Neg"));
  EXPECT_EQ(QuantizationOf(lifted, "b").real_type, ElementType::kUndefined);
  std::vector<std::uint16_t> a(16, 0);
  a[3] = 0x3C00;
  EXPECT_EQ(RunIn(lifted, "float32", {TensorOf(ElementType::kFloat16, {1, 16}, a)}),
            TensorOf<std::uint16_t>(ElementType::kFloat16, {1}, {0xC290}).bytes);
  std::erase_if(graph.initializers, [](const auto& data) { return data.name == "s"; });
  ExpectSameInputs(maker.model, WrittenBack(maker.model));
}

// A FLOAT16 model that never had the operator gets scales of its own type, as the schema asks.
TEST(NBits, WritesScalesOfTheTypeOfA) {
  OnnxMaker maker = OneMatMulNBits({.b = std::vector<std::uint8_t>(8, 0x55), .scales = {1}});
  format::Graph& graph = maker.model.graph;
  maker.Initializer<std::uint16_t>("s16", ElementType::kFloat16, {1}, {0x3C12});
  graph.nodes[0].inputs[2] = "s16";
  for (auto* list : {&graph.inputs, &graph.outputs}) {
    list->front().type->elem_type = ElementType::kFloat16;
  }
  format::Model lifted = Lifted(maker.model);
  lifted.graph.nodes[0].origin.reset();
  const auto written = Write(lifted, *FindKind("qoperator"), {});
  ASSERT_TRUE(written.has_value()) << Text(written.error());
  const auto& model = std::get<format::Model>(written->content);
  ASSERT_EQ(model.graph.nodes[0].op_type, "MatMulNBits");
  const auto* scales = model.graph.FindInitializer(model.graph.nodes[0].inputs[2]);
  ASSERT_NE(scales, nullptr);
  const auto tensor = format::Decode(*scales);
  EXPECT_EQ(tensor->elem_type, ElementType::kFloat16);
  EXPECT_EQ(tensor->As<std::uint16_t>()[0], 0x3C12);
}

// Two rows of 16 codes, NF4: the first code of a byte is in its high bits; 0 is -1, 15 is 1.
TEST(NBits, TakesTheTableOfMatMulBnb4) {
  OnnxMaker maker(17);
  maker.model.opset_imports.push_back({"com.microsoft", 1});
  maker.model.graph.inputs = {OnnxMaker::Value("a", ElementType::kFloat, {1, 16})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kFloat, {1, 2})};
  std::vector<std::uint8_t> b(16, 0x77);  // code 7 is 0
  b[0] = 0x0F;                            // column 0: k 0 is -1, k 1 is 1
  b[8] = 0xF7;                            // column 1: k 0 is 1
  maker.Initializer<std::uint8_t>("b", ElementType::kUint8, {16}, b);
  maker.Initializer<float>("s", ElementType::kFloat, {2}, {2, 5});
  format::Node& node = maker.Node("MatMulBnb4", {"a", "b", "s"}, {"y"});
  node.domain = "com.microsoft";
  node.attributes = {Attribute::Int("K", 16), Attribute::Int("N", 2),
                     Attribute::Int("block_size", 16), Attribute::Int("quant_type", 1)};
  const format::Model lifted = Lifted(maker.model);
  EXPECT_EQ(ElementTypeOf(lifted, "b"), ElementType::kUint4Q);
  std::vector<float> a(16, 0.0F);
  a[0] = 10;
  a[1] = 1;
  EXPECT_EQ(RunIn(lifted, "exact", {TensorOf<float>(ElementType::kFloat, {1, 16}, a)}),
            TensorOf<float>(ElementType::kFloat, {2}, {-18, 50}).bytes);
  ExpectSameInputs(maker.model, WrittenBack(maker.model));
}

TEST(NBits, NamesWhatItDoesNotTake) {
  NBits huge{.k = 20, .n = 2, .b = std::vector<std::uint8_t>(32), .scales = {1, 2, 4, 8}};
  OnnxMaker large = OneMatMulNBits(huge);
  large.model.graph.nodes[0].attributes[0].i = (std::int64_t{1} << 31) - 1;
  large.model.graph.nodes[0].attributes[1].i = (std::int64_t{1} << 31) - 1;
  EXPECT_NE(Refusal(large.model).find("more codes than a tensor may have"), std::string::npos);
  OnnxMaker less = OneMatMulNBits(huge);
  less.model.graph.nodes[0].attributes[0].i = 40;
  EXPECT_EQ(Refusal(less.model), "node 'y_node' (MatMulNBits): 'b': found 32 values, expected 48");
  NBits infinite = TwoColumns();
  infinite.scales[1] = std::numeric_limits<float>::infinity();
  EXPECT_NE(Refusal(OneMatMulNBits(infinite).model).find("gives no finite reals"),
            std::string::npos);
}

}  // namespace
}  // namespace qtx::convert::n_bits_test
