// GGUF files of models that never were one, and of parts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "qtx/convert/convert.h"
#include "qtx/format/feature.h"
#include "tests/files.h"
#include "tests/gguf/maker.h"

namespace qtx::convert::gguf_test {
namespace {

using ::testing::HasSubstr;

format::Model Empty() {
  format::Model model;
  model.ir_version = 12;
  model.opset_imports = {
      {"", 24}, {std::string(format::kDomain), format::Features::Current().LatestVersion()}};
  model.graph.name = "g";
  return model;
}

// 32 elements of INT8Q: 0 to 31, with one scale.
format::Model WithScale(float scale) {
  format::Model model = Empty();
  format::Tensor tensor = *format::MakeTensor(format::ElementType::kInt8, {1, 32});
  for (std::size_t i = 0; i < tensor.bytes.size(); ++i) tensor.bytes[i] = static_cast<std::byte>(i);
  model.graph.initializers = {format::ToTensorData("w", tensor)};
  format::TensorType type{.elem_type = format::ElementType::kInt8Q,
                          .shape = format::ToShape(tensor.dims)};
  type.quantization.emplace();
  type.quantization->scale = {scale};
  type.quantization->axis = {0, 1};
  type.quantization->block_shape = {1, 32};
  model.graph.values = {{.name = "w", .type = type}};
  return model;
}

std::string WrittenAs(const format::Model& model, const Options& options = {}) {
  const auto written = Write(model, *FindKind("gguf"), options);
  return written.has_value() ? *BytesOf(*written) : written.error().Text();
}

// Q8_0: the binary16 1.5 is 3e00, then the bytes 0 to 31. The magic, version 3, one tensor, three
// entries of 4 + 4 + 8 + 8 bytes before them; the tensor's info is name, 2 axes, sizes from the
// fastest on, type 8, offset 0.
TEST(GgufExport, WritesTheFirstTypeThatHoldsATensor) {
  std::string expected = "GGUF" + Raw<std::uint32_t>(3) + Raw<std::uint64_t>(1) +
                         Raw<std::uint64_t>(3) + Text("general.architecture") +
                         Raw<std::uint32_t>(8) + Text("onnx") + Text("general.name") +
                         Raw<std::uint32_t>(8) + Text("g") + Text("general.quantization_version") +
                         Raw<std::uint32_t>(4) + Raw<std::uint32_t>(2) + Text("w") +
                         Raw<std::uint32_t>(2) + Raw<std::uint64_t>(32) + Raw<std::uint64_t>(1) +
                         Raw<std::uint32_t>(8) + Raw<std::uint64_t>(0);
  expected.resize((expected.size() + 31) / 32 * 32, '\0');
  expected += std::string("\x00\x3e", 2);
  for (char i = 0; i < 32; ++i) expected += i;
  expected.resize((expected.size() + 31) / 32 * 32, '\0');
  EXPECT_EQ(WrittenAs(WithScale(1.5F)), expected);
}

TEST(GgufExport, RefusesAScaleThatABinary16DoesNotHold) {
  EXPECT_THAT(WrittenAs(WithScale(0.1F)),
              HasSubstr("initializer 'w': Q8_0: factor [0]: is 0x1.99999ap-4"));
}

// ggml does not look at the sign of an E4M3: a value of its own would become another.
TEST(GgufExport, RefusesANegativeScaleThatNvfp4DoesNotHold) {
  format::Model model = Empty();
  model.graph.initializers = {
      format::ToTensorData("w", *format::MakeTensor(format::ElementType::kFloat4E2M1, {1, 64}))};
  format::ValueInfo info;
  info.name = "w";
  info.type =
      format::TensorType{format::ElementType::kFloat4E2M1Q, format::ToShape(format::Dims{1, 64})};
  format::Quantization& q = info.type->quantization.emplace();
  q.axis = {0, 1};
  q.block_shape = {1, 16};
  q.scale = {1, 448, 0.5F, 0x1p-9F};
  model.graph.values = {info};
  EXPECT_TRUE(WrittenAs(model).starts_with("GGUF"));
  model.graph.values[0].type->quantization->scale[2] = -0.5F;
  EXPECT_THAT(WrittenAs(model), HasSubstr("NVFP4: factor [2]: is -0x1p-1"));
}

TEST(GgufExport, RefusesATypeThatGgmlDoesNotHave) {
  format::Model model = Empty();
  model.graph.initializers = {
      format::ToTensorData("w", *format::MakeTensor(format::ElementType::kUint16, {2}))};
  EXPECT_THAT(WrittenAs(model), HasSubstr("initializer 'w': UINT16: no type of ggml holds it"));
}

// It was written, and refused when it was read.
TEST(GgufExport, RefusesATensorWithoutElements) {
  format::Model model = Empty();
  model.graph.initializers = {
      format::ToTensorData("roi", *format::MakeTensor(format::ElementType::kFloat, {0}))};
  EXPECT_THAT(WrittenAs(model), HasSubstr("initializer 'roi': has no elements"));
}

TEST(GgufExport, DropsNodesOnlyWhereThatIsAllowed) {
  format::Model model = WithScale(1);
  model.graph.nodes.emplace_back().op_type = "Relu";
  EXPECT_THAT(WrittenAs(model), HasSubstr("--allow graph goes without"));
  EXPECT_TRUE(WrittenAs(model, {.allow = {"graph"}}).starts_with("GGUF"));
}

// A tensor of the file that changed is written with a new header; here a FLOAT became FLOAT16.
TEST(GgufExport, WritesATensorThatChangedUnderItsNewType) {
  const auto read =
      Read(FromBytes(FileMaker().Bytes(), "f.gguf"), *FindKind("gguf"), {.repack = true});
  ASSERT_TRUE(read.has_value()) << read.error().Text();
  format::Model model = read->model;
  for (format::TensorData& data : model.graph.initializers) {
    if (data.name != "t") continue;
    data = format::ToTensorData("t", *format::MakeTensor(format::ElementType::kFloat16, {2}));
  }
  FileMaker changed;
  changed.tensors[0].type = 1;
  changed.data = std::string(32, '\0');
  EXPECT_EQ(WrittenAs(model), changed.Bytes());
}

std::string Uint16(const char* key, std::uint16_t value) {
  return Text(key) + Raw<std::uint32_t>(2) + Raw(value);
}

FileMaker Part(std::uint16_t number, const char* tensor) {
  FileMaker part;
  part.entries = Uint16("split.no", number) + Uint16("split.count", 2);
  part.entry_count = 2;
  part.tensors[0].name = tensor;
  return part;
}

TEST(GgufExport, JoinsPartsOfWhichAnyIsGiven) {
  const auto folder = TestFolder();
  WriteBytes(folder / "m-00001-of-00002.gguf", Part(0, "a").Bytes());
  WriteBytes(folder / "m-00002-of-00002.gguf", Part(1, "b").Bytes());
  FileMaker joined;
  joined.entries = "";
  joined.entry_count = 0;
  joined.tensors = {{"a", {2}, 0, 0}, {"b", {2}, 0, 32}};
  // The second of 8 bytes each, and zeros up to 32.
  joined.data = (std::string(8, '\1') + std::string(24, '\0'));
  joined.data += joined.data;
  for (const char* name : {"m-00001-of-00002.gguf", "m-00002-of-00002.gguf"}) {
    const auto read = ReadFileAs(folder / name);
    ASSERT_TRUE(read.has_value()) << read.error().Text();
    EXPECT_EQ(WrittenAs(read->model), joined.Bytes());
  }
}

TEST(GgufExport, NamesThePartThatIsMissingOrAnother) {
  const auto folder = TestFolder();
  WriteBytes(folder / "m-00001-of-00002.gguf", Part(0, "a").Bytes());
  auto read = ReadFileAs(folder / "m-00001-of-00002.gguf");
  ASSERT_FALSE(read.has_value());
  EXPECT_THAT(read.error().Text(), HasSubstr("m-00002-of-00002.gguf"));
  WriteBytes(folder / "m-00002-of-00002.gguf", Part(0, "b").Bytes());
  read = ReadFileAs(folder / "m-00001-of-00002.gguf");
  EXPECT_THAT(read.error().Text(), HasSubstr("is part 1 of 2, expected 2 of 2"));
  WriteBytes(folder / "m-00002-of-00002.gguf", Part(1, "a").Bytes());
  read = ReadFileAs(folder / "m-00001-of-00002.gguf");
  EXPECT_THAT(read.error().Text(), HasSubstr("found tensor 'a', which another part has"));
  WriteBytes(folder / "other.gguf", Part(0, "a").Bytes());
  EXPECT_THAT(ReadFileAs(folder / "other.gguf").error().Text(),
              HasSubstr("expected a name that ends in -00001-of-00002.gguf"));
}

}  // namespace
}  // namespace qtx::convert::gguf_test
