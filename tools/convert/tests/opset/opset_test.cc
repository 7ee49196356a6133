// Moves of models between opsets: forms as ONNX's Changelog.md states them, per operator and opset.
#include "opset/opset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "qtx/format/attributes.h"
#include "qtx/format/check.h"
#include "tests/qdq/maker.h"

namespace qtx::convert::opset_test {
namespace {

using format::Attribute;
using format::ElementType;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A model of one node from x, FLOAT[2,3,4], to y; further inputs are initializers.
class OneNode : public OnnxMaker {
 public:
  OneNode(std::int64_t opset, const std::string& op_type, std::vector<Attribute> attributes = {},
          std::vector<std::string> inputs = {"x"})
      : OnnxMaker(opset) {
    model.graph.inputs = {Value("x", ElementType::kFloat, {2, 3, 4})};
    Node(op_type, std::move(inputs), {"y"}).attributes = std::move(attributes);
    model.graph.outputs.emplace_back().name = "y";
  }
  OneNode& Ints(const std::string& name, const std::vector<std::int64_t>& values) {
    Initializer<std::int64_t>(name, ElementType::kInt64, {std::ssize(values)}, values);
    return *this;
  }
  OneNode& Floats(const std::string& name, const std::vector<float>& values, bool scalar = false) {
    Initializer<float>(name, ElementType::kFloat,
                       scalar ? format::Dims() : format::Dims{std::ssize(values)}, values);
    return *this;
  }
};

Result<format::Model> Move(const OnnxMaker& maker, std::int64_t opset) {
  Ledger ledger;
  return ToOpset(maker.model, opset, ledger);
}

format::Model Moved(const OnnxMaker& maker, std::int64_t opset) {
  auto moved = Move(maker, opset);
  EXPECT_TRUE(moved.has_value()) << (moved.has_value() ? "" : moved.error().Text());
  return moved.has_value() ? *std::move(moved) : format::Model{};
}

std::string Refusal(const OnnxMaker& maker, std::int64_t opset) {
  const auto moved = Move(maker, opset);
  return moved.has_value() ? "" : moved.error().where + ": " + moved.error().message;
}

std::vector<std::int64_t> IntsOf(const format::Model& model, const std::string& name) {
  const format::TensorData* data = model.graph.FindInitializer(name);
  EXPECT_NE(data, nullptr) << name;
  return data == nullptr ? std::vector<std::int64_t>() : format::UnpackIntegers(*Decode(*data));
}

TEST(ToOpset, KeepsANodeThatOnlyGainedTypes) {
  const OneNode maker(7, "Abs");
  for (const std::int64_t opset : {std::int64_t{7}, std::int64_t{13}, format::NewestOpset()}) {
    const format::Model moved = Moved(maker, opset);
    EXPECT_EQ(moved.graph, maker.model.graph);
    EXPECT_EQ(moved.OpsetVersion(""), opset);
  }
}

// The axes of Squeeze are an input since 13.
TEST(ToOpset, MakesAxesAnInputAndBack) {
  const OneNode old(11, "Squeeze", {Attribute::Ints("axes", {0, 2})});
  const format::Model moved = Moved(old, 13);
  EXPECT_THAT(moved.graph.nodes[0].inputs, ElementsAre("x", "y/axes"));
  EXPECT_TRUE(moved.graph.nodes[0].attributes.empty());
  EXPECT_THAT(IntsOf(moved, "y/axes"), ElementsAre(0, 2));
  OnnxMaker back;
  back.model = moved;
  EXPECT_EQ(Moved(back, 11), old.model);
}

TEST(ToOpset, KeepsAConstantThatAnotherNodeReads) {
  OneNode maker(13, "Squeeze", {}, {"x", "axes"});
  maker.Ints("axes", {0}).Node("Identity", {"axes"}, {"copy"});
  const format::Model moved = Moved(maker, 12);
  EXPECT_EQ(moved.graph.nodes[0].Find("axes")->ints, std::vector<std::int64_t>{0});
  EXPECT_NE(moved.graph.FindInitializer("axes"), nullptr);
}

TEST(ToOpset, RefusesComputedAxesInThePlaceOfAnAttribute) {
  OneNode maker(18, "ReduceMean", {}, {"x", "axes"});
  maker.model.graph.inputs.push_back(OnnxMaker::Value("axes", ElementType::kInt64, {1}));
  EXPECT_EQ(Refusal(maker, 17),
            "node 'y_node' (ReduceMean): input[1] 'axes': is computed; opset 17 takes a constant "
            "there");
  // A default is no constant: who runs the model may give others.
  maker.Ints("axes", {1});
  EXPECT_THAT(Refusal(maker, 17), HasSubstr("is computed"));
}

TEST(ToOpset, RefusesToReduceNothingWhereNoAxesAreAll) {
  const OneNode maker(18, "ReduceMax", {Attribute::Int("noop_with_empty_axes", 1)});
  EXPECT_THAT(Refusal(maker, 17), HasSubstr("attribute 'noop_with_empty_axes': is 1"));
}

// min and max of Clip, pads and value of Pad: attributes before 11, inputs of the data's type
// since.
TEST(ToOpset, MovesBoundsPadsAndValues) {
  const OneNode clip(7, "Clip", {Attribute::Float("min", -1), Attribute::Float("max", 6)});
  const format::Model moved = Moved(clip, 13);
  EXPECT_THAT(moved.graph.nodes[0].inputs, ElementsAre("x", "y/min", "y/max"));
  EXPECT_EQ(moved.graph.FindInitializer("y/max")->data_type, ElementType::kFloat);
  const OneNode pad(10, "Pad",
                    {Attribute::Ints("pads", {0, 0, 1, 0, 0, 2}), Attribute::Float("value", 0)});
  const format::Model padded = Moved(pad, 11);
  EXPECT_THAT(IntsOf(padded, "y/pads"), ElementsAre(0, 0, 1, 0, 0, 2));
  EXPECT_THAT(padded.graph.nodes[0].inputs, ElementsAre("x", "y/pads"));  // 0 is the default
}

// Pad of axes 0 and -1 of three: [begin 1, begin 2, end 3, end 4] is [1,0,2, 3,0,4].
TEST(ToOpset, SpreadsPadsOverAllAxes) {
  OneNode maker(18, "Pad", {}, {"x", "pads", "", "axes"});
  maker.Ints("pads", {1, 2, 3, 4}).Ints("axes", {0, -1});
  const format::Model moved = Moved(maker, 17);
  EXPECT_THAT(moved.graph.nodes[0].inputs, ElementsAre("x", "y/pads"));
  EXPECT_THAT(IntsOf(moved, "y/pads"), ElementsAre(1, 0, 2, 3, 0, 4));
  EXPECT_EQ(moved.graph.initializers.size(), 1U);
}

TEST(ToOpset, CountsAxesFromTheFrontBefore11) {
  const OneNode maker(11, "Concat", {Attribute::Int("axis", -1)}, {"x", "x"});
  EXPECT_EQ(Moved(maker, 10).graph.nodes[0].Find("axis")->i, 2);
  OneNode open(11, "Concat", {Attribute::Int("axis", -1)}, {"x", "x"});
  open.model.graph.inputs[0].type->shape.reset();
  EXPECT_THAT(Refusal(open, 10), HasSubstr("attribute 'axis': is negative"));
}

// 4 in 3 parts: 2, 2, 0. Before 18 equal parts only.
TEST(ToOpset, SaysTheNumberOfPartsOfASplitSince18) {
  OneNode old(13, "Split", {Attribute::Int("axis", 2)});
  old.model.graph.nodes[0].outputs = {"y", "z"};
  const format::Model moved = Moved(old, 18);
  EXPECT_EQ(moved.graph.nodes[0].Find("num_outputs")->i, 2);
  OnnxMaker back;
  back.model = moved;
  EXPECT_EQ(Moved(back, 13), old.model);
  back.model.graph.nodes[0].outputs.emplace_back("w");
  back.model.graph.nodes[0].attributes.back().i = 3;
  EXPECT_THAT(IntsOf(Moved(back, 17), "y/split"), ElementsAre(2, 2, 0));
}

// Before 13 Softmax is over all axes from `axis`, 1 by default, on.
TEST(ToOpset, MakesAMatrixForASoftmaxOverSeveralAxes) {
  const format::Model moved = Moved(OneNode(11, "Softmax"), 13);
  EXPECT_THAT(OpTypes(moved), ElementsAre("Shape", "Flatten", "Softmax", "Reshape"));
  EXPECT_EQ(moved.graph.nodes[1].Find("axis")->i, 1);
  EXPECT_EQ(moved.graph.nodes[3].outputs[0], "y");
  const OneNode last(11, "Softmax", {Attribute::Int("axis", 2)});
  EXPECT_EQ(Moved(last, 13).graph, last.model.graph);
}

TEST(ToOpset, TransposesForASoftmaxAlongAnAxisThatIsNotTheLast) {
  const format::Model moved = Moved(OneNode(13, "Softmax", {Attribute::Int("axis", 0)}), 12);
  EXPECT_THAT(OpTypes(moved), ElementsAre("Transpose", "Softmax", "Transpose"));
  EXPECT_THAT(moved.graph.nodes[0].Find("perm")->ints, ElementsAre(2, 1, 0));
  EXPECT_EQ(moved.graph.nodes[1].Find("axis")->i, 2);
  EXPECT_EQ(Moved(OneNode(13, "Softmax"), 12).graph.nodes[0].Find("axis")->i, 2);
}

// Upsample ended with 10; Resize has coordinates of several kinds since 11.
TEST(ToOpset, MakesAResizeOfAnUpsampleAndBack) {
  const OneNode old(7, "Upsample",
                    {Attribute::String("mode", "nearest"), Attribute::Floats("scales", {1, 2, 2})});
  const format::Model moved = Moved(old, 13);
  const format::Node& node = moved.graph.nodes[0];
  EXPECT_EQ(node.op_type, "Resize");
  EXPECT_THAT(node.inputs, ElementsAre("x", "y/roi", "y/scales"));
  EXPECT_EQ(node.StringOr("coordinate_transformation_mode", ""), "asymmetric");
  EXPECT_EQ(node.StringOr("nearest_mode", ""), "floor");
  OnnxMaker back;
  back.model = moved;
  EXPECT_EQ(Moved(back, 7), old.model);
  EXPECT_TRUE(format::Check(Moved(old, 10)).empty());  // whose input 1 is not that of the section
}

TEST(ToOpset, RefusesCoordinatesThatResizeHadNot) {
  OneNode maker(13, "Resize", {}, {"x", "", "scales"});
  maker.Floats("scales", {1, 2, 2});
  EXPECT_THAT(Refusal(maker, 10),
              HasSubstr("attribute 'coordinate_transformation_mode': found 'half_pixel'"));
}

TEST(ToOpset, RefusesASmallerNearestImageBefore11) {
  OneNode maker(10, "Resize", {}, {"x", "scales"});
  maker.Floats("scales", {1, 1, 0.6F});
  EXPECT_THAT(Refusal(maker, 11), HasSubstr("the nearest pixel of a smaller image is undefined"));
}

TEST(ToOpset, MakesADefaultThatChangedExplicit) {
  OneNode roi(10, "RoiAlign", {}, {"x", "rois", "batches"});
  roi.Ints("batches", {0}).Initializer<float>("rois", ElementType::kFloat, {1, 4}, {0, 0, 1, 1});
  roi.model.graph.inputs[0].type->shape = format::ToShape(format::Dims{1, 1, 4, 4});
  EXPECT_EQ(Moved(roi, 16).graph.nodes[0].StringOr("coordinate_transformation_mode", ""),
            "output_half_pixel");
  roi.model.opset_imports[0].version = 16;
  EXPECT_THAT(Refusal(roi, 10), HasSubstr("is 'half_pixel'; before opset 16"));
}

TEST(ToOpset, DropsWhatCameAndSaysNothing) {
  const auto kernel = Attribute::Ints("kernel_shape", {2});
  const OneNode ones(19, "AveragePool", {kernel, Attribute::Ints("dilations", {1})});
  EXPECT_EQ(Moved(ones, 10).graph.nodes[0].attributes.size(), 1U);
  const OneNode two(19, "AveragePool", {kernel, Attribute::Ints("dilations", {2})});
  EXPECT_EQ(Refusal(two, 18),
            "node 'y_node' (AveragePool): attribute 'dilations': says what a node says only since "
            "opset 19");
}

// Found by ONNX Runtime, whose mask of opset 10 is all false.
TEST(ToOpset, RefusesTheMaskOfADropoutThatDoesNotTrain) {
  OneNode maker(13, "Dropout");
  EXPECT_EQ(Refusal(maker, 10), "");
  maker.model.graph.nodes[0].outputs.emplace_back("mask");
  EXPECT_THAT(Refusal(maker, 10), HasSubstr("the mask is all true since opset 12"));
}

TEST(ToOpset, MakesASliceOfAPartOfAShape) {
  const format::Model moved = Moved(OneNode(15, "Shape", {Attribute::Int("start", 1)}), 9);
  EXPECT_THAT(OpTypes(moved), ElementsAre("Shape", "Slice"));
  EXPECT_EQ(moved.graph.nodes[1].Find("starts")->ints, std::vector<std::int64_t>{1});
  EXPECT_TRUE(moved.graph.initializers.empty());
}

TEST(ToOpset, NamesWhatTheOtherOpsetDoesNotHave) {
  EXPECT_EQ(Refusal(OneNode(20, "Gelu"), 19), "node 'y_node' (Gelu): is there only since opset 20");
  EXPECT_EQ(Refusal(OneNode(20, "Gelu"), 6), "opset 6: expected 7 to 28");
  EXPECT_EQ(Refusal(OneNode(6, "Add", {}, {"x", "x"}), 13),
            "node 'y_node' (Add): changed in opset 7, expected at least 7");
  OneNode half(13, "Erf");
  half.model.graph.inputs[0].type->elem_type = ElementType::kBfloat16;
  EXPECT_THAT(Refusal(half, 9), HasSubstr("input[0] 'x': opset 9: found type BFLOAT16"));
  const OneNode wrap(19, "Pad", {Attribute::String("mode", "wrap")}, {"x", "pads"});
  EXPECT_THAT(Refusal(wrap, 18), HasSubstr("found 'wrap', which is there only since opset 19"));
}

// y = If(c), whose branches compute t from x, which they capture, by the one operator.
OneNode Branches(std::int64_t opset, const std::string& op_type,
                 const std::vector<Attribute>& attributes = {}) {
  std::vector<Attribute> bodies;
  for (const char* name : {"then_branch", "else_branch"}) {
    OnnxMaker body;
    body.Node(op_type, {"x"}, {"t"}).attributes = attributes;
    body.model.graph.outputs.emplace_back().name = "t";
    Attribute& attribute = bodies.emplace_back();
    attribute.name = name;
    attribute.type = format::AttributeType::kGraph;
    attribute.graphs = {body.model.graph};
  }
  OneNode maker(opset, "If", bodies, {"c"});
  maker.model.graph.inputs.push_back(OnnxMaker::Value("c", ElementType::kBool, {}));
  return maker;
}

// Axes of Unsqueeze are an input since opset 13. A name that one body takes no other has.
TEST(ToOpset, MovesTheNodesOfBodies) {
  OneNode maker = Branches(12, "Unsqueeze", {Attribute::Ints("axes", {0})});
  const format::Model moved = Moved(maker, 13);
  EXPECT_TRUE(moved.graph.initializers.empty());
  ASSERT_EQ(moved.graph.nodes.size(), 1U);
  for (const std::size_t branch : {0U, 1U}) {
    const format::Graph& body = moved.graph.nodes[0].attributes[branch].graphs[0];
    const std::string axes = branch == 0 ? "t/axes" : "t/axes#2";
    EXPECT_THAT(body.nodes[0].inputs, ElementsAre("x", axes));
    EXPECT_TRUE(body.nodes[0].attributes.empty());
    ASSERT_EQ(body.initializers.size(), 1U);
    EXPECT_EQ(body.initializers[0].name, axes);
    EXPECT_THAT(format::UnpackIntegers(*format::Decode(body.initializers[0])), ElementsAre(0));
  }
  const format::Graph graph = maker.model.graph;
  maker.model = moved;
  EXPECT_EQ(Moved(maker, 12).graph, graph);
  EXPECT_EQ(Refusal(Branches(20, "Gelu"), 19),
            "node 'y_node.then_branch/t_node' (Gelu): is there only since opset 20");
}

TEST(ToOpset, LeavesOtherDomainsAndUnknownOperatorsAlone) {
  OneNode maker(11, "RequantShift");
  maker.Node("Squeeze", {"x"}, {"z"}).domain = "com.microsoft";
  EXPECT_EQ(Moved(maker, 13).graph, maker.model.graph);
}

// Since ir_version 4 an initializer need not be an input.
TEST(ToOpset, RaisesTheVersionOfAFileWhoseInitializersAreInputs) {
  OneNode maker(9, "Clip", {Attribute::Float("min", 0)});
  maker.model.ir_version = 3;
  EXPECT_EQ(Moved(maker, 13).ir_version, 4);
  EXPECT_EQ(Moved(maker, 10).ir_version, 3);
}

TEST(MeansTheSame, IsTrueOfAFormThatBothHave) {
  const auto node = [](const OneNode& maker) { return maker.model.graph.nodes[0]; };
  EXPECT_TRUE(MeansTheSame(node(OneNode(13, "Abs")), 13, 28));
  EXPECT_TRUE(MeansTheSame(node(OneNode(13, "ReduceMean")), 13, 18));
  EXPECT_FALSE(MeansTheSame(node(OneNode(13, "Softmax")), 13, 12));
  EXPECT_FALSE(MeansTheSame(node(OneNode(17, "Split")), 17, 18));
  EXPECT_FALSE(MeansTheSame(node(OneNode(20, "Gelu")), 20, 19));
  EXPECT_FALSE(
      MeansTheSame(node(OneNode(17, "ReduceMean", {Attribute::Ints("axes", {1})})), 17, 18));
}

}  // namespace
}  // namespace qtx::convert::opset_test
