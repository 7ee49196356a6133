// Which ONNX operator each builtin operator becomes, with which attributes and constants.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "qtx/convert/convert.h"
#include "qtx/format/check.h"
#include "tests/tflite/maker.h"

namespace qtx::convert::builtins_test {
namespace {

using schema::BuiltinOperator;
using schema::TensorType;
using testing::ElementsAre;
using testing::HasSubstr;
using Values = std::vector<std::int64_t>;

class Builtins : public testing::Test {
 protected:
  int Float(const std::string& name, std::vector<std::int32_t> shape) {
    return maker.Tensor(name, std::move(shape), TensorType::FLOAT32);
  }
  void Convert(std::vector<int> inputs, std::vector<int> outputs) {
    auto conversion = FromTflite(maker.Bytes(std::move(inputs), std::move(outputs)));
    ASSERT_TRUE(conversion.has_value())
        << conversion.error().where << ": " << conversion.error().message;
    model = std::move(conversion->model);
    for (const format::Finding& finding : format::Check(model)) {
      ADD_FAILURE() << finding.rule << " " << finding.where << ": " << finding.message;
    }
  }
  std::vector<std::string> Types() const {
    std::vector<std::string> types;
    for (const format::Node& node : model.graph.nodes) types.push_back(node.op_type);
    return types;
  }
  const format::Node& Node(std::size_t i) const { return model.graph.nodes.at(i); }
  // The integers of the constant that is input `input` of node `node`.
  Values Constant(std::size_t node, std::size_t input) const {
    const auto tensor = format::LoadInitializer(model, Node(node).inputs.at(input));
    return tensor.has_value() ? format::UnpackIntegers(*tensor) : Values();
  }
  TfliteMaker maker;
  format::Model model;
};

TEST_F(Builtins, UnaryOperatorsKeepTheirNames) {
  const std::vector<std::pair<BuiltinOperator, std::string>> names = {
      {BuiltinOperator::ABS, "Abs"},
      {BuiltinOperator::LOGISTIC, "Sigmoid"},
      {BuiltinOperator::TANH, "Tanh"},
      {BuiltinOperator::HARD_SWISH, "HardSwish"},
      {BuiltinOperator::EXP, "Exp"},
      {BuiltinOperator::SQRT, "Sqrt"},
      {BuiltinOperator::LOG_SOFTMAX, "LogSoftmax"}};
  for (const auto& [code, name] : names) {
    maker = TfliteMaker();
    const int x = Float("x", {2, 3}), y = Float("y", {2, 3});
    maker.Operator(code, {x}, {y});
    Convert({x}, {y});
    EXPECT_THAT(Types(), ElementsAre(name));
    EXPECT_EQ(Node(0).origin->op_type, schema::EnumNameBuiltinOperator(code));
  }
}

TEST_F(Builtins, LeakyReluKeepsItsSlope) {
  const int x = Float("x", {2}), y = Float("y", {2});
  schema::LeakyReluOptionsT options;
  options.alpha = 0.25F;
  maker.Operator(BuiltinOperator::LEAKY_RELU, {x}, {y}, options);
  Convert({x}, {y});
  EXPECT_EQ(Node(0).FloatOr("alpha", 0), 0.25F);
}

TEST_F(Builtins, GeluAsksForTheVersionThatHasIt) {
  const int x = Float("x", {2}), y = Float("y", {2});
  maker.Operator(BuiltinOperator::GELU, {x}, {y}, schema::GeluOptionsT());
  Convert({x}, {y});
  EXPECT_EQ(model.OpsetVersion(""), 20);
  EXPECT_EQ(model.ir_version, 9);
}

TEST_F(Builtins, RsqrtIsOneOperatorAndSoOneRounding) {
  const int x = maker.Int8("x", {2}), y = maker.Int8("y", {2});
  maker.Operator(BuiltinOperator::RSQRT, {x}, {y});
  Convert({x}, {y});
  EXPECT_THAT(Types(), ElementsAre("Pow"));
}

TEST_F(Builtins, StridedSliceReadsItsMasks) {
  // x[:, 3:0:-1, 2]: the begin of axis 0 and its end are masked, axis 2 is dropped.
  const int x = Float("x", {2, 5, 4}), y = Float("y", {2, 3});
  const int begin = maker.Int32s("begin", {3}, {1, 3, 2});
  const int end = maker.Int32s("end", {3}, {1, 0, 3});
  const int step = maker.Int32s("step", {3}, {1, -1, 1});
  schema::StridedSliceOptionsT options;
  options.begin_mask = options.end_mask = 1;
  options.shrink_axis_mask = 4;
  maker.Operator(BuiltinOperator::STRIDED_SLICE, {x, begin, end, step}, {y}, options);
  Convert({x}, {y});
  EXPECT_THAT(Types(), ElementsAre("Slice", "Reshape"));
  EXPECT_EQ(Constant(0, 1), (Values{0, 3, 2}));
  EXPECT_EQ(Constant(0, 2), (Values{2, 0, 3}));
  EXPECT_EQ(Constant(0, 4), (Values{1, -1, 1}));
  EXPECT_EQ(Constant(1, 1), (Values{2, 3}));
}

TEST_F(Builtins, StridedSliceReversesToTheFirstElement) {
  const int x = Float("x", {3}), y = Float("y", {3});
  const int begin = maker.Int32s("begin", {1}, {0}), end = maker.Int32s("end", {1}, {0});
  const int step = maker.Int32s("step", {1}, {-1});
  schema::StridedSliceOptionsT options;
  options.begin_mask = options.end_mask = 1;
  maker.Operator(BuiltinOperator::STRIDED_SLICE, {x, begin, end, step}, {y}, options);
  Convert({x}, {y});
  EXPECT_EQ(Constant(0, 1), Values{2});
  EXPECT_EQ(Constant(0, 2), Values{std::numeric_limits<std::int64_t>::min()});
}

TEST_F(Builtins, StridedSliceAddsAnAxis) {
  const int x = Float("x", {3, 4}), y = Float("y", {3, 1, 4});
  const int zeros = maker.Int32s("zeros", {2}, {0, 0}), end = maker.Int32s("end", {2}, {3, 4});
  const int step = maker.Int32s("step", {2}, {1, 1});
  schema::StridedSliceOptionsT options;
  options.new_axis_mask = 2;
  maker.Operator(BuiltinOperator::STRIDED_SLICE, {x, zeros, end, step}, {y}, options);
  Convert({x}, {y});
  EXPECT_EQ(Constant(1, 1), (Values{3, 1, 4}));
}

TEST_F(Builtins, SplitHasAnOutputForEachPart) {
  const int axis = maker.Int32s("axis", {}, {1}), x = Float("x", {2, 4});
  const int a = Float("a", {2, 2}), b = Float("b", {2, 2});
  maker.Operator(BuiltinOperator::SPLIT, {axis, x}, {a, b});
  Convert({x}, {a, b});
  EXPECT_THAT(Node(0).outputs, ElementsAre("a", "b"));
  EXPECT_EQ(Constant(0, 1), (Values{2, 2}));
}

TEST_F(Builtins, PackAndUnpackAddAndRemoveTheirAxis) {
  const int a = Float("a", {3}), b = Float("b", {3}), packed = Float("packed", {3, 2});
  const int c = Float("c", {3}), d = Float("d", {3});
  schema::PackOptionsT pack;
  pack.axis = 1;
  schema::UnpackOptionsT unpack;
  unpack.axis = -1;
  maker.Operator(BuiltinOperator::PACK, {a, b}, {packed}, pack);
  maker.Operator(BuiltinOperator::UNPACK, {packed}, {c, d}, unpack);
  Convert({a, b}, {c, d});
  EXPECT_THAT(Types(), ElementsAre("Unsqueeze", "Unsqueeze", "Concat", "Gather", "Gather"));
  EXPECT_EQ(Node(4).IntOr("axis", 0), 1);
  EXPECT_EQ(Constant(4, 1), Values{1});
}

TEST_F(Builtins, IndicesOfInt32AreCastFromOnnxsInt64) {
  const int x = Float("x", {2, 5}), axis = maker.Int32s("axis", {1}, {1});
  const int y = maker.Tensor("y", {2}, TensorType::INT32);
  maker.Operator(BuiltinOperator::ARG_MAX, {x, axis}, {y});
  Convert({x}, {y});
  EXPECT_THAT(Types(), ElementsAre("ArgMax", "Cast"));
  EXPECT_EQ(Node(0).IntOr("keepdims", 1), 0);
}

TEST_F(Builtins, ReductionsOverOtherAxesThanHeightAndWidth) {
  const int x = Float("x", {2, 3, 4}), axes = maker.Int32s("axes", {2}, {-1, 0});
  const int mean = Float("mean", {3}), sum = Float("sum", {3});
  maker.Operator(BuiltinOperator::MEAN, {x, axes}, {mean});
  maker.Operator(BuiltinOperator::SUM, {x, axes}, {sum});
  Convert({x}, {mean, sum});
  EXPECT_THAT(Types(), ElementsAre("ReduceMean", "ReduceSum"));
  EXPECT_THAT(Node(0).IntsOr("axes", {}), ElementsAre(0, 2));
  EXPECT_EQ(Constant(1, 1), (Values{0, 2}));
}

// reduce_mean.C3, and reduce_max: beside a Gelu, which needs opset 20, the axes are an input.
TEST_F(Builtins, ReductionsBesideAGeluHaveTheirAxesAsOpset20Has) {
  const int x = Float("x", {2, 3, 4}), axes = maker.Int32s("axes", {2}, {-1, 0});
  const int mean = Float("mean", {3}), max = Float("max", {3}), y = Float("y", {3});
  maker.Operator(BuiltinOperator::MEAN, {x, axes}, {mean});
  maker.Operator(BuiltinOperator::REDUCE_MAX, {x, axes}, {max});
  maker.Operator(BuiltinOperator::GELU, {mean}, {y}, schema::GeluOptionsT());
  Convert({x}, {y, max});
  EXPECT_EQ(model.OpsetVersion(""), 20);
  for (const std::size_t node : {0U, 1U}) {
    EXPECT_EQ(Node(node).Find("axes"), nullptr);
    EXPECT_EQ(Constant(node, 1), (Values{0, 2}));
  }
}

TEST_F(Builtins, NearestNeighbourOfHalfPixelsRoundsUp) {
  const int x = Float("x", {1, 2, 2, 1}), y = Float("y", {1, 4, 4, 1});
  const int size = maker.Int32s("size", {2}, {4, 4});
  schema::ResizeNearestNeighborOptionsT options;
  options.half_pixel_centers = true;
  maker.Operator(BuiltinOperator::RESIZE_NEAREST_NEIGHBOR, {x, size}, {y}, options);
  Convert({x}, {y});
  const format::Node& resize = Node(1);
  EXPECT_EQ(resize.StringOr("nearest_mode", ""), "round_prefer_ceil");
  EXPECT_EQ(resize.StringOr("coordinate_transformation_mode", ""), "half_pixel");
  EXPECT_EQ(Constant(1, 3), (Values{1, 1, 4, 4}));
}

TEST_F(Builtins, TransposedConvolutionPlacesItsWindowsAsTheForwardOneWould) {
  // 2x2 to 5x4, kernel 3x3, strides 2, SAME.  Forward: 5 -> 3 needs (3-1)*2+3-5 = 2 rows of
  // padding, one before.  After: (2-1)*2+3 - 5 - 1 = -1, a row beyond every window.  Width: 4 -> 2
  // needs 1, none before; after: 5 - 4 = 1.
  const int x = maker.Int8("x", {1, 2, 2, 1}), y = maker.Int8("y", {1, 5, 4, 1});
  const int shape = maker.Int32s("shape", {4}, {1, 5, 4, 1});
  const int w =
      maker.Tensor("w", {1, 3, 3, 1}, TensorType::INT8, 0.5F, 0, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  schema::TransposeConvOptionsT options;
  options.stride_h = options.stride_w = 2;
  maker.Operator(BuiltinOperator::TRANSPOSE_CONV, {shape, w, x}, {y}, options);
  Convert({x}, {y});
  const format::Node& node = Node(1);
  EXPECT_EQ(node.op_type, "ConvTranspose");
  EXPECT_THAT(node.IntsOr("pads", {}), ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(node.IntsOr("output_padding", {}), ElementsAre(1, 0));
}

TEST_F(Builtins, ABiasOf64BitsIsInt32qWhenItsValuesFit) {
  for (const std::int64_t value : {std::int64_t{-7}, std::int64_t{1} << 31}) {
    maker = TfliteMaker();
    const int x = maker.Tensor("x", {1, 1}, TensorType::INT16, 0.5F);
    const int w = maker.Tensor("w", {1, 1}, TensorType::INT8, 0.5F, 0, {3});
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&value);
    const int b = maker.Tensor("b", {1}, TensorType::INT64, 0.25F, 0, {bytes, bytes + 8});
    const int y = maker.Tensor("y", {1, 1}, TensorType::INT16, 0.5F);
    maker.Operator(BuiltinOperator::FULLY_CONNECTED, {x, w, b}, {y},
                   schema::FullyConnectedOptionsT());
    const auto conversion = FromTflite(maker.Bytes({x}, {y}));
    ASSERT_EQ(conversion.has_value(), value == -7);
    if (!conversion.has_value()) {
      EXPECT_THAT(conversion.error().where, HasSubstr("tensor 'b'"));
      continue;
    }
    const auto bias = format::LoadInitializer(conversion->model, "b");
    EXPECT_EQ(bias->elem_type, format::ElementType::kInt32Q);
    EXPECT_THAT(format::UnpackIntegers(*bias), ElementsAre(-7));
  }
}

TEST_F(Builtins, Float16WeightsAreCastAndThenTransposed) {
  const int x = Float("x", {1, 2, 2, 1}), y = Float("y", {1, 2, 2, 1});
  const int half = maker.Tensor("half", {1, 1, 1, 1}, TensorType::FLOAT16, 0, 0, {0, 0x3c});
  const int w = Float("w", {1, 1, 1, 1});
  schema::Conv2DOptionsT options;
  options.stride_h = options.stride_w = 1;
  maker.Operator(BuiltinOperator::DEQUANTIZE, {half}, {w});
  maker.Operator(BuiltinOperator::CONV_2D, {x, w}, {y}, options);
  Convert({x}, {y});
  EXPECT_THAT(Types(), ElementsAre("Cast", "Transpose", "Transpose", "Conv", "Transpose"));
}

TEST_F(Builtins, BatchesToSpaceAndBack) {
  const int x = Float("x", {1, 3, 4, 2}), batches = Float("batches", {4, 2, 2, 2});
  const int y = Float("y", {1, 3, 4, 2});
  const int block = maker.Int32s("block", {2}, {2, 2});
  const int edges = maker.Int32s("edges", {2, 2}, {0, 1, 0, 0});
  maker.Operator(BuiltinOperator::SPACE_TO_BATCH_ND, {x, block, edges}, {batches});
  maker.Operator(BuiltinOperator::BATCH_TO_SPACE_ND, {batches, block, edges}, {y});
  Convert({x}, {y});
  EXPECT_THAT(Types(), ElementsAre("Pad", "Reshape", "Transpose", "Reshape", "Reshape", "Transpose",
                                   "Reshape", "Slice"));
  EXPECT_THAT(Node(2).IntsOr("perm", {}), ElementsAre(2, 4, 0, 1, 3, 5));
  EXPECT_THAT(Node(5).IntsOr("perm", {}), ElementsAre(2, 3, 0, 4, 1, 5));
}

// A converter to FLOAT16 puts a DEQUANTIZE before the bias, too.
TEST_F(Builtins, AFloat16BiasIsCast) {
  const int x = Float("x", {1, 2}), y = Float("y", {1, 1});
  const int half = maker.Tensor("half", {1}, TensorType::FLOAT16, 0, 0, {0, 0x3c});
  const int weights = maker.Tensor("weights", {1, 2}, TensorType::FLOAT16, 0, 0, {0, 0, 0, 0});
  const int b = Float("b", {1}), w = Float("w", {1, 2});
  maker.Operator(BuiltinOperator::DEQUANTIZE, {weights}, {w});
  maker.Operator(BuiltinOperator::DEQUANTIZE, {half}, {b});
  maker.Operator(BuiltinOperator::FULLY_CONNECTED, {x, w, b}, {y},
                 schema::FullyConnectedOptionsT());
  Convert({x}, {y});
  EXPECT_THAT(Types(), ElementsAre("Cast", "Cast", "Gemm"));
  EXPECT_THAT(Node(2).inputs, ElementsAre("x", "w", "b"));
}

TEST_F(Builtins, AnIntegerBiasMustBeAConstant) {
  const int x = maker.Int8("x", {1, 1}), y = maker.Int8("y", {1, 1});
  const int w = maker.Tensor("w", {1, 1}, TensorType::INT8, 0.5F, 0, {3});
  const int b = maker.Tensor("b", {1}, TensorType::INT32, 0.25F);
  maker.Operator(BuiltinOperator::FULLY_CONNECTED, {x, w, b}, {y},
                 schema::FullyConnectedOptionsT());
  const auto conversion = FromTflite(maker.Bytes({x, b}, {y}));
  ASSERT_FALSE(conversion.has_value());
  EXPECT_THAT(conversion.error().where, HasSubstr("bias 'b'"));
  EXPECT_THAT(conversion.error().message, HasSubstr("expected FLOAT or a constant"));
}

TEST_F(Builtins, SelectIsWhereAndPicksRowsByAListOfConditions) {
  const int rows = maker.Tensor("rows", {2}, TensorType::BOOL);
  const int one = maker.Tensor("one", {1, 3}, TensorType::BOOL);
  const int a = Float("a", {2, 3}), b = Float("b", {2, 3});
  const int y = Float("y", {2, 3}), z = Float("z", {2, 3});
  maker.Operator(BuiltinOperator::SELECT, {rows, a, b}, {y});
  maker.Operator(BuiltinOperator::SELECT_V2, {one, a, b}, {z});
  Convert({rows, one, a, b}, {y, z});
  EXPECT_THAT(Types(), ElementsAre("Reshape", "Where", "Where"));
  EXPECT_EQ(Constant(0, 1), (Values{2, 1}));
  EXPECT_THAT(Node(2).inputs, ElementsAre("one", "a", "b"));
}

TEST_F(Builtins, ShapesAreInt32) {
  const int x = Float("x", {2, 5}), y = maker.Tensor("y", {2}, TensorType::INT32);
  maker.Operator(BuiltinOperator::SHAPE, {x}, {y});
  Convert({x}, {y});
  EXPECT_THAT(Types(), ElementsAre("Shape", "Cast"));
}

// -7 // 2: the remainder of b's sign is 1, and (-7 - 1) / 2 = -4; ONNX's Div of -7 by 2 gives -3.
TEST_F(Builtins, FloorsOfQuotientsOfIntegersAreDividedWithoutARemainder) {
  const auto integer = [&](const char* name) { return maker.Tensor(name, {2}, TensorType::INT32); };
  const int a = integer("a"), b = integer("b"), y = integer("y"), m = integer("m");
  maker.Operator(BuiltinOperator::FLOOR_DIV, {a, b}, {y});
  maker.Operator(BuiltinOperator::FLOOR_MOD, {a, b}, {m});
  Convert({a, b}, {y, m});
  EXPECT_THAT(Types(), ElementsAre("Mod", "Sub", "Div", "Mod"));
  EXPECT_THAT(Node(1).inputs, ElementsAre("a", Node(0).outputs[0]));
  EXPECT_THAT(Node(2).inputs, ElementsAre(Node(1).outputs[0], "b"));
  EXPECT_EQ(Node(3).IntOr("fmod", 1), 0);
}

// -7 mod 2: fmod gives -1, whose sign is not that of 2, so that 2 is added: 1.
TEST_F(Builtins, AFloatRemainderOfTheOtherSignIsMoved) {
  const int a = Float("a", {2}), b = Float("b", {2}), y = Float("y", {2}), m = Float("m", {2});
  maker.Operator(BuiltinOperator::FLOOR_DIV, {a, b}, {y});
  maker.Operator(BuiltinOperator::FLOOR_MOD, {a, b}, {m});
  Convert({a, b}, {y, m});
  EXPECT_THAT(Types(),
              ElementsAre("Div", "Floor", "Mod", "Sign", "Sign", "Mul", "Less", "Add", "Where"));
  EXPECT_EQ(Node(2).IntOr("fmod", 0), 1);
  EXPECT_THAT(Node(8).inputs,
              ElementsAre(Node(6).outputs[0], Node(7).outputs[0], Node(2).outputs[0]));
}

TEST_F(Builtins, CumsumKeepsItsAxisAndItsOptions) {
  const int x = Float("x", {2, 3}), axis = maker.Int32s("axis", {}, {-1}), y = Float("y", {2, 3});
  schema::CumsumOptionsT options;
  options.exclusive = options.reverse = true;
  maker.Operator(BuiltinOperator::CUMSUM, {x, axis}, {y}, options);
  Convert({x}, {y});
  EXPECT_THAT(Types(), ElementsAre("CumSum"));
  EXPECT_EQ(Constant(0, 1), Values{1});
  EXPECT_EQ(Node(0).IntOr("exclusive", 0), 1);
  EXPECT_EQ(Node(0).IntOr("reverse", 0), 1);
}

TEST_F(Builtins, AnEllipsisOfStridedSliceStandsForTheAxesThatNoEntryNames) {
  // x[1, ..., newaxis, 2:4] of [2, 3, 5, 4].
  const int x = Float("x", {2, 3, 5, 4}), y = Float("y", {3, 5, 1, 2});
  const int begin = maker.Int32s("begin", {4}, {1, 0, 0, 2});
  const int end = maker.Int32s("end", {4}, {2, 0, 0, 4});
  const int step = maker.Int32s("step", {4}, {1, 1, 1, 1});
  schema::StridedSliceOptionsT options;
  options.shrink_axis_mask = 1;
  options.ellipsis_mask = 2;
  options.new_axis_mask = 4;
  maker.Operator(BuiltinOperator::STRIDED_SLICE, {x, begin, end, step}, {y}, options);
  Convert({x}, {y});
  EXPECT_EQ(Constant(0, 1), (Values{1, 0, 0, 2}));
  EXPECT_EQ(Constant(0, 2), (Values{2, 3, 5, 4}));
  EXPECT_EQ(Constant(1, 1), (Values{3, 5, 1, 2}));
}

TEST_F(Builtins, ReverseGoesFromTheLastElementToTheFirst) {
  const int x = Float("x", {2, 3}), axis = maker.Int32s("axis", {1}, {-1}), y = Float("y", {2, 3});
  maker.Operator(BuiltinOperator::REVERSE_V2, {x, axis}, {y});
  Convert({x}, {y});
  EXPECT_EQ(Constant(0, 1), (Values{0, 2}));
  EXPECT_EQ(Constant(0, 2), (Values{2, std::numeric_limits<std::int64_t>::min()}));
  EXPECT_EQ(Constant(0, 4), (Values{1, -1}));
}

TEST_F(Builtins, BooleansAreReducedAsIntegers) {
  const int x = maker.Tensor("x", {2, 3}, TensorType::BOOL), axes = maker.Int32s("axes", {1}, {1});
  const int any = maker.Tensor("any", {2}, TensorType::BOOL);
  const int all = maker.Tensor("all", {2}, TensorType::BOOL);
  maker.Operator(BuiltinOperator::REDUCE_ANY, {x, axes}, {any});
  maker.Operator(BuiltinOperator::REDUCE_ALL, {x, axes}, {all});
  Convert({x}, {any, all});
  EXPECT_THAT(Types(), ElementsAre("Cast", "ReduceMax", "Cast", "Cast", "ReduceMin", "Cast"));
}

TEST_F(Builtins, UpdatesAreAddedOntoZeros) {
  const int indices = maker.Int32s("indices", {2, 1}, {1, 1}), updates = Float("updates", {2, 3});
  const int shape = maker.Int32s("shape", {2}, {4, 3}), y = Float("y", {4, 3});
  maker.Operator(BuiltinOperator::SCATTER_ND, {indices, updates, shape}, {y});
  Convert({updates}, {y});
  EXPECT_THAT(Types(), ElementsAre("Expand", "ScatterND"));
  EXPECT_EQ(Node(1).StringOr("reduction", ""), "add");
}

TEST_F(Builtins, OneHotHasTheValueOfTheOthersFirst) {
  const int indices = maker.Tensor("indices", {2}, TensorType::INT32), y = Float("y", {2, 5});
  const int depth = maker.Int32s("depth", {}, {5}), on = Float("on", {}), off = Float("off", {});
  schema::OneHotOptionsT options;
  options.axis = -1;
  maker.Operator(BuiltinOperator::ONE_HOT, {indices, depth, on, off}, {y}, options);
  Convert({indices, on, off}, {y});
  EXPECT_THAT(Types(), ElementsAre("Reshape", "Reshape", "Concat", "OneHot"));
  EXPECT_THAT(Node(0).inputs, testing::Contains("off"));
  EXPECT_THAT(Node(2).inputs, ElementsAre(Node(0).outputs[0], Node(1).outputs[0]));
  EXPECT_EQ(Constant(3, 1), Values{5});
}

TEST_F(Builtins, FillAndZerosLikeRepeatOneElement) {
  const int dims = maker.Int32s("dims", {2}, {2, 3}), value = Float("value", {});
  const int filled = Float("filled", {2, 3}), zeros = Float("zeros", {2, 3});
  maker.Operator(BuiltinOperator::FILL, {dims, value}, {filled});
  maker.Operator(BuiltinOperator::ZEROS_LIKE, {filled}, {zeros});
  Convert({value}, {filled, zeros});
  EXPECT_THAT(Types(), ElementsAre("Expand", "Expand"));
  EXPECT_EQ(Constant(1, 1), (Values{2, 3}));
}

}  // namespace
}  // namespace qtx::convert::builtins_test
