// Glow's profiles onto a model and out of one. What the files say is written by hand, after the
// keys of Glow's Serialization.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "glow/names.h"
#include "glow/profile.h"
#include "tests/files.h"
#include "tests/qdq/maker.h"

namespace qtx::convert::glow_test {
namespace {

using format::ElementType;
using testing::ElementsAre;
using testing::HasSubstr;

// in.0 -> Conv "conv/1" (constant w) -> c -> Relu without a name -> y
format::Model Net() {
  OnnxMaker maker;
  maker.model.graph.inputs = {OnnxMaker::Value("in.0", ElementType::kFloat, {1, 1, 2, 2})};
  maker.model.graph.outputs = {OnnxMaker::Value("y", ElementType::kFloat, {1, 1, 2, 2})};
  maker.Initializer<float>("w", ElementType::kFloat, {1, 1, 1, 1}, {2.0F});
  maker.Node("Conv", {"in.0", "w"}, {"c"}).name = "conv/1";
  maker.Node("Relu", {"c"}, {"y"}).name = "";
  return maker.model;
}

Result<Conversion> ReadProfile(const std::string& yaml, const Options& options = {},
                               const format::Model& net = Net()) {
  const auto folder = TestFolder();
  EXPECT_TRUE(net.Save((folder / "net.onnx").string()).has_value());
  WriteBytes(folder / "net.yaml", yaml);
  return ReadFileAs(folder / "net.yaml", nullptr, options);
}

const format::TensorType& TypeOf(const Conversion& conversion, const std::string& value) {
  static const format::TensorType kNone;
  const format::ValueInfo* info = conversion.model.graph.FindValue(value);
  EXPECT_NE(info, nullptr) << value;
  return info == nullptr || !info->type ? kNone : *info->type;
}

std::string Written(const format::Model& model, const Options& options = {}) {
  const auto written = Write(model, *FindKind("glow"), options);
  return written.has_value() ? std::get<std::string>(written->content) : ErrorOf(written);
}

constexpr const char* kInfos = R"(---
- nodeOutputName:  'in_0:0'
  scale:           0.0078125
  offset:          -128
- nodeOutputName:  'conv_1:0'
  scale:           0.25
  offset:          0
...
)";

TEST(GlowInfos, AnnotateTheirValuesAsInt8) {
  const auto conversion = ReadProfile(kInfos);
  ASSERT_TRUE(conversion.has_value()) << ErrorOf(conversion);
  const format::TensorType& input = TypeOf(*conversion, "in.0");
  EXPECT_EQ(input.elem_type, ElementType::kFloat);
  EXPECT_EQ(input.quantization->storage_type, ElementType::kInt8);
  EXPECT_THAT(input.quantization->scale, ElementsAre(0x1p-7F));
  EXPECT_THAT(input.quantization->offset, ElementsAre(-128));
  EXPECT_THAT(TypeOf(*conversion, "c").quantization->scale, ElementsAre(0.25F));
}

TEST(GlowInfos, AreWrittenAsTheyWereRead) {
  const auto conversion = ReadProfile(kInfos);
  ASSERT_TRUE(conversion.has_value()) << ErrorOf(conversion);
  EXPECT_EQ(Written(conversion->model), kInfos);
}

// The lowered form records its annotations (lowering.C1), and the profile adds one: lifting finds
// the nodes and annotations that it expects.
TEST(GlowInfos, GoOntoALoweredModel) {
  OnnxMaker maker;
  maker.model.graph.inputs = {OnnxMaker::Quantized("x", ElementType::kInt8Q, {2})};
  maker.model.graph.outputs = {OnnxMaker::Quantized("y", ElementType::kInt8Q, {2})};
  maker.Node("Relu", {"x"}, {"y"}).name = "r";
  const auto lowered = ToQdq(maker.model);
  ASSERT_TRUE(lowered.has_value()) << ErrorOf(lowered);
  const auto annotated =
      ReadProfile("- nodeOutputName: 'r:0'\n  scale: 0.25\n  offset: 3\n", {}, lowered->model);
  ASSERT_TRUE(annotated.has_value()) << ErrorOf(annotated);
  EXPECT_THAT(TypeOf(*annotated, "y/real").quantization->scale, ElementsAre(0.25F));
  const auto lifted = FromOnnx(annotated->model);
  ASSERT_TRUE(lifted.has_value()) << ErrorOf(lifted);
  EXPECT_EQ(lifted->model.graph.nodes, maker.model.graph.nodes);
}

// 0.1F is 13421773 * 2^-27: every digit of that, so that reading gives the same 32 bits.
constexpr const char* kProfile = R"(---
GlowToolsVersion: '2021-05-03 (d61ad9d99)'
...
---
GraphPreLowerHash: 0x9A5BBA08BCFD4E48
...
---
- NodeOutputName:  'conv_1:0'
  Min:             -1.5
  Max:             0.100000001490116119384765625
  Histogram:       [ 3, 0, 16777216, 5 ]
- NodeOutputName:  'Relu_y:0'
  Min:             0.0
  Max:             0.0
  Histogram:       [ 7 ]
...
)";

TEST(GlowProfile, GivesStatisticsWithTheHistogramFromMinToMax) {
  const auto conversion = ReadProfile(kProfile);
  ASSERT_TRUE(conversion.has_value()) << ErrorOf(conversion);
  const format::Statistics& s = *TypeOf(*conversion, "c").statistics;
  EXPECT_THAT(s.min, ElementsAre(-1.5));
  EXPECT_THAT(s.max, ElementsAre(0x1.99999ap-4));
  EXPECT_EQ(s.count, 3U + 16777216U + 5U);
  EXPECT_EQ(s.histogram->lower, -1.5);
  EXPECT_EQ(s.histogram->upper, 0x1.99999ap-4);
  EXPECT_THAT(s.histogram->counts, ElementsAre(3U, 0U, 16777216U, 5U));
  EXPECT_EQ(s.source, "glow profile");
  // A constant value has no bins of any width.
  const format::Statistics& constant = *TypeOf(*conversion, "y").statistics;
  EXPECT_EQ(constant.count, 7U);
  EXPECT_FALSE(constant.histogram.has_value());
}

TEST(GlowProfile, IsWrittenAsItWasRead) {
  const auto conversion = ReadProfile(kProfile);
  ASSERT_TRUE(conversion.has_value()) << ErrorOf(conversion);
  EXPECT_EQ(Written(conversion->model), kProfile);
}

TEST(GlowProfile, OfAnOlderWriterHasSmallKeysAndNoVersionOrHistogram) {
  const auto conversion = ReadProfile(
      "---\nGraphPreLowerHash: 0x01\n...\n---\n- nodeOutputName: 'conv_1:0'\n  min: -1.0\n  max: "
      "2.5\n...\n");
  ASSERT_TRUE(conversion.has_value()) << ErrorOf(conversion);
  EXPECT_THAT(TypeOf(*conversion, "c").statistics->max, ElementsAre(2.5));
}

TEST(GlowNames, AreLegalNamesAndAResultNumber) {
  EXPECT_EQ(glow::LegalName("conv/1.x"), "conv_1_x");
  EXPECT_EQ(glow::LegalName("7"), "A7");
  EXPECT_EQ(glow::LegalName(""), "A");
  const auto names = glow::NamesOf(Net().graph);
  EXPECT_THAT(names.at("conv_1:0"), ElementsAre("c"));
  EXPECT_THAT(names.at("Relu_y:0"), ElementsAre("y"));
  EXPECT_THAT(names.at("w:0"), ElementsAre("w"));
}

TEST(GlowNames, ThatNameNothingAreAnErrorUnlessAllowed) {
  const std::string yaml = "- nodeOutputName: 'conv_2:0'\n  scale: 1.0\n  offset: 0\n";
  EXPECT_THAT(ErrorOf(ReadProfile(yaml)), HasSubstr("conv_2:0: line 1: is not a value"));
  const auto allowed = ReadProfile(yaml, {.allow = {"unmatched"}});
  ASSERT_TRUE(allowed.has_value()) << ErrorOf(allowed);
  ASSERT_EQ(allowed->ledger.size(), 1U);
  EXPECT_EQ(allowed->ledger[0].value, "conv_2:0");
}

TEST(GlowNames, OfTwoValuesAreAnErrorNamingBoth) {
  format::Model net = Net();
  net.graph.nodes[1].name = "conv.1";
  EXPECT_THAT(ErrorOf(ReadProfile(kInfos, {}, net)),
              HasSubstr("line 5: 'conv_1:0' is Glow's name of 'c' and of 'y'"));
}

TEST(GlowProfile, NeedsItsModel) {
  const auto folder = TestFolder();
  WriteBytes(folder / "net.yaml", kInfos);
  EXPECT_THAT(ErrorOf(ReadFileAs(folder / "net.yaml")), HasSubstr("--with MODEL.onnx"));
  ASSERT_TRUE(Net().Save((folder / "other.onnx").string()).has_value());
  const auto with =
      ReadFileAs(folder / "net.yaml", nullptr, {}, {(folder / "other.onnx").string()});
  EXPECT_TRUE(with.has_value()) << ErrorOf(with);
}

// UINT8 with offset 128 is Glow's INT8 with offset 0; scales along an axis it cannot say.
TEST(GlowExport, WritesInt8AndLosesTheRestByName) {
  OnnxMaker maker;
  maker.model.graph.inputs = {OnnxMaker::Quantized("x", ElementType::kUint8Q, {2})};
  maker.model.graph.inputs[0].type->quantization->offset = {128};
  maker.model.graph.outputs = {
      OnnxMaker::Quantized("y", ElementType::kInt8Q, {2}, {0.5F, 0.25F}, {0})};
  maker.Node("Relu", {"x"}, {"y"}).name = "r";
  EXPECT_THAT(Written(maker.model), HasSubstr("y: quantization: scales along an axis"));
  EXPECT_EQ(Written(maker.model, {.allow = {"parameters"}}),
            "---\n- nodeOutputName:  'x:0'\n  scale:           0.5\n  offset:          0\n...\n");
}

TEST(GlowExport, AsksWhichWhereValuesHaveBoth) {
  auto conversion = ReadProfile(kInfos);
  ASSERT_TRUE(conversion.has_value()) << ErrorOf(conversion);
  format::Model& model = conversion->model;
  model.graph.inputs[0].type->statistics.emplace();
  model.graph.inputs[0].type->statistics->min = {-1.0};
  model.graph.inputs[0].type->statistics->max = {1.0};
  EXPECT_THAT(Written(model), HasSubstr("scales or statistics, not both"));
  EXPECT_EQ(Written(model, {.allow = {"statistics"}}), kInfos);
  EXPECT_THAT(Written(model, {.allow = {"parameters"}}), HasSubstr("Max:             1.0\n"));
}

// Bins of 1 from -2, their middles -1.5 -0.5 0.5 1.5; from -1 to 2 bins are of 0.75, and these in
// the first (the nearest), the first, the third and the fourth.
TEST(GlowProfiles, MoveCountsToBinsFromMinToMaxWithLeave) {
  format::Model model = Net();
  model.graph.inputs[0].type->statistics = format::Statistics{.min = {-1}, .max = {2}, .count = 10};
  model.graph.inputs[0].type->statistics->histogram =
      format::Histogram{.lower = -2, .upper = 2, .counts = {1, 2, 3, 4}};
  EXPECT_THAT(Written(model), HasSubstr("its bounds are not min and max"));
  const std::string written = Written(model, {.allow = {"statistics"}});
  const auto profile = glow::ParseProfile(written);
  ASSERT_TRUE(profile.has_value()) << written;
  EXPECT_THAT(profile->entries[0].histogram, ElementsAre(3, 0, 3, 4));
}

TEST(GlowHostile, RefusesWhatIsNoProfileNamingTheLine) {
  const auto message = [](const std::string& text) { return ErrorOf(glow::ParseProfile(text)); };
  EXPECT_THAT(message(""), HasSubstr("found no list"));
  EXPECT_THAT(message("- a\n"), HasSubstr("line 1: found a scalar"));
  EXPECT_THAT(message("- NodeOutputName: a\n  Mean: 1\n"), HasSubstr("line 2: found key 'Mean'"));
  EXPECT_THAT(message("- NodeOutputName: a\n  Min: 1\n  min: 0\n"),
              HasSubstr("line 3: found key 'Min' twice"));
  EXPECT_THAT(message("- NodeOutputName: a\n  Min: 1\n  Max: 0\n"), HasSubstr("Min is above Max"));
  EXPECT_THAT(message("- NodeOutputName: a\n  Scale: 0.0\n  Offset: 0\n"), HasSubstr("not above"));
  EXPECT_THAT(message("- NodeOutputName: a\n  Min: nan\n  Max: 0\n"), HasSubstr("not a finite"));
  EXPECT_THAT(message("- NodeOutputName: a\n  Scale: 1.0\n"), HasSubstr("expected either"));
  EXPECT_THAT(message("- NodeOutputName: a\n  Min: 0\n  Max: 1\n  Histogram: [ -1 ]\n"),
              HasSubstr("not an integer count"));
}

TEST(GlowHostile, RefusesAliasesAndDeepNesting) {
  const std::string bomb = "- &a [x, x]\n- &b [*a, *a]\n- &c [*b, *b]\n- NodeOutputName: *c\n";
  EXPECT_FALSE(glow::ParseProfile(bomb).has_value());
  EXPECT_THAT(ErrorOf(glow::ParseProfile("- NodeOutputName: a\n  Min: &m 0\n  Max: *m\n")),
              HasSubstr("found an anchor"));
  EXPECT_FALSE(glow::ParseProfile(std::string(100000, '[')).has_value());
  EXPECT_FALSE(glow::ParseProfile(std::string(100000, '{')).has_value());
}

TEST(GlowHostile, SurvivesTruncationAndDamage) {
  const auto folder = TestFolder();
  ASSERT_TRUE(Net().Save((folder / "net.onnx").string()).has_value());
  const auto expect_refused_or_sound = [&folder](const std::string& text) {
    ExpectRefusedOrSound(ReadBytesAs(folder / "net.yaml", text, "glow"));
  };
  const std::string text = kProfile;
  for (std::size_t size = 0; size < text.size(); ++size)
    expect_refused_or_sound(text.substr(0, size));
  std::mt19937 random(1);
  for (int round = 0; round < 1000; ++round) {
    std::string damaged = text;
    for (int i = 0; i < 2; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
    expect_refused_or_sound(damaged);
  }
}

}  // namespace
}  // namespace qtx::convert::glow_test
