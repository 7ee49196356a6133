// NNEF in and out: types of graph.quant, tensor binaries, the text's order of dimensions, hostile
// files. Expected values are derived by hand beside each; `compare.py` holds the rest to Khronos'
// interpreter.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/files.h"

namespace qtx::convert::nnef_test {
namespace {

namespace fs = std::filesystem;
using format::ElementType;
using testing::ElementsAre;
using testing::HasSubstr;

// A tensor binary by the text's table: 'N', 0xEF, 1.0, length, rank, 8 sizes, bits, type, 19 words.
std::string Dat(std::vector<std::uint32_t> dims, std::uint32_t bits, std::uint32_t type,
                const std::string& items) {
  std::vector<std::uint32_t> words(32, 0);
  words[0] = 0x0001EF4E;
  words[1] = static_cast<std::uint32_t>(items.size());
  words[2] = static_cast<std::uint32_t>(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) words[3 + i] = dims[i];
  words[11] = bits;
  words[12] = type;
  return std::string(reinterpret_cast<const char*>(words.data()), 128) + items;
}

struct Model {
  Model() : folder(TestFolder()) {}

  void Graph(const std::string& body, const std::string& inputs = "x") const {
    WriteBytes(folder / "graph.nnef",
               "version 1.0;\n\ngraph net(" + inputs + ") -> (y)\n{\n" + body + "}\n");
  }
  void Quant(const std::string& text) const { WriteBytes(folder / "graph.quant", text); }
  void Binary(const std::string& name, const std::string& bytes) const {
    WriteBytes(folder / name, bytes);
  }
  Result<Conversion> Read() const { return ReadFileAs(folder); }

  fs::path folder;
};

constexpr const char* kVariable =
    "    x = external<scalar>(shape = [1, 2]);\n"
    "    w = variable<scalar>(shape = [2, 2], label = 'w');\n"
    "    y = linear(x, w, 0.0);\n";

const format::TensorType& TypeOf(const Conversion& conversion, const std::string& name) {
  return *conversion.model.graph.FindValue(name)->type;
}

TEST(Nnef, ReadsZeroPointsAlongTheFirstAxis) {
  const Model model;
  model.Graph(kVariable);
  model.Binary("w.dat", Dat({2, 2}, 8, 3, std::string("\x7F\x81\x01\x02")));
  model.Quant(
      "\"w\": zero_point_linear_quantize(zero_point = [1, -2], scale = [0.5, 0.25], bits = 8, "
      "signed = true, symmetric = true);\n");
  const auto read = model.Read();
  ASSERT_TRUE(read.has_value()) << ErrorOf(read);
  const format::TensorType& type = TypeOf(*read, "w");
  EXPECT_EQ(type.elem_type, ElementType::kInt8Q);
  EXPECT_THAT(type.quantization->scale, ElementsAre(0.5F, 0.25F));
  EXPECT_THAT(type.quantization->offset, ElementsAre(1, -2));
  EXPECT_THAT(type.quantization->axis, ElementsAre(0));
  EXPECT_EQ(type.quantization->quant_min, -127);
}

// Items of 4 bits: 0x71 is 7, then 1; 0xF8 is -1, then -8. ONNX has the first in the low bits.
TEST(Nnef, ReadsItemsOfFourBitsFromTheHighestOn) {
  const Model model;
  model.Graph(kVariable);
  model.Binary("w.dat", Dat({2, 2}, 4, 3, std::string("\x71\xF8")));
  model.Quant(
      "\"w\": zero_point_linear_quantize(zero_point = 0, scale = 0.5, bits = 4, signed = true, "
      "symmetric = false);\n");
  const auto read = model.Read();
  ASSERT_TRUE(read.has_value()) << ErrorOf(read);
  EXPECT_EQ(TypeOf(*read, "w").elem_type, ElementType::kInt4Q);
  const auto tensor = format::Decode(*read->model.graph.FindInitializer("w"));
  EXPECT_THAT(format::UnpackIntegers(*tensor), ElementsAre(7, 1, -1, -8));
}

// 255 steps of 0.5 from -64: 0 is step 128. Signed and symmetric: 254 steps from -127, 0 is 0.
TEST(Nnef, ReadsMinAndMaxAsScaleAndOffset) {
  const Model model;
  model.Graph("    x = external<scalar>(shape = [2]);\n    y = relu(x);\n");
  model.Quant(
      "\"x\": linear_quantize(min = -64.0, max = 63.5, bits = 8);\n"
      "\"y\": min_max_linear_quantize(min = -63.5, max = 63.5, bits = 8, signed = true, "
      "symmetric = true);\n");
  const auto read = model.Read();
  ASSERT_TRUE(read.has_value()) << ErrorOf(read);
  EXPECT_EQ(TypeOf(*read, "x").elem_type, ElementType::kUint8Q);
  EXPECT_THAT(TypeOf(*read, "x").quantization->scale, ElementsAre(0.5F));
  EXPECT_THAT(TypeOf(*read, "x").quantization->offset, ElementsAre(128));
  EXPECT_EQ(TypeOf(*read, "y").elem_type, ElementType::kInt8Q);
  EXPECT_THAT(TypeOf(*read, "y").quantization->scale, ElementsAre(0.5F));
  EXPECT_TRUE(TypeOf(*read, "y").quantization->offset.empty());
}

// min = 0.125 and max = 127.625 are 255 steps of 0.5; real 0 would be step -0.25, no integer.
TEST(Nnef, KeepsARealZeroPointAsABaseOfATensorWithABinary) {
  const Model model;
  model.Graph(kVariable);
  model.Binary("w.dat", Dat({2, 2}, 8, 2, std::string("\x01\x02\x03\x04")));
  model.Quant("\"w\": linear_quantize(min = 0.125, max = 127.625, bits = 8);\n");
  const auto read = model.Read();
  ASSERT_TRUE(read.has_value()) << ErrorOf(read);
  const format::Quantization& q = *TypeOf(*read, "w").quantization;
  ASSERT_EQ(q.base_levels.size(), 1U);
  EXPECT_THAT(q.scale, ElementsAre(0.5F));
  EXPECT_THAT(q.base_levels[0].value, ElementsAre(0.125F));
}

// NNEF aligns the first axes: [2] beside [2, 3] is [2, 1].
TEST(Nnef, BroadcastsFromTheFirstAxis) {
  const Model model;
  model.Graph(
      "    x = external<scalar>(shape = [2, 3]);\n"
      "    w = constant<scalar>(shape = [2], value = [1.0, 2.0]);\n    y = mul(x, w);\n");
  const auto read = model.Read();
  ASSERT_TRUE(read.has_value()) << ErrorOf(read);
  EXPECT_THAT(read->model.graph.FindInitializer("w")->dims, ElementsAre(2, 1));
}

TEST(Nnef, ComesBackFromATarByteForByte) {
  const Model model;
  model.Graph(kVariable);
  model.Binary("w.dat", Dat({2, 2}, 8, 3, std::string("\x7F\x81\x01\x02")));
  model.Quant(
      "\"x\": zero_point_linear_quantize(zero_point = 3, scale = 0.1, bits = 8, signed = false, "
      "symmetric = false);\n"
      "\"w\": zero_point_linear_quantize(zero_point = 0, scale = [0.5, 0.25], bits = 8, signed = "
      "true, symmetric = true);\n");
  const auto read = model.Read();
  ASSERT_TRUE(read.has_value()) << ErrorOf(read);
  const auto written = Write(read->model, *FindKind("nnef"));
  ASSERT_TRUE(written.has_value()) << ErrorOf(written);
  const std::string tar = *BytesOf(*written);
  EXPECT_THAT(tar, HasSubstr(Dat({2, 2}, 8, 3, std::string("\x7F\x81\x01\x02"))));
  const auto again = ReadBytesAs(model.folder / "m.tar", tar, nullptr);
  ASSERT_TRUE(again.has_value()) << ErrorOf(again);
  EXPECT_EQ(again->model.graph.initializers, read->model.graph.initializers);
  EXPECT_EQ(TypeOf(*again, "x"), TypeOf(*read, "x"));
  EXPECT_EQ(TypeOf(*again, "w"), TypeOf(*read, "w"));
  EXPECT_EQ(*BytesOf(*Write(again->model, *FindKind("nnef"))), tar);
}

TEST(NnefHostile, NamesTheLine) {
  const Model model;
  const auto error = [&](const std::string& body) {
    model.Graph(body);
    return ErrorOf(model.Read());
  };
  const std::string x = "    x = external<scalar>(shape = [2]);\n";
  EXPECT_THAT(error(x + "    y = foo(x);\n"), HasSubstr("line 6: operator 'foo'"));
  EXPECT_THAT(error(x + "    y = relu(z);\n"), HasSubstr("line 6: relu: found no tensor 'z'"));
  EXPECT_THAT(error(x + "    y = relu(x, x);\n"), HasSubstr("line 6: relu: found 2 arguments"));
  EXPECT_THAT(error(x + "    y = relu(relu(x));\n"), HasSubstr("within an argument"));
  EXPECT_THAT(error(x + "    y = add(x, " + std::string(100, '[')), HasSubstr("16 deep"));
  EXPECT_THAT(error("    x = external<scalar>(shape = [99999999999, 99999999999]);\n"),
              HasSubstr("line 5"));
  EXPECT_THAT(error(x + "    y = tile(x, repeats = [9223372036854775807]);\n"),
              HasSubstr("line 6: tile"));
  EXPECT_THAT(error(x + "    y = variable<scalar>(shape = [1], label = '../../y');\n"),
              HasSubstr("leaves the folder"));
}

// 28 MB of operations were 7 GB of memory.
TEST(NnefHostile, HasABoundOfOperations) {
  const Model model;
  std::string body = "    x = external<scalar>(shape = [2]);\n";
  for (int i = 0; i < 1 << 18; ++i) body += "y=relu(x);\n";
  model.Graph(body);
  EXPECT_THAT(ErrorOf(model.Read()),
              HasSubstr("line 262149: found more operations, expected at most 262144"));
}

TEST(NnefHostile, NamesTheByteOfABinary) {
  const Model model;
  model.Graph(kVariable);
  const std::string good = Dat({2, 2}, 32, 0, std::string(16, '\0'));
  const auto error = [&](const std::string& bytes) {
    model.Binary("w.dat", bytes);
    return ErrorOf(model.Read());
  };
  EXPECT_EQ(error(good), "no error");
  for (std::size_t size = 0; size < good.size(); size += 7)
    EXPECT_THAT(error(good.substr(0, size)), HasSubstr("w.dat"));
  EXPECT_THAT(error(Dat({0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, 32, 0, "")), HasSubstr("byte 12"));
  EXPECT_THAT(error(Dat({2, 2}, 65, 4, std::string(33, '\0'))), HasSubstr("byte 44"));
  EXPECT_THAT(error(Dat({2, 2}, 8, 9, "abcd")), HasSubstr("byte 48"));
  EXPECT_THAT(error(Dat({4}, 32, 0, std::string(16, '\0'))), HasSubstr("found shape [4]"));
}

TEST(NnefHostile, NamesTheEntryOfGraphQuant) {
  const Model model;
  model.Graph("    x = external<scalar>(shape = [2]);\n    y = relu(x);\n");
  const auto error = [&](const std::string& text) {
    model.Quant(text);
    return ErrorOf(model.Read());
  };
  const std::string entry = "\"x\": zero_point_linear_quantize(";
  EXPECT_THAT(error(entry + "scale = 1.0);\n"), HasSubstr("graph.quant: line 1"));
  const std::string rest = ", bits = 8, signed = true, symmetric = false);\n";
  EXPECT_THAT(error(entry + "zero_point = 0, scale = 0.0" + rest), HasSubstr("above 0"));
  EXPECT_THAT(error(entry + "zero_point = 0, scale = [1.0, 2.0, 3.0]" + rest),
              HasSubstr("found 3 parameters along axis 0"));
  EXPECT_THAT(error(entry + "zero_point = 0.5, scale = 1.0" + rest), HasSubstr("integers"));
}

}  // namespace
}  // namespace qtx::convert::nnef_test
