// NNEF in and out: types of graph.quant, tensor binaries, the text's order of dimensions, hostile
// files. Expected values are derived by hand beside each; `compare.py` holds the rest to Khronos'
// interpreter.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

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

// Fragments of a file, one within the other: y = relu(x + 2) + 2, and the default of `by` is 2.
TEST(Nnef, ReadsFragmentsOfTheFileAsTheirOperators) {
  const Model model;
  const std::string fragments =
      "fragment moved( x: tensor<scalar>, by: scalar = 2.0 ) -> ( y: tensor<scalar> )\n{\n"
      "    y = add(x, by);\n}\n"
      "fragment twice<? = scalar>( a: tensor<?>, sizes: (integer, integer)[] = [] )\n"
      "-> ( b: tensor<?>, t: tensor<?> )\n{\n"
      "    t = moved(a);\n    r = relu(t);\n    b = moved(x = r, by = 2.0);\n}\n"
      "fragment nested( x: tensor<scalar> ) -> ( y: tensor<scalar> )\n{\n"
      "    y = relu(add(x, 1.0));\n}\n";
  const auto write = [&](const std::string& call) {
    WriteBytes(model.folder / "graph.nnef",
               "version 1.0;\nextension KHR_enable_fragment_definitions;\n" + fragments +
                   "graph net(x) -> (y)\n{\n    x = external<scalar>(shape = [2]);\n    " + call +
                   "\n}\n");
  };
  write("y, t = twice(x);");
  const auto read = model.Read();
  ASSERT_TRUE(read.has_value()) << ErrorOf(read);
  std::vector<std::string> ops;
  for (const format::Node& node : read->model.graph.nodes) ops.push_back(node.op_type);
  EXPECT_THAT(ops, ElementsAre("Add", "Relu", "Add"));
  EXPECT_EQ(read->model.graph.nodes[0].outputs[0], "t");
  EXPECT_EQ(read->model.graph.nodes[1].outputs[0], "y.r");
  EXPECT_EQ(read->model.graph.nodes[2].outputs[0], "y");
  write("y = nested(x);");
  EXPECT_THAT(ErrorOf(model.Read()), HasSubstr("nested: a fragment whose body is not flat"));
  write("y = twice(x);");
  EXPECT_THAT(ErrorOf(model.Read()), HasSubstr("found 1 results, expected 2"));
  write("y = moved(x, 1.0, 3.0);");
  EXPECT_THAT(ErrorOf(model.Read()), HasSubstr("found more than 2 arguments"));
  // 16 fragments that invoke the one before 100 times, and the first is empty: 100^15 invocations.
  std::string many = "fragment f0( x: tensor<scalar> ) -> ( y: tensor<scalar> )\n{\n}\n";
  for (int i = 1; i < 16; ++i) {
    many +=
        "fragment f" + std::to_string(i) + "( x: tensor<scalar> ) -> ( y: tensor<scalar> )\n{\n";
    for (int k = 0; k < 100; ++k) many += "y = f" + std::to_string(i - 1) + "([x, x]);\n";
    many += "}\n";
  }
  WriteBytes(
      model.folder / "graph.nnef",
      "version 1.0;\n" + many +
          "graph net(x) -> (y)\n{\n    x = external<scalar>(shape = [2]);\n    y = f15(x);\n}\n");
  EXPECT_THAT(ErrorOf(model.Read()), HasSubstr("too many operations"));
  write("y = moved();");
  EXPECT_THAT(ErrorOf(model.Read()), HasSubstr("has no argument 'x'"));
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

std::string Gzipped(const std::string& bytes) {
  std::string packed(bytes.size() + 1024, '\0');
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string from = bytes;
  stream.next_in = reinterpret_cast<Bytef*>(from.data());
  stream.avail_in = static_cast<uInt>(from.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

TEST(Nnef, ReadsATarThatGzipCompressed) {
  const Model model;
  model.Graph(kVariable);
  model.Binary("w.dat", Dat({2, 2}, 8, 3, std::string("\x7F\x81\x01\x02")));
  const auto read = model.Read();
  ASSERT_TRUE(read.has_value()) << ErrorOf(read);
  const std::string tar = *BytesOf(*Write(read->model, *FindKind("nnef")));
  const std::string packed = Gzipped(tar);
  WriteBytes(model.folder / "m.tgz", packed);
  const auto again = ReadFileAs(model.folder / "m.tgz");
  ASSERT_TRUE(again.has_value()) << ErrorOf(again);
  EXPECT_EQ(*BytesOf(*Write(again->model, *FindKind("nnef"))), tar);
  WriteBytes(model.folder / "cut.tgz", packed.substr(0, packed.size() - 9));
  EXPECT_THAT(ErrorOf(ReadFileAs(model.folder / "cut.tgz")), HasSubstr("damaged gzip"));
  WriteBytes(model.folder / "text.gz", Gzipped(std::string(600, 'x')));
  EXPECT_THAT(ErrorOf(ReadFileAs(model.folder / "text.gz")), HasSubstr("none of the kinds"));
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
