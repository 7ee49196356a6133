// `qtx quantize` as a user runs it: calibrated models, data, rules, reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "program.h"
#include "qtx/format/model.h"
#include "qtx/format/npy.h"

namespace {

namespace fs = std::filesystem;

using qtx::cli::Contents;
using qtx::cli::Outcome;
using qtx::format::Dims;
using qtx::format::ElementType;
using qtx::format::Model;
using qtx::format::Tensor;
using testing::HasSubstr;

Tensor Floats(Dims dims, double step) {
  Tensor tensor = *qtx::format::MakeTensor(ElementType::kFloat, std::move(dims));
  double place = step;
  for (float& value : tensor.As<float>()) value = static_cast<float>(std::sin(place += step));
  return tensor;
}

class Quantize : public qtx::cli::Program {
 protected:
  // y = relu(x w + b) w2, x [1, 4]; four samples.
  Quantize() {
    fs::create_directories(Path("data"));
    for (int i = 0; i < 4; ++i)
      Write("data/" + std::to_string(i) + ".npy", *qtx::format::ToNpy(Floats({1, 4}, 0.3 + i)));
    Model model;
    model.ir_version = 8;
    model.opset_imports = {{"", 17, ""}};
    model.graph.name = "g";
    const auto info = [](const char* name, const Dims& dims) {
      qtx::format::TensorType type;
      type.elem_type = ElementType::kFloat;
      type.shape = qtx::format::ToShape(dims);
      return qtx::format::ValueInfo{.name = name, .type = type};
    };
    model.graph.inputs = {info("x", {1, 4})};
    model.graph.values = {info("h", {1, 6}), info("r", {1, 6})};
    model.graph.outputs = {info("y", {1, 3})};
    model.graph.initializers = {qtx::format::ToTensorData("w", Floats({4, 6}, 0.7)),
                                qtx::format::ToTensorData("b", Floats({6}, 1.1)),
                                qtx::format::ToTensorData("w2", Floats({6, 3}, 1.9))};
    model.graph.nodes = {
        {.name = "first", .op_type = "Gemm", .inputs = {"x", "w", "b"}, .outputs = {"h"}},
        {.name = "relu", .op_type = "Relu", .inputs = {"h"}, .outputs = {"r"}},
        {.name = "last", .op_type = "Gemm", .inputs = {"r", "w2"}, .outputs = {"y"}}};
    Write("m.onnx", *model.Serialize());
  }
  std::string Arguments(const std::string& model, const std::string& rest = "") const {
    return "quantize " + Path(model) + " -o " + Path("q.onnx") + " " + rest;
  }
};

TEST_F(Quantize, TurnsACalibratedModelIntoOneThatRunsEverywhere) {
  ASSERT_EQ(Run("calibrate " + Path("m.onnx") + " --data " + Path("data") + " -o " + Path("c.onnx"))
                .status,
            0);
  const Outcome outcome = Run(Arguments("c.onnx"));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("changed r producer: the Relu became the limits"));
  EXPECT_EQ(Run("check " + Path("q.onnx")).status, 0);
  for (const char* backend : {"reference", "x86"}) {
    EXPECT_EQ(Run("run " + Path("q.onnx") + " --input " + Path("data/0.npy") + " --backend " +
                  backend + " --output-dir " + Path(backend))
                  .status,
              0);
  }
  EXPECT_EQ(Contents(Path("reference/y.npy")), Contents(Path("x86/y.npy")));
  EXPECT_EQ(Run("lower " + Path("q.onnx") + " -o " + Path("l.onnx")).status, 0);
  EXPECT_EQ(Run("lift " + Path("l.onnx") + " -o " + Path("b.onnx")).status, 0);
  EXPECT_EQ(Run("diff " + Path("q.onnx") + " " + Path("b.onnx")).status, 0);
}

TEST_F(Quantize, MeasuresWhatAModelLacks) {
  const Outcome outcome =
      Run(Arguments("m.onnx", "--data " + Path("data") + " --equalize --bias-correction --report " +
                                  Path("r.json")));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("less the mean error of the weights"));
  EXPECT_THAT(outcome.out, HasSubstr("4 samples; the output, then layers from the worst"));
  EXPECT_THAT(Contents(Path("r.json")), HasSubstr("\"sqnr_db\""));
  EXPECT_EQ(
      Run(Arguments("m.onnx", "--data " + Path("data") + " --report " + Path("r.html"))).status, 0);
  EXPECT_THAT(Contents(Path("r.html")), HasSubstr("\"sqnr_db\""));
}

TEST_F(Quantize, MeetsAnErrorOrASize) {
  const std::string data = "--data " + Path("data") + " --target ";
  const Outcome error = Run(Arguments("m.onnx", data + "110dB"));
  EXPECT_EQ(error.status, 0) << error.err;
  EXPECT_THAT(error.err, HasSubstr("--target: "));
  EXPECT_THAT(error.out, HasSubstr("FLOAT, for --target"));
  EXPECT_EQ(Run("check " + Path("q.onnx")).status, 0);
  const Outcome size = Run(Arguments("m.onnx", data + "10B"));
  EXPECT_EQ(size.status, 3);
  EXPECT_THAT(size.err, HasSubstr("bytes with all weights in INT4, expected at most 10"));
}

TEST_F(Quantize, WritesTheSameBytesAgain) {
  ASSERT_EQ(Run(Arguments("m.onnx", "--data " + Path("data") + " --range mse")).status, 0);
  const std::string first = Contents(Path("q.onnx"));
  ASSERT_EQ(Run(Arguments("m.onnx", "--data " + Path("data") + " --range mse")).status, 0);
  EXPECT_EQ(Contents(Path("q.onnx")), first);
}

TEST_F(Quantize, SaysInOneLineWhatIsWrong) {
  Write("r.yaml", "- match: {name: nowhere}\n  float: true\n");
  const struct {
    std::string rest;
    int status;
    std::string says;
  } cases[] = {
      {"", 3, "value 'x': found no statistics (qtx calibrate writes them)"},
      {"--range kl", 2, "--range: found 'kl', expected minmax"},
      {"--activations int7", 2, "--activations: found 'int7'"},
      {"--weights int8:block=0", 2, "--weights: found 'block=0'"},
      {"--report r.json", 2, "--report requires --data"},
      {"--target 30", 2, "--target: found '30', expected an error as 30dB or a size as 1.5MB"},
      {"--target 30dB", 2, "--target 30dB: needs --data"},
      {"--rules " + Path("r.yaml"), 3, "r.yaml:1: no node matches name 'nowhere'"},
      {"--data " + Path("nothing"), 3, "nothing"},
      {"--data " + Path("data") + " --report " + Path("r.txt"), 2, "expected a name ending in"},
  };
  for (const auto& [rest, status, says] : cases) {
    const Outcome outcome = Run(Arguments("m.onnx", rest));
    EXPECT_EQ(outcome.status, status) << rest << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(says));
    EXPECT_TRUE(qtx::cli::Program::IsOneLine(outcome.err)) << outcome.err;
    EXPECT_FALSE(fs::exists(Path("q.onnx"))) << rest;
  }
}

}  // namespace
