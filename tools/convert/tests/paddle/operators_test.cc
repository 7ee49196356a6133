// Operators of Paddle, converted and run: each expectation is derived by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "qtx/reference/interpreter.h"
#include "tests/paddle/maker.h"
#include "tests/qdq/maker.h"

namespace qtx::convert::paddle_operators_test {
namespace {

using format::ElementType;
using testing::ElementsAre;
using testing::HasSubstr;

format::Tensor Floats(format::Dims dims, const std::vector<float>& values) {
  format::Tensor tensor = *format::MakeTensor(ElementType::kFloat, std::move(dims));
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

// What the program's first output is for input x.
std::vector<float> Run(const PaddleMaker& maker, const format::Tensor& x) {
  const auto conversion = maker.Convert();
  EXPECT_TRUE(conversion.has_value()) << ErrorOf(conversion);
  if (!conversion.has_value()) return {};
  auto interpreter = reference::Interpreter::Prepare(conversion->model, "exact");
  EXPECT_TRUE(interpreter.has_value()) << ErrorOf(interpreter);
  if (!interpreter.has_value()) return {};
  const auto outputs = interpreter->Run(std::vector<format::Tensor>{x});
  EXPECT_TRUE(outputs.has_value()) << ErrorOf(outputs);
  if (!outputs.has_value()) return {};
  const auto values = format::StoredValues(outputs->at(0));
  return {values.begin(), values.end()};
}

// x of `dims` fed, y of `out` fetched; the operator is added between.
struct Net : PaddleMaker {
  Net(std::vector<std::int64_t> dims, std::vector<std::int64_t> out, Type type = kFloat) {
    Var("x", std::move(dims));
    Var("y", std::move(out), type);
    Feed("x");
  }
  std::vector<float> Result(format::Dims dims, const std::vector<float>& values) {
    Fetch("y");
    return Run(*this, Floats(std::move(dims), values));
  }
  Net& Of(const std::string& type, const Vars& more = {}, const std::string& x = "X",
          const std::string& y = "Out") {
    Vars inputs = {{x, {"x"}}};
    inputs.insert(inputs.end(), more.begin(), more.end());
    Op(type, inputs, {{y, {"y"}}});
    return *this;
  }
};

// paddings [top, bottom, left, right] = [1, 0, 0, 0]: a row of zeros above. A 2x1 kernel of
// [1, 10] gives x[i-1] + 10 x[i].
TEST(PaddleConv, TakesFourPaddingsAsTopBottomLeftRight) {
  Net net({1, 1, 2, 2}, {1, 1, 2, 2});
  net.Param<float>("w", {1, 1, 2, 1}, {1, 10});
  net.Of("conv2d", {{"Filter", {"w"}}}, "Input", "Output");
  net.Ints("paddings", {1, 0, 0, 0})
      .Ints("strides", {1, 1})
      .Ints("dilations", {1, 1})
      .Int("groups", 1);
  EXPECT_THAT(net.Result({1, 1, 2, 2}, {1, 2, 3, 4}), ElementsAre(10, 20, 31, 42));
}

TEST(PaddleConv, RefusesWhatItDoesNotCompute) {
  const auto error = [](const auto& set) {
    Net net({1, 1, 2, 2}, {1, 1, 2, 2});
    net.Param<float>("w", {1, 1, 1, 1}, {1});
    net.Of("conv2d", {{"Filter", {"w"}}}, "Input", "Output");
    set(net);
    net.Fetch("y");
    return ErrorOf(net.Convert());
  };
  EXPECT_THAT(error([](Net& net) { net.Text("data_format", "NHWC"); }),
              HasSubstr("op conv2d of 'y': data_format NHWC"));
  EXPECT_THAT(error([](Net& net) { net.Bool("fuse_relu", true); }), HasSubstr("fuse_relu"));
  EXPECT_THAT(error([](Net& net) { net.Ints("paddings", {1, 2, 3}); }), HasSubstr("2 or 4"));
  EXPECT_THAT(error([](Net& net) { net.Text("fuse_activation", "relu"); }), HasSubstr("fused"));
}

// Padding above and left; the corner window has the one element 4.
TEST(PaddlePool, LeavesPaddingOutOfTheCountWhereExclusive) {
  for (const bool exclusive : {true, false}) {
    Net net({1, 1, 1, 1}, {1, 1, 1, 1});
    net.Of("pool2d").Text("pooling_type", "avg").Ints("ksize", {2, 2}).Ints("strides", {2, 2});
    net.Ints("paddings", {1, 0, 1, 0}).Bool("exclusive", exclusive);
    EXPECT_THAT(net.Result({1, 1, 1, 1}, {4}), ElementsAre(exclusive ? 4 : 1));
  }
}

TEST(PaddlePool, AdaptiveHasWindowsThatDivideItsInput) {
  Net net({1, 1, 2, 4}, {1, 1, 1, 2});
  net.Of("pool2d").Text("pooling_type", "max").Ints("ksize", {1, 2}).Bool("adaptive", true);
  EXPECT_THAT(net.Result({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 0}), ElementsAre(6, 7));
  Net uneven({1, 1, 2, 5}, {1, 1, 1, 2});
  uneven.Of("pool2d").Text("pooling_type", "avg").Ints("ksize", {1, 2}).Bool("adaptive", true);
  uneven.Fetch("y");
  EXPECT_THAT(ErrorOf(uneven.Convert()), HasSubstr("windows differ"));
}

// Y has the size of X's axis 1, not of its last.
TEST(PaddleElementwise, PutsYAlongTheAxesFromAxisOn) {
  Net net({1, 2, 2}, {1, 2, 2});
  net.Param<float>("b", {2}, {10, 20});
  net.Of("elementwise_add", {{"Y", {"b"}}}).Int("axis", 1);
  EXPECT_THAT(net.Result({1, 2, 2}, {1, 2, 3, 4}), ElementsAre(11, 12, 23, 24));
}

// (x^T) (w^T) * 0.5 with x = [[1, 2], [3, 4]], w = [[1, 0], [1, 1]]:
// [[1, 3], [2, 4]] [[1, 1], [0, 1]] = [[1, 4], [2, 6]].
TEST(PaddleMatMul, TransposesAndScales) {
  Net net({2, 2}, {2, 2});
  net.Param<float>("w", {2, 2}, {1, 0, 1, 1});
  net.Of("matmul", {{"Y", {"w"}}}).Bool("transpose_X", true).Bool("transpose_Y", true);
  net.Float("alpha", 0.5F);
  EXPECT_THAT(net.Result({2, 2}, {1, 2, 3, 4}), ElementsAre(0.5F, 2, 1, 3));
}

TEST(PaddleMul, FlattensItsInputToRows) {
  Net net({1, 2, 2}, {1, 1});
  net.Param<float>("w", {4, 1}, {1, 10, 100, 1000});
  net.Of("mul", {{"Y", {"w"}}}).Int("x_num_col_dims", 1).Int("y_num_col_dims", 1);
  EXPECT_THAT(net.Result({1, 2, 2}, {1, 2, 3, 4}), ElementsAre(4321));
}

TEST(PaddleScale, AddsItsBiasBeforeOrAfter) {
  for (const bool after : {true, false}) {
    Net net({1}, {1});
    net.Of("scale").Float("scale", 2).Float("bias", 3).Bool("bias_after_scale", after);
    EXPECT_THAT(net.Result({1}, {5}), ElementsAre(after ? 13 : 16));
  }
}

// epsilon 0: (x - mean) / sqrt(variance) * scale + bias = (5 - 1) / 2 * 3 + 7.
TEST(PaddleBatchNorm, TakesMeanAndVarianceOfTheParameters) {
  Net net({1, 1, 1, 1}, {1, 1, 1, 1});
  net.Param<float>("m", {1}, {1});
  net.Param<float>("v", {1}, {4});
  net.Param<float>("s", {1}, {3});
  net.Param<float>("b", {1}, {7});
  net.Of("batch_norm", {{"Scale", {"s"}}, {"Bias", {"b"}}, {"Mean", {"m"}}, {"Variance", {"v"}}},
         "X", "Y");
  net.Float("epsilon", 0).Bool("is_test", true);
  EXPECT_THAT(net.Result({1, 1, 1, 1}, {5}), ElementsAre(13));
}

TEST(PaddleActivations, HaveTheirParameters) {
  const auto of = [](const char* type, const auto& set, float x) {
    Net net({1}, {1});
    net.Of(type);
    set(net);
    return net.Result({1}, {x})[0];
  };
  const auto plain = [](Net&) {};
  EXPECT_EQ(of("relu6", plain, 7), 6);
  EXPECT_EQ(of(
                "leaky_relu", [](Net& net) { net.Float("alpha", 0.25F); }, -8),
            -2);
  EXPECT_EQ(
      of(
          "hard_sigmoid", [](Net& net) { net.Float("slope", 0.25F).Float("offset", 0.5F); }, 1),
      0.75F);
  EXPECT_EQ(of("hard_swish", plain, 3), 3);
  EXPECT_EQ(of(
                "dropout", [](Net& net) { net.Float("dropout_prob", 0.25F); }, 8),
            6);
  EXPECT_EQ(
      of(
          "dropout", [](Net& net) { net.Text("dropout_implementation", "upscale_in_train"); }, 8),
      8);
  EXPECT_EQ(of(
                "clip", [](Net& net) { net.Float("min", -1).Float("max", 2); }, 8),
            2);
}

TEST(PaddleReduce, GivesOneDimensionWhereTheProgramSaysSo) {
  Net all({2, 2}, {1});
  all.Of("reduce_mean").Bool("reduce_all", true).Bool("keep_dim", false);
  EXPECT_THAT(all.Result({2, 2}, {1, 2, 3, 6}), ElementsAre(3));
  Net rows({2, 2}, {2});
  rows.Of("reduce_sum").Ints("dim", {1}).Bool("keep_dim", false);
  EXPECT_THAT(rows.Result({2, 2}, {1, 2, 3, 6}), ElementsAre(3, 9));
}

TEST(PaddleShapes, MoveData) {
  Net range({1, 2, 1, 2}, {1, 2, 2});
  range.Of("flatten_contiguous_range").Int("start_axis", 1).Int("stop_axis", 2);
  EXPECT_THAT(range.Result({1, 2, 1, 2}, {1, 2, 3, 4}), ElementsAre(1, 2, 3, 4));
  Net slice({2, 2}, {2});
  slice.Of("slice", {}, "Input").Ints("axes", {1}).Ints("starts", {1}).Ints("ends", {2});
  slice.Ints("decrease_axis", {1});
  EXPECT_THAT(slice.Result({2, 2}, {1, 2, 3, 4}), ElementsAre(2, 4));
  Net turned({2, 2}, {2, 2});
  turned.Of("transpose2").Ints("axis", {1, 0});
  EXPECT_THAT(turned.Result({2, 2}, {1, 2, 3, 4}), ElementsAre(1, 3, 2, 4));
  Net shape({2, 3}, {2}, PaddleMaker::kInt32);
  shape.Of("shape", {}, "Input");
  EXPECT_THAT(shape.Result({2, 3}, {1, 2, 3, 4, 5, 6}), ElementsAre(2, 3));
}

TEST(PaddleFillConstant, HasItsValueThroughoutItsShape) {
  Net net({2}, {2});
  net.Var("c", {2});
  net.Op("fill_constant", {}, {{"Out", {"c"}}}).Ints("shape", {2}).Int("dtype", 5);
  net.Text("str_value", "1.5");
  net.Of("elementwise_mul", {{"Y", {"c"}}});
  EXPECT_THAT(net.Result({2}, {2, 4}), ElementsAre(3, 6));
}

TEST(PaddleSplit, HasAnOutputEach) {
  Net net({3}, {2});
  net.Var("z", {1});
  net.Op("split", {{"X", {"x"}}}, {{"Out", {"z", "y"}}}).Int("axis", 0).Ints("sections", {1, 2});
  EXPECT_THAT(net.Result({3}, {1, 2, 3}), ElementsAre(2, 3));
}

// 2 columns to 4: nearest takes floor(i / 2); bilinear with align_mode 0 (i + 1/2) / 2 - 1/2, the
// coordinates -1/4, 1/4, 3/4 and 5/4.
TEST(PaddleInterp, SamplesAsItsModeSays) {
  for (const bool nearest : {true, false}) {
    Net net({1, 1, 1, 2}, {1, 1, 1, 4});
    net.Of(nearest ? "nearest_interp_v2" : "bilinear_interp_v2").Int("out_h", 1).Int("out_w", 4);
    net.Bool("align_corners", false).Int("align_mode", 0).Text("data_layout", "NCHW");
    EXPECT_THAT(net.Result({1, 1, 1, 2}, {0, 8}),
                nearest ? ElementsAre(0, 0, 8, 8) : ElementsAre(0, 2, 6, 8));
  }
}

// left 1, bottom 1.
TEST(PaddlePad3d, TakesItsPaddingsFromTheLastAxisOn) {
  Net net({1, 1, 1, 1, 1}, {1, 1, 1, 2, 2});
  net.Of("pad3d").Ints("paddings", {1, 0, 0, 1, 0, 0}).Text("mode", "constant").Float("value", 9);
  EXPECT_THAT(net.Result({1, 1, 1, 1, 1}, {5}), ElementsAre(9, 5, 9, 9));
}

// A variable written twice is two values: y = relu(x), y = y + y.
TEST(PaddleProgram, MayWriteAVariableTwice) {
  Net net({2}, {2});
  net.Of("relu");
  net.Op("elementwise_add", {{"X", {"y"}}, {"Y", {"y"}}}, {{"Out", {"y"}}}).Int("axis", -1);
  EXPECT_THAT(net.Result({2}, {-1, 3}), ElementsAre(0, 6));
}

TEST(PaddleProgram, MayFetchAValueTwiceAndAParameter) {
  Net net({2}, {2});
  net.Param<float>("w", {2}, {5, 6});
  net.Of("relu");
  net.Fetch("y", 0);
  net.Fetch("y", 1);
  net.Fetch("w", 2);
  const auto conversion = net.Convert();
  ASSERT_TRUE(conversion.has_value()) << ErrorOf(conversion);
  EXPECT_EQ(conversion->model.graph.outputs.size(), 3U);
  EXPECT_THAT(OpTypes(conversion->model), ElementsAre("Relu", "Identity", "Identity"));
}

TEST(PaddleProgram, FeedsAndFetchesByColumn) {
  PaddleMaker maker;
  for (const char* name : {"a", "b"}) maker.Var(name, {1});
  maker.Feed("b", 1);
  maker.Feed("a", 0);
  for (const char* name : {"ra", "rb"}) maker.Var(name, {1});
  maker.Op("relu", {{"X", {"a"}}}, {{"Out", {"ra"}}});
  maker.Op("relu", {{"X", {"b"}}}, {{"Out", {"rb"}}});
  maker.Fetch("ra", 1);
  maker.Fetch("rb", 0);
  const auto conversion = maker.Convert();
  ASSERT_TRUE(conversion.has_value()) << ErrorOf(conversion);
  const format::Graph& graph = conversion->model.graph;
  EXPECT_EQ(graph.inputs[0].name, "a");
  EXPECT_EQ(graph.inputs[1].name, "b");
  EXPECT_EQ(graph.outputs[0].name, "rb");
  EXPECT_EQ(graph.outputs[1].name, "ra");
  EXPECT_EQ(graph.nodes[0].origin->op_type, "relu");
  EXPECT_EQ(graph.nodes[0].origin->framework, "paddle");
}

TEST(PaddleProgram, TakesParametersFromAFileEach) {
  PaddleMaker maker;
  maker.Var("x", {2});
  maker.Var("y", {2});
  maker.Feed("x");
  maker.Param<float>("b.w_0", {2}, {3, 4});
  maker.Op("elementwise_add", {{"X", {"x"}}, {"Y", {"b.w_0"}}}, {{"Out", {"y"}}});
  maker.Fetch("y");
  const auto folder = TestFolder();
  WriteBytes(folder / "__model__", maker.Program());
  WriteBytes(folder / "b.w_0", maker.params.at("b.w_0"));
  const auto beside = ReadFileAs(folder / "__model__");
  ASSERT_TRUE(beside.has_value()) << ErrorOf(beside);
  const auto sum = format::LoadInitializer(beside->model, "b.w_0");
  ASSERT_TRUE(sum.has_value()) << ErrorOf(sum);
  EXPECT_THAT(format::StoredValues(*sum), ElementsAre(3, 4));
  EXPECT_TRUE(ReadFileAs(folder / "__model__", "paddle", {}, {folder.string()}).has_value());
  WriteBytes(folder / "__params__", maker.Params());
  EXPECT_EQ(ReadFileAs(folder / "__model__")->model.graph, beside->model.graph);
}

TEST(PaddleProgram, NamesWhatItDoesNotKnow) {
  Net net({1}, {1});
  net.Of("lstm");
  net.Fetch("y");
  EXPECT_THAT(ErrorOf(net.Convert()), HasSubstr("op lstm of 'y': unknown operator"));
}

}  // namespace
}  // namespace qtx::convert::paddle_operators_test
