// Damaged and foreign files: one clear error, or a model that keeps the rules; never a crash.
#include <gtest/gtest.h>

#include <random>

#include "qtx/convert/convert.h"
#include "qtx/format/check.h"
#include "tests/networks.h"
#include "tests/tflite/maker.h"

namespace qtx::convert::tflite_hostile_test {
namespace {

// An error, or a conversion.
void ExpectRefusedOrSound(std::string_view bytes) {
  const auto conversion = FromTflite(bytes);
  if (conversion.has_value()) return;
  EXPECT_FALSE(conversion.error().message.empty());
}

TEST(TfliteHostile, RefusesWhatIsNoTflite) {
  for (const std::string_view bytes :
       {"", "T", "TFL3", "....TFL3", "PK\3\4TFL4........", "{\"a\": 1}        "}) {
    const auto conversion = FromTflite(bytes);
    ASSERT_FALSE(conversion.has_value()) << bytes;
    EXPECT_EQ(conversion.error().code, ErrorCode::kInvalid);
  }
}

TEST(TfliteHostile, RefusesEveryTruncation) {
  const auto bytes = ReadNetwork("aww");
  ASSERT_TRUE(bytes.has_value());
  for (std::size_t size = 0; size < bytes->size(); size += 97) {
    const auto conversion = FromTflite(std::string_view(*bytes).substr(0, size));
    ASSERT_FALSE(conversion.has_value()) << size;
    EXPECT_EQ(conversion.error().code, ErrorCode::kInvalid) << size;
  }
}

TEST(TfliteHostile, SurvivesDamagedBytes) {
  for (const char* network : {"aww", "toycar", "micro_kws_m_quantized"}) {
    const auto bytes = ReadNetwork(network);
    ASSERT_TRUE(bytes.has_value());
    std::mt19937 random(1);
    for (int round = 0; round < 300; ++round) {
      std::string damaged = *bytes;
      for (int flip = 0; flip < 3; ++flip) {
        damaged[random() % damaged.size()] = static_cast<char>(random());
      }
      // Tables and offsets are at the two ends of the file, weights between them.
      damaged[damaged.size() - 1 - random() % 4096] ^= static_cast<char>(1U << (random() % 8));
      ExpectRefusedOrSound(damaged);
    }
  }
}

// x + x -> y in FLOAT, with options.
std::string Sum() {
  TfliteMaker maker;
  const int x = maker.Tensor("x", {2}, schema::TensorType::FLOAT32);
  const int y = maker.Tensor("y", {2}, schema::TensorType::FLOAT32);
  maker.Operator(schema::BuiltinOperator::ADD, {x, x}, {y}, schema::AddOptionsT());
  return maker.Bytes({x}, {y});
}

// The type of the options is there, the options are not: their place in the table says 0.
TEST(TfliteHostile, SurvivesOptionsOfAKindWithoutAValue) {
  std::string bytes = Sum();
  const auto* op = schema::GetModel(bytes.data())->subgraphs()->Get(0)->operators()->Get(0);
  const auto* table = reinterpret_cast<const flatbuffers::Table*>(op);
  const auto at = table->GetVTable() - reinterpret_cast<const std::uint8_t*>(bytes.data());
  bytes[static_cast<std::size_t>(at) + schema::Operator::VT_BUILTIN_OPTIONS] = 0;
  bytes[static_cast<std::size_t>(at) + schema::Operator::VT_BUILTIN_OPTIONS + 1] = 0;
  const auto* damaged = schema::GetModel(bytes.data())->subgraphs()->Get(0)->operators()->Get(0);
  ASSERT_EQ(damaged->builtin_options(), nullptr);
  ASSERT_EQ(damaged->builtin_options_type(), schema::BuiltinOptions::AddOptions);
  const auto conversion = FromTflite(bytes);
  ASSERT_TRUE(conversion.has_value()) << conversion.error().message;
  EXPECT_TRUE(ToTflite(conversion->model).has_value());
}

}  // namespace
}  // namespace qtx::convert::tflite_hostile_test
