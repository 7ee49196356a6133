// Damaged models on integers: one clear error, or a model that keeps the rules; never a crash.
#include <random>

#include "tests/qoperator/lifted.h"

namespace qtx::convert::qoperator_hostile_test {
namespace {

/// All patterns in one file: QLinearConv, MatMulNBits, an annotation.
std::string Patterns() {
  OnnxMaker maker = OneQLinearConv();
  maker.model.graph.inputs.push_back(OnnxMaker::Value("a", format::ElementType::kFloat, {1, 20}));
  maker.Initializer<std::uint8_t>("packed", format::ElementType::kUint8, {2, 2, 8},
                                  std::vector<std::uint8_t>(32, 0x21));
  maker.Initializer<float>("s", format::ElementType::kFloat, {4}, {1, 2, -3, 4});
  maker.Initializer<std::uint8_t>("z", format::ElementType::kUint8, {2}, {0x21, 0x43});
  format::Node& node = maker.Node("MatMulNBits", {"a", "packed", "s", "z"}, {"product"});
  node.attributes = {format::Attribute::Int("K", 20), format::Attribute::Int("N", 2),
                     format::Attribute::Int("bits", 4), format::Attribute::Int("block_size", 16)};
  return *maker.model.Serialize();
}

void ExpectRefusedOrSound(const std::string& bytes) {
  auto model = format::Model::Parse(bytes);
  if (!model.has_value()) {
    EXPECT_FALSE(model.error().message.empty());
    return;
  }
  Source source;
  source.onnx = *std::move(model);
  const auto conversion = Read(source, *FindKind("qoperator"));
  if (!conversion.has_value()) {
    EXPECT_FALSE(conversion.error().message.empty());
    return;
  }
  const auto written = Write(conversion->model, *FindKind("qoperator"), {});
  EXPECT_TRUE(written.has_value() || !written.error().message.empty());
}

TEST(QOperatorHostile, SurvivesEveryTruncation) {
  const std::string bytes = Patterns();
  for (std::size_t size = 0; size < bytes.size(); ++size)
    ExpectRefusedOrSound(bytes.substr(0, size));
}

TEST(QOperatorHostile, SurvivesDamagedBytes) {
  const std::string bytes = Patterns();
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = bytes;
    for (int flip = 0; flip < 1 + round % 3; ++flip)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    ExpectRefusedOrSound(damaged);
  }
}

}  // namespace
}  // namespace qtx::convert::qoperator_hostile_test
