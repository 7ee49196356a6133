// Which files are Caffe2's, which belong together, and what damaged ones do.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "qtx/format/limits.h"
#include "schema/caffe2.pb.h"
#include "tests/caffe2/maker.h"

namespace qtx::convert::files_test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kInit = "name: \"init\"\n" + Op("Int8GivenTensorFill", {}, "w",
                                                  Shape("ints: [1, 1, 1, 1]") +
                                                      Arg("values", "s: \"\\x82\"") + Y("1", 128));
const std::string kPredict =
    "name: \"net\"\n" + Op("Int8Conv", {"x", "w"}, "y", Arg("order", "s: \"NHWC\"") + Y("1", 128)) +
    "external_input: \"x\"\nexternal_output: \"y\"\n";
const std::string kTypes = "{\"x\": [2, [1, 1, 2, 1], 1.0, 128]}";

std::string Binary(const std::string& text) {
  caffe2::NetDef net;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &net));
  return net.SerializeAsString();
}

class Folder {
 public:
  explicit Folder(const std::string& name) : path_(fs::path(testing::TempDir()) / name) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  std::string Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return path_ / name;
  }

 private:
  fs::path path_;
};

Result<Conversion> ReadFile(const std::string& path, std::vector<std::string> with = {}) {
  QTX_ASSIGN_OR_RETURN(const Source source, Open(path, std::move(with)));
  QTX_ASSIGN_OR_RETURN(const Kind* kind, KindOf(source));
  EXPECT_EQ(kind->name, "caffe2");
  return Read(source, *kind);
}

TEST(Caffe2Files, RefuseTypesOfNoInputAndOfOneTwice) {
  const Folder folder("caffe2_types");
  folder.Write("a_init_net.pbtxt", kInit);
  const std::string net = folder.Write("a_pred_net.pbtxt", kPredict);
  folder.Write("value_info.json", R"({"dat": [1, [1]]})");
  EXPECT_THAT(TextOf(ReadFile(net).error()), HasSubstr("value_info 'dat': found no such input"));
  folder.Write("value_info.json", R"({"a": [1, [1]], "a": [1, [2]]})");
  EXPECT_THAT(TextOf(ReadFile(net).error()), HasSubstr("'a': is given twice"));
}

TEST(Caffe2Files, AreFoundBesideThePredictNetInBothForms) {
  const Folder folder("caffe2_beside");
  folder.Write("value_info.json", kTypes);
  folder.Write("a_init_net.pbtxt", kInit);
  folder.Write("init_net.pb", Binary(kInit));
  for (const std::string& path : {folder.Write("a_pred_net.pbtxt", kPredict),
                                  folder.Write("predict_net.pb", Binary(kPredict))}) {
    const auto read = ReadFile(path);
    ASSERT_TRUE(read.has_value()) << TextOf(read.error());
    const format::Graph& graph = read->model.graph;
    ASSERT_EQ(graph.inputs.size(), 1U);
    EXPECT_EQ(graph.inputs[0].type->elem_type, format::ElementType::kInt8Q);
    EXPECT_EQ(format::ToString(*graph.inputs[0].type->shape), "[1,1,2,1]");
    EXPECT_NE(graph.FindInitializer("w"), nullptr);
  }
}

TEST(Caffe2Files, AreTakenAsGivenInEitherOrder) {
  const Folder folder("caffe2_given");
  const std::string predict = folder.Write("p", kPredict), init = folder.Write("i", Binary(kInit)),
                    types = folder.Write("t.json", kTypes);
  EXPECT_TRUE(ReadFile(predict, {init, types}).has_value());
  EXPECT_TRUE(ReadFile(init, {types, predict}).has_value());
  EXPECT_THAT(TextOf(ReadFile(predict, {predict, types}).error()),
              HasSubstr("expected an init net"));
  EXPECT_THAT(TextOf(ReadFile(init).error()), HasSubstr("expected the predict net"));
}

TEST(Caffe2Files, RefusesTypesThatNoInputHas) {
  const Folder folder("caffe2_types");
  const std::string predict = folder.Write("p", kPredict), init = folder.Write("i", kInit);
  for (const char* types :
       {"[", "[]", "{\"x\": 1}", "{\"x\": [2]}", "{\"x\": [99, [1]]}", "{\"x\": [2, [-1], 1, 0]}",
        "{\"x\": [2, [1], 0, 0]}", "{\"x\": [2, [1], 1, 256]}", "{\"x\": [1, [1], 1, 0]}",
        "{\"x\": [2, [4294967296, 4294967296], 1, 0]}"}) {
    const auto read = ReadFile(predict, {init, folder.Write("t.json", types)});
    ASSERT_FALSE(read.has_value()) << types;
    EXPECT_THAT(TextOf(read.error()), HasSubstr("t.json")) << types;
  }
}

TEST(Caffe2Files, AreNotSeenInOtherFiles) {
  for (const std::string& bytes :
       {std::string(), std::string("op"), std::string("op { }"),
        std::string("node { op: \"Add\" }"), std::string("layer { name: \"a\" type: \"b\" }"),
        std::string("ops:\n- a: 1\n"), std::string("{\"op\": []}"),
        std::string("func.func @main()"), std::string(1000, '\0')}) {
    EXPECT_FALSE(FindKind("caffe2")->matches(SourceOf(bytes))) << bytes;
  }
}

// A small file cannot ask for a large tensor, nor a deep one for a deep stack.
TEST(Caffe2Hostile, RefusesHugeCountsAndDeepNesting) {
  for (const char* shape :
       {"ints: 4294967296", "ints: [4294967296, 4294967296]", "ints: -1", "ints: 100000000"}) {
    EXPECT_THAT(RefusalOf(Op("ConstantFill", {}, "c", Shape(shape)) + Op("Relu", {"c"}, "y")),
                HasSubstr("op[0] (ConstantFill)"));
  }
  std::string many = Op("Relu", {"c0"}, "y");
  for (int i = 0; i < 100; ++i)
    many = Op("ConstantFill", {}, "c" + std::to_string(i), Shape("ints: 10000000")) + many;
  EXPECT_THAT(RefusalOf(many), HasSubstr("elements of one value"));
  std::string nested = "op { type: \"Relu\" ", end = "}";
  for (int i = 0; i < 100000; ++i) {
    nested += "arg { nets { op { ";
    end += "}}}";
  }
  EXPECT_THAT(RefusalOf(nested + end), HasSubstr("recursion"));
}

const std::string kWhole =
    kInit + Op("Int8Quantize", {"x"}, "q", Y("1", 128)) +
    Op("Int8Conv", {"q", "w"}, "c",
       Arg("order", "s: \"NHWC\"") + Arg("pads", "ints: [1, 0, 1, 0]") + Y("1", 128)) +
    Op("Int8MaxPool", {"c"}, "c",
       Arg("order", "s: \"NHWC\"") + Arg("kernel", "i: 1") + Y("1", 128)) +
    Op("Int8Flatten", {"c"}, "f", Y("1", 128)) + Op("Int8Softmax", {"f"}, "y", Y("0.0039", 0)) +
    "external_output: \"y\"\n";

TEST(Caffe2Hostile, SurvivesEveryTruncation) {
  ASSERT_EQ(RefusalOf(kWhole), "");
  for (const std::string& bytes : {kWhole, Binary(kWhole)}) {
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const auto read = ReadNet(bytes.substr(0, size));
      EXPECT_TRUE(read.has_value() || !read.error().message.empty());
    }
  }
}

// Read checks the model by every rule of the format.
TEST(Caffe2Hostile, SurvivesDamagedBytes) {
  std::mt19937 random(1);
  for (const std::string& bytes : {kWhole, Binary(kWhole)}) {
    for (int round = 0; round < 800; ++round) {
      std::string damaged = bytes;
      for (int flip = 0; flip < 2; ++flip)
        damaged[random() % damaged.size()] ^= static_cast<char>(1U << (random() % 8));
      const auto read = ReadNet(damaged);
      EXPECT_TRUE(read.has_value() || !read.error().message.empty());
    }
  }
}

// Every net of the corpus: read, or refused by the operator that has no form here.
TEST(Caffe2Corpus, IsReadOrRefusedByName) {
  const fs::path corpus = fs::path(QTX_SOURCE_DIR).parent_path() / "shared/corpus/caffe2";
  if (!fs::exists(corpus)) GTEST_SKIP() << "no corpus beside the source tree";
  const Folder folder("caffe2_corpus");
  const auto typed = [&](const std::string& model, const std::string& net,
                         const std::string& types) {
    return ReadFile(corpus / model / net, {folder.Write("t.json", types)});
  };
  const auto conv = typed("int8convrelu", "int8convrelu_pred_net.pbtxt",
                          "{\"gpu_0/data_0\": [2, [1, 1, 3, 3], 1, 128]}");
  ASSERT_TRUE(conv.has_value()) << TextOf(conv.error());
  // As Glow's own test of this file has it: 10 - 128, 7 - 128, and 4 for the 32-bit bias.
  const format::Graph& graph = conv->model.graph;
  EXPECT_THAT(graph.FindValue("conv_w")->type->quantization->offset, ElementsAre(-118));
  EXPECT_THAT(graph.FindValue("conv_out")->type->quantization->offset, ElementsAre(-121));
  EXPECT_THAT(graph.FindValue("conv_b")->type->quantization->offset, ElementsAre(4));
  EXPECT_TRUE(typed("int8fc_4d_first_axis", "int8fc_4d_first_axis_predict_net.pbtxt",
                    "{\"input\": [2, [1, 5, 1, 1], 1, 0]}")
                  .has_value());
  EXPECT_TRUE(
      typed("int8sumrelu", "int8sumrelu_pred_net.pbtxt", "{\"gpu_0/data_0\": [2, [4, 2], 1, 0]}")
          .has_value());
  EXPECT_TRUE(typed("conv_group_quantized", "conv_group_quantized_pred_net.pbtxt",
                    "{\"input\": [2, [1, 1, 1, 4], 1, 128]}")
                  .has_value());
  EXPECT_TRUE(ReadFile(corpus / "convrelu_float/convrelu_pred_net.pbtxt").has_value());
  EXPECT_TRUE(ReadFile(corpus / "fc_4d_float/fc_4d_first_axis_predict_net.pbtxt").has_value());
  for (const char* net :
       {"fused_rowwise_quantized_sls/fused_rowwise_quantized_sparse_lengths_sum_predict_net.pbtxt",
        "fused_rowwise_quantized_slws/"
        "fused_rowwise_quantized_sparse_lengths_weighted_sum_predict_net.pbtxt",
        "rowwise_quantized_sls/rowwise_quantized_sparse_lengths_sum_predict_net.pbtxt"}) {
    const auto read = ReadFile(corpus / net);
    ASSERT_FALSE(read.has_value()) << net;
    EXPECT_THAT(TextOf(read.error()), HasSubstr("op[0] (SparseLengths")) << net;
  }
}

}  // namespace
}  // namespace qtx::convert::files_test
