#include "qtx/reference/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

namespace qtx::reference {
namespace {

using format::ElementType;
using ::testing::HasSubstr;

struct Case {
  const char* kernel;
  ElementType x, y;
  bool constant;
  const char* expected;
};

format::Model ModelOf(const Case& one) {
  format::Model model;
  const auto value = [](const char* name, ElementType type) {
    format::ValueInfo info;
    info.name = name;
    info.type.emplace();
    info.type->elem_type = type;
    return info;
  };
  model.graph.inputs = {value("x", one.x)};
  model.graph.outputs = {value("y", one.y)};
  if (one.constant) model.graph.initializers.emplace_back().name = "w";
  format::Node& node = model.graph.nodes.emplace_back();
  node.op_type = "Any";
  node.inputs = {"x", "w"};
  node.outputs = {"y"};
  node.origin.emplace();
  node.origin->framework = "tflite";
  node.origin->op_type = one.kernel;
  return model;
}

// The table of spec/profiles.md.
TEST(Profile, DelegatesAsLiteRtDoes) {
  const Profile& profile = **FindProfile("litert-xnnpack");
  constexpr auto kInt8 = ElementType::kInt8Q, kUint8 = ElementType::kUint8Q;
  constexpr auto kInt16 = ElementType::kInt16Q, kFloat = ElementType::kFloat;
  for (const Case& one : {Case{"CONV_2D", kInt8, kInt8, true, "xnnpack"},
                          Case{"CONV_2D", kInt16, kInt16, true, "tflite-half-up"},
                          Case{"DEPTHWISE_CONV_2D", kInt8, kInt8, true, "xnnpack"},
                          Case{"DEPTHWISE_CONV_2D", kUint8, kUint8, true, "xnnpack"},
                          Case{"BATCH_MATMUL", kInt8, kInt8, true, "xnnpack"},
                          Case{"BATCH_MATMUL", kInt8, kInt8, false, "xnnpack"},
                          Case{"SOFTMAX", kInt8, kInt8, false, "tflite-half-up"},
                          Case{"QUANTIZE", kInt8, kUint8, false, "tflite-half-up"},
                          Case{"QUANTIZE", kInt8, kInt16, false, "tflite-half-up"},
                          Case{"QUANTIZE", kFloat, kInt8, false, "xnnpack"},
                          Case{"LEAKY_RELU", kUint8, kUint8, false, "tflite-half-up"},
                          Case{"MEAN", kInt8, kInt8, false, "xnnpack"},
                          Case{"MEAN", kInt16, kInt16, false, "tflite-half-up"},
                          Case{"RESIZE_BILINEAR", kInt8, kInt8, false, "xnnpack"}}) {
    const format::Model model = ModelOf(one);
    EXPECT_EQ(ArithmeticOf(profile, model, model.graph.nodes[0]), one.expected) << one.kernel;
  }
}

TEST(Profile, DelegatesNoMatrixWithAnOffset) {
  const Profile& profile = **FindProfile("litert-xnnpack");
  constexpr auto kInt8 = ElementType::kInt8Q;
  format::Model model = ModelOf({"BATCH_MATMUL", kInt8, kInt8, true, ""});
  format::ValueInfo& w = model.graph.values.emplace_back();
  w.name = "w";
  w.type.emplace();
  w.type->elem_type = kInt8;
  w.type->quantization.emplace();
  for (const std::int32_t offset : {0, 5}) {
    w.type->quantization->offset = {offset};
    EXPECT_EQ(ArithmeticOf(profile, model, model.graph.nodes[0]),
              offset == 0 ? "xnnpack" : "tflite-half-up");
  }
}

TEST(Profile, NamesNodesWithoutAKernel) {
  const Profile& profile = **FindProfile("litert-xnnpack");
  format::Model model = ModelOf({"MEAN", ElementType::kInt8Q, ElementType::kInt8Q, false, ""});
  model.graph.nodes[0].op_type = "ReduceMean";
  model.graph.nodes[0].origin.reset();
  const auto assigned = Assign(profile, model);
  EXPECT_EQ(assigned.by_node.at("y"), "exact");
  ASSERT_EQ(assigned.unknown.size(), 1U);
  EXPECT_EQ(assigned.unknown[0].says,
            "'litert-xnnpack' knows no kernel MEAN of INT8Q: computed as in exact");
}

format::Quantization Scaled(float scale) {
  format::Quantization quantization;
  quantization.scale = {scale};
  return quantization;
}

// xnnpack.C3: the delegate has no LEAKY_RELU of factors beyond, and no node without origin is one.
TEST(Profile, DelegatesByTheFactorsOfALeakyRelu) {
  const Profile& profile = **FindProfile("litert-xnnpack");
  format::Model model =
      ModelOf({"LEAKY_RELU", ElementType::kInt8Q, ElementType::kInt8Q, false, ""});
  format::Node& node = model.graph.nodes[0];
  node.op_type = "LeakyRelu";
  model.graph.inputs[0].type->quantization = Scaled(0.5F);
  model.graph.outputs[0].type->quantization = Scaled(1.0F);
  const auto with_alpha = [&](float alpha) {
    node.attributes = {format::Attribute::Float("alpha", alpha)};
    return ArithmeticOf(profile, model, node);
  };
  EXPECT_EQ(with_alpha(0x1p-7F), "xnnpack");
  EXPECT_EQ(with_alpha(0x1p-8F), "tflite-half-up");
  node.origin.reset();
  EXPECT_EQ(with_alpha(0x1p-7F), "");
}

TEST(Profile, TellsAMeanThatDropsItsAxes) {
  const Profile& profile = **FindProfile("litert-x86");
  format::Model model = ModelOf({"MEAN", ElementType::kInt8Q, ElementType::kInt8Q, false, ""});
  EXPECT_EQ(ArithmeticOf(profile, model, model.graph.nodes[0]), "tflite-half-up");
  format::Node reshape;
  reshape.op_type = "Reshape";
  reshape.inputs = {"y", "shape"};
  reshape.origin = model.graph.nodes[0].origin;
  model.graph.nodes.push_back(reshape);
  EXPECT_EQ(ArithmeticOf(profile, model, model.graph.nodes[0]), "tflite-float64");
}

std::vector<std::string> Words(const std::string& cell) {
  static const std::regex word(R"([\w.()*-]+)");
  return {std::sregex_token_iterator(cell.begin(), cell.end(), word), {}};
}

// Kernels and types as the table has them, "all" for "*", in one order.
std::string Sorted(std::vector<std::string> words) {
  std::ranges::sort(words);
  std::string joined;
  for (const std::string& one : words) joined += (joined.empty() ? "" : " ") + one;
  return joined == "all" ? "*" : joined;
}

using Row = std::vector<std::string>;  // kernels, types, where, arithmetic

std::map<std::string, std::vector<Row>> RowsOfTheChapter() {
  std::ifstream file(QTX_SOURCE_DIR "/spec/profiles.md");
  const std::regex row(R"(^\| (`[a-z0-9-]+` )?\| (.*) \| (.*) \| (.*) ?\| (.*) \|$)");
  const std::regex link(R"(\[([a-z0-9-]+)\]\(.*\))");
  std::map<std::string, std::vector<Row>> rows;
  std::string profile;
  for (std::string line; std::getline(file, line);) {
    std::smatch found;
    if (!std::regex_match(line, found, row)) continue;
    if (found[1].matched) profile = Words(found[1])[0];
    const std::string arithmetic = std::regex_replace(found[5].str(), link, "$1");
    rows[profile].push_back({Sorted(Words(found[2])), Sorted(Words(found[3])),
                             Sorted(Words(found[4])),
                             arithmetic.starts_with("none known") ? "" : arithmetic});
  }
  return rows;
}

// The words of a condition of the table.
std::string WordsOf(ProfileRule::When when) {
  using When = ProfileRule::When;
  static const std::map<When, std::string> words = {
      {When::kAlways, ""},
      {When::kNoOffset, "w has no offset"},
      {When::kToByte, "y has 8 bits"},
      {When::kQuantizedWeights, "w is quantized (dynamic range)"},
      {When::kNoOrigin, "none of TFLite's own nodes"},
      {When::kEighths, "TFLite's own nodes, y as x, factors of xnnpack.C3"},
      {When::kDynamic, "w as xnnpack.S9 takes it"},
      {When::kHybrid, "w as tflite_float64.S7 takes it"},
      {When::kSums, "ratios of xnnpack.C2"},
      {When::kDropsAxes, "without keep_dims: a Reshape follows"},
  };
  return Sorted(Words(words.at(when)));
}

TEST(Profile, AreTheTableOfTheChapter) {
  const auto rows = RowsOfTheChapter();
  for (const Profile& profile : Profiles()) {
    std::vector<Row> expected;
    for (const ProfileRule& rule : profile.rules) {
      expected.push_back({Sorted(Words(std::string(rule.kernels))),
                          Sorted(Words(std::string(rule.types))), WordsOf(rule.when),
                          std::string(rule.arithmetic)});
    }
    const auto found = rows.find(std::string(profile.name));
    ASSERT_NE(found, rows.end()) << profile.name;
    EXPECT_EQ(found->second, expected) << profile.name;
  }
}

TEST(Profile, NamesArithmeticsThatThereAre) {
  for (const Profile& profile : Profiles()) {
    for (const ProfileRule& rule : profile.rules) {
      if (!rule.arithmetic.empty()) {
        EXPECT_TRUE(FindArithmetic(rule.arithmetic).has_value()) << profile.name;
      }
    }
  }
  const auto none = FindProfile("litert");
  ASSERT_FALSE(none.has_value());
  EXPECT_THAT(none.error().message, HasSubstr("found 'litert', expected one of litert-reference"));
}

}  // namespace
}  // namespace qtx::reference
