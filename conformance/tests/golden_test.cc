// TFLite models with their golden outputs, as folders hold them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "qtx/conformance/suite.h"
#include "qtx/format/npy.h"
#include "temporary_folder.h"

namespace qtx::conformance {
namespace {

using format::ElementType;
using testing::ElementsAre;
using testing::HasSubstr;

class GoldenFolder : public TemporaryFolder {
 protected:
  // Stands for a converter: x -> node -> y of INT8Q[1, 2], whatever the file holds.
  static Result<format::Model> Convert(const std::string& path) {
    format::Model model;
    format::TensorType type;
    type.elem_type = ElementType::kInt8Q;
    type.shape = format::ToShape(format::Dims{1, 2});
    type.quantization = format::Quantization{.scale = {0.5F}};
    const bool pools = path.find("pool") != std::string::npos;
    model.graph.inputs = {{.name = "x", .doc_string = "", .type = type}};
    model.graph.outputs = {{.name = "y", .doc_string = "", .type = type}};
    format::Node node;
    node.op_type = pools ? "AveragePool" : "Relu";
    model.graph.nodes.push_back(node);
    return model;
  }
  Result<std::vector<Case>> Load() const {
    QTX_ASSIGN_OR_RETURN(const Suite suite, LoadSuite(folder(), Convert));
    return suite.cases;
  }
  static std::string Npy(const format::Dims& dims) {
    format::Tensor tensor = *format::MakeTensor(ElementType::kInt8, dims);
    for (std::size_t i = 0; i < tensor.bytes.size(); ++i) tensor.bytes[i] = std::byte(i);
    return *format::ToNpy(tensor);
  }
};

std::vector<std::string> Ids(const std::vector<Case>& cases) {
  std::vector<std::string> ids;
  for (const Case& c : cases) ids.push_back(c.id + " " + c.arithmetics[0]);
  return ids;
}

TEST_F(GoldenFolder, IsACaseForEachRunAndKernels) {
  Write("net/net.tflite", "");
  for (const char* run : {"net/golden_tflite/normal/", "net/sample0/"}) {
    Write(std::string(run) + "input_0.npy", Npy({1, 2}));
    Write(std::string(run) + "builtin_output_0.npy", Npy({1, 2}));
  }
  Write("net/golden_tflite/normal/xnnpack_output_0.npy", Npy({1, 2}));
  Write("net/notes/readme.txt", "");
  const auto cases = Load();
  ASSERT_TRUE(cases.has_value()) << cases.error().message;
  EXPECT_THAT(Ids(*cases), ElementsAre("net[run=sample0,kernels=builtin] tflite",
                                       "net[run=normal,kernels=builtin] tflite",
                                       "net[run=normal,kernels=xnnpack] xnnpack"));
  const auto model = BuildModel(cases->front());
  ASSERT_TRUE(model.has_value());
  const auto inputs = BuildInputs(cases->front(), *model);
  ASSERT_TRUE(inputs.has_value()) << inputs.error().message;
  EXPECT_EQ((*inputs)[0].elem_type, ElementType::kInt8Q);
}

TEST_F(GoldenFolder, SaysWhichOutputsAreNoCase) {
  Write("pool/pool.tflite", "");
  Write("pool/sample0/input_0.npy", Npy({1, 2}));
  Write("pool/sample0/builtin_output_0.npy", Npy({1, 2}));
  Write("pool/sample0/xnnpack_output_0.npy", Npy({1, 2}));
  const auto suite = LoadSuite(folder(), Convert);
  ASSERT_TRUE(suite.has_value()) << suite.error().message;
  EXPECT_THAT(Ids(suite->cases), ElementsAre("pool[run=sample0,kernels=builtin] tflite"));
  EXPECT_THAT(suite->left_out,
              ElementsAre(HasSubstr("pool[run=sample0,kernels=xnnpack]: left out")));
}

TEST_F(GoldenFolder, IsACaseForEachRowOfAFileOfMany) {
  Write("sine/sine.tflite", "");
  Write("sine/sweep/input_0.npy", Npy({3, 2}));
  Write("sine/sweep/builtin_output_0.npy", Npy({3, 2}));
  const auto cases = Load();
  ASSERT_TRUE(cases.has_value()) << cases.error().message;
  ASSERT_EQ(cases->size(), 3U);
  EXPECT_EQ((*cases)[2].id, "sine[run=sweep,kernels=builtin,row=2]");
  const auto inputs = BuildInputs((*cases)[2], *BuildModel((*cases)[2]));
  ASSERT_TRUE(inputs.has_value()) << inputs.error().message;
  EXPECT_EQ((*inputs)[0].dims, (format::Dims{1, 2}));
  EXPECT_THAT(format::UnpackIntegers((*inputs)[0]), ElementsAre(4, 5));
}

TEST_F(GoldenFolder, BoundsTheRowsOfAFile) {
  Write("sine/sine.tflite", "");
  Write("sine/sweep/builtin_output_0.npy", Npy({1, 2}));
  Write("sine/sweep/input_0.npy", Npy({kMaxExpansion, 2}));
  EXPECT_EQ(Load()->size(), static_cast<std::size_t>(kMaxExpansion));
  Write("sine/sweep/input_0.npy", Npy({kMaxExpansion + 1, 2}));
  const auto cases = Load();
  ASSERT_FALSE(cases.has_value());
  EXPECT_EQ(cases.error().code, ErrorCode::kTooLarge);
  EXPECT_THAT(cases.error().where, HasSubstr("sweep/input_0.npy"));
}

TEST_F(GoldenFolder, ReadsDecimalIntegersBesideTheModel) {
  for (const char* name : {"add0", "add1"}) {  // two models, so runs would be of neither
    Write(std::string(name) + ".tflite", "");
    Write(std::string(name) + "_input0_int8.csv", "1,-2\n");
    Write(std::string(name) + "_golden_int8.csv", "-128, 127");
  }
  Write("run/builtin_output_0.npy", Npy({1, 2}));
  const auto cases = Load();
  ASSERT_TRUE(cases.has_value()) << cases.error().message;
  EXPECT_THAT(Ids(*cases), ElementsAre("add0 tflite", "add1 tflite"));
  const auto inputs = BuildInputs((*cases)[0], *BuildModel((*cases)[0]));
  ASSERT_TRUE(inputs.has_value()) << inputs.error().message;
  EXPECT_THAT(format::UnpackIntegers((*inputs)[0]), ElementsAre(1, -2));
}

TEST_F(GoldenFolder, RefusesIntegersThatDoNotFit) {
  Write("add.tflite", "");
  Write("add_golden_int8.csv", "1,2");
  for (const char* bad : {"1", "1,2,3", "1,128", "1,99999999999999999999", ""}) {
    Write("add_input0_int8.csv", bad);
    const auto cases = Load();
    ASSERT_TRUE(cases.has_value()) << cases.error().message;
    const auto inputs = BuildInputs((*cases)[0], *BuildModel((*cases)[0]));
    ASSERT_FALSE(inputs.has_value()) << bad;
    EXPECT_THAT(inputs.error().where, HasSubstr("add_input0_int8.csv")) << bad;
  }
}

// TFLite's delegate takes no AVERAGE_POOL_2D of 8 bits, so no one arithmetic gave those outputs.
TEST_F(GoldenFolder, HasNoCaseOfXnnpackWhereItPoolsAverages) {
  Write("pool/pool.tflite", "");
  Write("pool/run/input_0.npy", Npy({1, 2}));
  Write("pool/run/builtin_output_0.npy", Npy({1, 2}));
  Write("pool/run/xnnpack_output_0.npy", Npy({1, 2}));
  const auto cases = Load();
  ASSERT_TRUE(cases.has_value()) << cases.error().message;
  EXPECT_THAT(Ids(*cases), ElementsAre("pool[run=run,kernels=builtin] tflite"));
}

TEST_F(GoldenFolder, IsNoSuiteWithoutAConverter) {
  Write("net/net.tflite", "");
  Write("net/run/builtin_output_0.npy", Npy({1, 2}));
  EXPECT_THAT(LoadSuite(folder()).error().message, HasSubstr("no case"));
}

TEST_F(GoldenFolder, DocumentsLoadTheirModelsByTheSameFunction) {
  Write("a.yaml", "{id: a, spec: a.S1, why: w, model: x.tflite, expect: {y: {}}}");
  const auto cases = Load();
  ASSERT_TRUE(cases.has_value()) << cases.error().message;
  EXPECT_EQ(BuildModel((*cases)[0])->graph.outputs[0].name, "y");
}

}  // namespace
}  // namespace qtx::conformance
