// Damaged and foreign programs and parameters: one error, or a model that keeps the rules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "paddle/program.h"
#include "qtx/format/limits.h"
#include "tests/paddle/maker.h"

namespace qtx::convert::paddle_hostile_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// A layer of the old quantized form: every part of the reader has something to do.
PaddleMaker Quantized() {
  PaddleMaker maker;
  maker.Var("x", {1, 2});
  maker.Feed("x");
  maker.Param<float>("s", {1}, {63.5F});
  maker.Param<float>("w", {2, 2}, {-127, 1, 2, 127});
  for (const char* name : {"q", "m", "y"}) maker.Var(name, {1, 2});
  maker.Op("fake_quantize_moving_average_abs_max", {{"X", {"x"}}, {"InScale", {"s"}}},
           {{"Out", {"q"}}});
  maker.Int("bit_length", 8).Bool("is_test", true);
  maker.Op("mul", {{"X", {"q"}}, {"Y", {"w"}}}, {{"Out", {"m"}}}).Int("x_num_col_dims", 1);
  maker.Op("fake_dequantize_max_abs", {{"X", {"m"}}, {"Scale", {"s"}}}, {{"Out", {"y"}}});
  maker.Float("max_range", 635);
  maker.Fetch("y");
  return maker;
}

struct Case {
  explicit Case(const PaddleMaker& maker) : folder(TestFolder()) {
    program = maker.Program();
    params = maker.Params();
  }
  Result<Conversion> Read() const {
    WriteBytes(folder / "m.pdiparams", params);
    return ReadBytesAs(folder / "m.pdmodel", program, "paddle");
  }
  fs::path folder;
  std::string program, params;
};

TEST(PaddleHostile, RefusesParametersThatEndEarlyOrLate) {
  const Case whole(Quantized());
  ASSERT_TRUE(whole.Read().has_value()) << ErrorOf(whole.Read());
  Case part = whole;
  for (std::size_t size = 0; size < whole.params.size(); ++size) {
    part.params = whole.params.substr(0, size);
    EXPECT_FALSE(part.Read().has_value()) << size;
  }
  part.params = whole.params + "x";
  EXPECT_THAT(ErrorOf(part.Read()), HasSubstr("1 bytes after the last"));
}

TEST(PaddleHostile, SurvivesTruncatedAndDamagedPrograms) {
  const Case whole(Quantized());
  Case part = whole;
  for (std::size_t size = 0; size < whole.program.size(); ++size) {
    part.program = whole.program.substr(0, size);
    ExpectRefusedOrSound(part.Read());
  }
  std::mt19937 random(1);
  for (int round = 0; round < 1500; ++round) {
    part = whole;
    for (int i = 0; i < 2; ++i)
      part.program[random() % part.program.size()] = static_cast<char>(random());
    if (round % 2 == 0) part.params[random() % part.params.size()] = static_cast<char>(random());
    ExpectRefusedOrSound(part.Read());
  }
}

TEST(PaddleHostile, SurvivesADamagedNetwork) {
  const fs::path corpus =
      fs::path(QTX_SOURCE_DIR).parent_path() / "shared/corpus/paddle/samplenet/samplenet.pdmodel";
  if (!fs::exists(corpus)) GTEST_SKIP() << "no corpus beside the source tree";
  const auto bytes = format::ReadFile(corpus.string(), format::kMaxModelBytes);
  ASSERT_TRUE(bytes.has_value());
  const std::string params = fs::path(corpus).replace_extension(".pdiparams").string();
  const auto folder = TestFolder();
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    std::string damaged = *bytes;
    for (int i = 0; i < 20; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
    ExpectRefusedOrSound(ReadBytesAs(folder / "m.pdmodel", damaged, "paddle", {params}));
  }
}

// A description of 2^29 elements, 2 GB, before 16 bytes of data.
TEST(PaddleHostile, HoldsSizesAgainstTheFileBeforeItAllocates) {
  const auto tensor = [](const std::vector<std::int64_t>& dims, std::uint64_t levels) {
    paddle_proto::TensorDesc desc;
    desc.set_data_type(5);
    for (const auto dim : dims) desc.add_dims(dim);
    const std::string text = desc.SerializeAsString();
    std::string bytes(4, '\0');
    bytes.append(reinterpret_cast<const char*>(&levels), 8);
    bytes.append(4, '\0');
    const auto size = static_cast<std::int32_t>(text.size());
    bytes.append(reinterpret_cast<const char*>(&size), 4);
    bytes += text + std::string(16, '\0');
    std::string_view view = bytes;
    return ErrorOf(paddle::TakeTensor(view));
  };
  EXPECT_EQ(tensor({4}, 0), "no error");
  EXPECT_THAT(tensor({std::int64_t{1} << 29}, 0), HasSubstr("16 bytes are left"));
  EXPECT_NE(tensor({std::int64_t{1} << 62, 4}, 0), "no error");
  EXPECT_NE(tensor({-1}, 0), "no error");
  EXPECT_THAT(tensor({4}, std::uint64_t{1} << 63), HasSubstr("levels"));
  EXPECT_THAT(tensor({4}, 1), HasSubstr("ends within"));
}

TEST(PaddleHostile, KeepsParametersWithinTheirFolder) {
  for (const char* name : {"../secret", "/etc/passwd", "..", "a/b"}) {
    PaddleMaker maker;
    maker.Param<float>(name, {1}, {1});
    maker.Fetch(name);
    const auto folder = TestFolder();
    EXPECT_THAT(ErrorOf(ReadBytesAs(folder / "__model__", maker.Program(), "paddle")),
                HasSubstr("expected a file name"));
  }
}

// The error of y = softmax(x), to which `add` adds what a writer does not.
std::string ErrorOfSoftmax(const std::function<void(PaddleMaker&)>& add) {
  PaddleMaker maker;
  for (const char* name : {"x", "y"}) maker.Var(name, {1, 2});
  maker.Feed("x");
  maker.Op("softmax", {{"X", {"x"}}}, {{"Out", {"y"}}});
  add(maker);
  maker.Fetch("y");
  return ErrorOf(maker.Convert());
}

TEST(PaddleHostile, RefusesRepeatedNamesAndAttributesOfAnotherType) {
  EXPECT_EQ(ErrorOfSoftmax([](PaddleMaker& maker) { maker.Int("axis", 1); }), "no error");
  EXPECT_THAT(ErrorOfSoftmax([](PaddleMaker& maker) { maker.Int("axis", 1).Int("axis", 0); }),
              HasSubstr("op softmax of 'y': found attribute 'axis' twice"));
  for (const auto& mistyped : std::vector<std::function<void(PaddleMaker&)>>{
           [](PaddleMaker& maker) { maker.Float("axis", 1); },
           [](PaddleMaker& maker) { maker.Text("axis", "1"); },
           [](PaddleMaker& maker) { maker.Ints("axis", {1}); }}) {
    EXPECT_THAT(ErrorOfSoftmax(mistyped),
                HasSubstr("op softmax of 'y': attribute 'axis' has another type than expected"));
  }
  EXPECT_THAT(
      ErrorOfSoftmax([](PaddleMaker& maker) { *maker.op->add_inputs() = maker.op->inputs(0); }),
      HasSubstr("op softmax of 'y': found input 'X' twice"));
  EXPECT_THAT(ErrorOfSoftmax([](PaddleMaker& maker) { maker.Var("y", {1}); }),
              HasSubstr("program: found variable 'y' twice"));
}

TEST(PaddleHostile, RefusesLoopsAndWhatIsNoProgram) {
  PaddleMaker maker;
  maker.Var("y", {1});
  maker.Op("while", {}, {{"Out", {"y"}}});
  auto& attr = *maker.op->add_attrs();
  attr.set_name("sub_block");
  attr.set_block_idx(1);
  EXPECT_THAT(ErrorOf(maker.Convert()), HasSubstr("op while of 'y'"));
  EXPECT_THAT(ErrorOf(paddle::ParseProgram("hello")), HasSubstr("not a Paddle program"));
  EXPECT_THAT(ErrorOf(paddle::ParseProgram("")), HasSubstr("without blocks"));
}

}  // namespace
}  // namespace qtx::convert::paddle_hostile_test
