// Parameters with levels and a base, in stock ONNX and in forms that have neither.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "qtx/convert/convert.h"
#include "qtx/convert/diff.h"
#include "qtx/format/check.h"
#include "qtx/format/data_file.h"
#include "tests/qdq/maker.h"

namespace qtx::convert::levels_test {
namespace {

using format::ElementType;
using testing::ElementsAre;
using testing::HasSubstr;
using Floats = std::vector<float>;

Floats FloatsOf(const format::Model& model, const std::string& name) {
  const format::TensorData* data = model.graph.FindInitializer(name);
  if (data == nullptr) return {};
  const format::Tensor tensor = *format::Decode(*data);
  const auto values = tensor.As<float>();
  return {values.begin(), values.end()};
}

// y = MatMul(x, w), w UINT8Q [4,2] in blocks of 2 along axis 0, two levels of scale.
format::Model WithLevels() {
  OnnxMaker maker(21);
  maker.model.opset_imports.push_back({"qtx", 2});
  maker.model.graph.inputs = {OnnxMaker::Quantized("x", ElementType::kInt8Q, {3, 4})};
  maker.model.graph.outputs = {OnnxMaker::Quantized("y", ElementType::kInt8Q, {3, 2})};
  maker.Initializer<std::uint8_t>("fine", ElementType::kUint8, {2, 2}, {1, 2, 3, 63});
  maker.Initializer<std::uint8_t>("w", ElementType::kUint8, {4, 2}, {0, 1, 2, 3, 4, 5, 6, 15});
  format::ValueInfo w = OnnxMaker::Quantized("w", ElementType::kUint8Q, {4, 2}, {});
  format::Quantization& q = *w.type->quantization;
  q.axis = {0, 1};
  q.block_shape = {2, 1};
  q.scale_levels.resize(2);
  q.scale_levels[0].tensor = "fine";
  q.scale_levels[1] = {.value = {0.5F, 0.25F}, .tensor = "", .block_shape = {4, 1}};
  maker.model.graph.values = {w};
  maker.Node("MatMul", {"x", "w"}, {"y"});
  EXPECT_TRUE(format::Check(maker.model).empty());
  return maker.model;
}

format::Model WithBase() {
  format::Model model = WithLevels();
  format::Quantization& q = *model.graph.values[0].type->quantization;
  q.base_levels.resize(2);
  q.base_levels[0].value = {-1, 2, 0, 8};
  q.base_levels[1] = {.value = {0.5F}, .tensor = "", .block_shape = {4, 2}};
  EXPECT_TRUE(format::Check(model).empty());
  return model;
}

void ExpectComesBack(const format::Model& model) {
  const auto lowered = ToQdq(model);
  ASSERT_TRUE(lowered.has_value()) << lowered.error().where << ": " << lowered.error().message;
  EXPECT_TRUE(format::Check(lowered->model).empty());
  const auto lifted = FromOnnx(lowered->model);
  ASSERT_TRUE(lifted.has_value()) << lifted.error().where << ": " << lifted.error().message;
  EXPECT_TRUE(lifted->model == model);
  // Through the bytes, too.
  const auto read = format::Model::Parse(*lowered->model.Serialize());
  ASSERT_TRUE(read.has_value());
  EXPECT_TRUE(FromOnnx(*read)->model == model);
}

// 2 * 16384 scales of 4 bytes: 128 KiB.
TEST(ToQdq, PutsLargeParametersIntoAFileBesideTheModel) {
  constexpr std::int64_t kColumns = 1 << 14;
  format::Model model = WithLevels();
  model.graph.outputs[0].type->shape = format::ToShape(format::Dims{3, kColumns});
  model.graph.values[0].type->shape = format::ToShape(format::Dims{4, kColumns});
  format::Quantization& q = *model.graph.values[0].type->quantization;
  q.scale_levels = {{.value = {0.5F}, .tensor = "", .block_shape = {}}};
  q.scale_levels[0].value.resize(2 * kColumns, 0.25F);
  model.graph.initializers = {
      format::ToTensorData("w", *format::MakeTensor(ElementType::kUint8, {4, kColumns}))};
  ASSERT_TRUE(format::Check(model).empty());

  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / "LargeParameters";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "m.onnx").string();
  {
    format::DataFile data(path, "", 1 << 16);
    const auto lowered = ToQdq(model, {.data = &data});
    ASSERT_TRUE(lowered.has_value());
    ASSERT_TRUE(data.Save(lowered->model).has_value());
  }
  EXPECT_EQ(std::filesystem::file_size(path + ".data"), 4 * 2 * kColumns);
  const format::Model read = *format::Model::Load(path);
  const auto scale = format::Decode(*read.graph.FindInitializer("w/scale"), read.folder);
  ASSERT_TRUE(scale.has_value());
  EXPECT_EQ(scale->As<float>()[0], 0.5F);
  EXPECT_EQ(scale->As<float>().back(), 0.25F);
  auto lifted = FromOnnx(read);
  ASSERT_TRUE(lifted.has_value());
  lifted->model.folder = model.folder;
  EXPECT_TRUE(lifted->model == model);
  std::filesystem::remove_all(folder);
}

TEST(ToQdq, MultipliesLevelsOut) {
  const format::Model lowered = ToQdq(WithLevels())->model;
  EXPECT_EQ(FloatsOf(lowered, "w/scale"), (Floats{0.5F, 0.5F, 1.5F, 15.75F}));
  EXPECT_EQ(lowered.graph.FindInitializer("w/scale")->dims, (format::Dims{2, 2}));
  ExpectComesBack(WithLevels());
}

// [4,2] becomes [2,2,2], to which bases of [2,1,2] are added.
TEST(ToQdq, AddsABaseToTheProductInBlocks) {
  const auto lowered = ToQdq(WithBase());
  ASSERT_TRUE(lowered.has_value());
  EXPECT_THAT(OpTypes(lowered->model),
              ElementsAre("QuantizeLinear", "DequantizeLinear", "DequantizeLinear", "Reshape",
                          "Add", "Reshape", "MatMul", "QuantizeLinear", "DequantizeLinear"));
  EXPECT_EQ(FloatsOf(lowered->model, "w/base"), (Floats{-0.5F, 1, 0, 4}));
  EXPECT_EQ(lowered->model.graph.FindInitializer("w/base")->dims, (format::Dims{2, 1, 2}));
  const auto told = [&](const std::string& field) {
    return std::ranges::any_of(lowered->ledger, [&](const LedgerEntry& entry) {
      return entry.value == "w" && entry.field == field &&
             entry.fate == LedgerEntry::Fate::kChanged;
    });
  };
  EXPECT_TRUE(told("scale_levels"));
  EXPECT_TRUE(told("base_levels"));
  ExpectComesBack(WithBase());
}

TEST(ToQdq, AddsABaseWithoutAReshapeWhereNothingIsBlocked) {
  format::Model model = WithBase();
  format::Quantization& q = *model.graph.values[0].type->quantization;
  q = {};
  q.scale = {0.5F, 0.25F};
  q.axis = {1};
  q.base_levels.resize(1);
  q.base_levels[0].value = {1, -2};
  const format::Model lowered = ToQdq(model)->model;
  EXPECT_THAT(OpTypes(lowered),
              ElementsAre("QuantizeLinear", "DequantizeLinear", "DequantizeLinear", "Add", "MatMul",
                          "QuantizeLinear", "DequantizeLinear"));
  EXPECT_EQ(lowered.graph.FindInitializer("w/base")->dims, (format::Dims{1, 2}));
  ExpectComesBack(model);
  q.scale = {0.5F};
  q.axis = {};
  q.base_levels[0].value = {3};
  ExpectComesBack(model);
}

// Rows 0 to 2 are block 0, row 3 is block 1.  Source: lowering.S2.
TEST(ToQdq, RepeatsABaseWhoseLastBlockIsShort) {
  format::Model model = WithBase();
  format::Quantization& q = *model.graph.values[0].type->quantization;
  q.block_shape = {3, 1};
  q.scale_levels.resize(1);
  q.base_levels.resize(1);
  const auto lowered = ToQdq(model);
  ASSERT_TRUE(lowered.has_value()) << lowered.error().message;
  EXPECT_THAT(OpTypes(lowered->model),
              ElementsAre("QuantizeLinear", "DequantizeLinear", "DequantizeLinear", "Add", "MatMul",
                          "QuantizeLinear", "DequantizeLinear"));
  const auto base = format::Decode(*lowered->model.graph.FindInitializer("w/base"));
  EXPECT_EQ(base->dims, (format::Dims{4, 2}));
  EXPECT_THAT(base->As<float>(), ElementsAre(-1, 2, -1, 2, -1, 2, 0, 8));
  ExpectComesBack(model);
}

// The nodes are the type where they say something else than the annotation. Source: lowering.S7.
TEST(FromOnnx, TakesNoAnnotatedBaseThatTheNodesContradict) {
  format::Model lowered = ToQdq(WithBase())->model;
  for (format::TensorData& data : lowered.graph.initializers) {
    if (data.name != "w/base") continue;
    format::Tensor changed = *format::Decode(data);
    changed.As<float>()[0] = 7;
    data = format::ToTensorData("w/base", changed);
  }
  const auto lifted = FromOnnx(lowered);
  ASSERT_TRUE(lifted.has_value()) << lifted.error().where << ": " << lifted.error().message;
  EXPECT_NE(lifted->model.graph.FindInitializer("w/base"), nullptr);
  EXPECT_TRUE(std::ranges::any_of(lifted->model.graph.nodes,
                                  [](const format::Node& node) { return node.op_type == "Add"; }));
}

TEST(FromOnnx, TakesNoAnnotatedBaseThatIsAddedToOtherBlocks) {
  const auto folds = [](const format::Model& model) {
    const auto lifted = FromOnnx(model);
    return !lifted.has_value() ||
           std::ranges::none_of(lifted->model.graph.nodes,
                                [](const format::Node& node) { return node.op_type == "Add"; });
  };
  format::Model reshaped = ToQdq(WithBase())->model;
  ASSERT_TRUE(folds(reshaped));
  for (format::TensorData& data : reshaped.graph.initializers) {
    if (data.name != "w/blocks/shape") continue;
    format::Tensor changed = *format::Decode(data);
    std::ranges::copy(format::Dims{1, 2, 4}, changed.As<std::int64_t>().begin());
    data = format::ToTensorData("w/blocks/shape", changed);
  }
  EXPECT_FALSE(folds(reshaped));
}

TEST(Kinds, WithoutLevelsGetTheProductsAndRefuseABase) {
  int written = 0;
  for (const Kind& kind : Kinds()) {
    // GGUF has levels and bases of its own, safetensors takes what it gave alone.
    const bool others = kind.name == "gguf" || kind.name == "safetensors";
    if (others || kind.write == nullptr || kind.name == "qtx" || kind.name == "qdq") continue;
    const auto refused = Write(WithBase(), kind);
    ASSERT_FALSE(refused.has_value()) << kind.name;
    EXPECT_EQ(refused.error().where, "value 'w'") << kind.name;
    EXPECT_THAT(refused.error().message, HasSubstr("base_levels")) << kind.name;
    const auto flat = Write(WithLevels(), kind);
    if (!flat.has_value()) continue;  // blocks are more than some forms hold
    ++written;
    ASSERT_FALSE(flat->ledger.empty());
    EXPECT_EQ(flat->ledger[0].field, "scale_levels") << kind.name;
    EXPECT_EQ(flat->ledger[0].fate, LedgerEntry::Fate::kChanged) << kind.name;
  }
  EXPECT_GE(written, 3);  // csv, json, qonnx or qoperator
}

TEST(ToTflite, RefusesABase) {
  const auto refused = ToTflite(WithBase());
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("base_levels"));
}

TEST(ToIntegerOnly, RefusesABase) {
  const auto refused = ToIntegerOnly(WithBase());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().where, "value 'w'");
}

// Stored values and offset move by 128; the base does not.
TEST(ToEightBits, KeepsABase) {
  const auto shifted = ToEightBits(WithBase(), ElementType::kInt8Q);
  ASSERT_TRUE(shifted.has_value());
  EXPECT_TRUE(format::Check(shifted->model).empty());
  const format::Quantization& q = *shifted->model.graph.values[0].type->quantization;
  EXPECT_EQ(q.scale, (Floats{0.5F, 0.5F, 1.5F, 15.75F}));
  EXPECT_EQ(q.offset, (std::vector<std::int32_t>(4, -128)));
  EXPECT_EQ(q.base_levels[0].value, (Floats{-0.5F, 1, 0, 4}));
}

TEST(Diff, TellsLevelsApart) {
  format::Model other = WithBase();
  other.graph.values[0].type->quantization->base_levels[0].value[3] = 9;
  const auto differences = Diff(WithBase(), other);
  ASSERT_TRUE(differences.has_value());
  EXPECT_EQ(differences->size(), 1U);
}

}  // namespace
}  // namespace qtx::convert::levels_test
