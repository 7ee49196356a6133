#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "qtx/conformance/case.h"
#include "qtx/conformance/proposal_examples.h"

namespace qtx::conformance {
namespace {

using format::ElementType;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kAdd = R"(
id: add/tie
spec: add.S2
why: a tie goes to even
op: {type: Add, attributes: {axis: 1, alpha: 1.0, mode: 'x', pads: [0, 1], to: int8q}}
inputs:
  a: {type: int8q, scale: [1.0], data: [2, -2]}
  b: {type: int4q, shape: [1, 2], scale: 0x1p-1, offset: 3, quant_min: -7, data: [-8, 7], initializer: true}
  c: none
expect: {y: {type: int8q, scale: [2.0], offset: [3], data: [5, 1]}}
arithmetics: [exact, float32]
tolerance: {ulp: 4}
either: [{data: [4, 1], because: add.S3}]
tags: [rounding]
)";

std::vector<Case> Parse(std::string_view yaml) {
  auto cases = ParseCases(yaml, "f.yaml");
  EXPECT_TRUE(cases.has_value()) << cases.error().where << ": " << cases.error().message;
  return cases ? *cases : std::vector<Case>{};
}

std::string ErrorText(const std::string& yaml) {
  const auto cases = ParseCases(yaml, "f.yaml");
  return cases ? "no error" : cases.error().where + ": " + cases.error().message;
}

// The case above with one piece of its text replaced.
std::string Changed(std::string_view from, std::string_view to) {
  std::string text(kAdd);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST(ParseCases, ReadsEveryKey) {
  const std::vector<Case> cases = Parse(kAdd);
  ASSERT_EQ(cases.size(), 1U);
  const Case& c = cases[0];
  EXPECT_EQ(c.id, "add/tie");
  EXPECT_EQ(c.where, "f.yaml:2");
  EXPECT_EQ(c.op->type, "Add");
  EXPECT_EQ(c.op->opset, 17);
  ASSERT_EQ(c.op->attributes.size(), 5U);
  EXPECT_EQ(c.op->attributes[0], format::Attribute::Int("axis", 1));
  EXPECT_EQ(c.op->attributes[1], format::Attribute::Float("alpha", 1.0F));
  EXPECT_EQ(c.op->attributes[2], format::Attribute::String("mode", "x"));
  EXPECT_EQ(c.op->attributes[3], format::Attribute::Ints("pads", {0, 1}));
  EXPECT_EQ(c.op->attributes[4], format::Attribute::Int("to", 1003));
  EXPECT_THAT(c.arithmetics, ElementsAre("exact", "float32"));
  EXPECT_EQ(c.ulp, 4);
  EXPECT_EQ(c.level, "core");
  ASSERT_EQ(c.alternatives.size(), 1U);
  EXPECT_EQ(c.alternatives[0].output, "y");
  EXPECT_THAT(format::UnpackIntegers(c.alternatives[0].data), ElementsAre(4, 1));
}

TEST(ParseCases, ReadsTypedValues) {
  const std::vector<Case> cases = Parse(kAdd);
  ASSERT_EQ(cases.size(), 1U);
  ASSERT_EQ(cases[0].inputs.size(), 3U);
  const CaseValue& b = cases[0].inputs[1];
  EXPECT_EQ(b.type.elem_type, ElementType::kInt4Q);
  EXPECT_TRUE(b.initializer);
  EXPECT_THAT(b.type.quantization->scale, ElementsAre(0.5F));
  EXPECT_THAT(b.type.quantization->offset, ElementsAre(3));
  EXPECT_EQ(b.type.quantization->quant_min, -7);
  EXPECT_EQ(b.data->dims, (format::Dims{1, 2}));
  // -8 in the low nibble, 7 in the high one.
  EXPECT_THAT(b.data->bytes, ElementsAre(std::byte{0x78}));
  EXPECT_TRUE(cases[0].inputs[2].absent);
  EXPECT_EQ(cases[0].outputs[0].data->dims, (format::Dims{2}));
}

TEST(ParseCases, PacksBipolarData) {
  const auto cases = Parse(Changed("{type: int8q, scale: [1.0], data: [2, -2]}",
                                   "{type: bipolar1q, scale: [1.0], data: [1, -1, 1]}"));
  ASSERT_EQ(cases.size(), 1U);
  EXPECT_THAT(cases[0].inputs[0].data->bytes, ElementsAre(std::byte{0b101}));
}

TEST(ParseCases, EncodesInfinitiesWhereThereAreSome) {
  for (const char* type : {"float16", "bfloat16", "float8e5m2"}) {
    const auto cases = Parse(Changed("{type: int8q, scale: [1.0], data: [2, -2]}",
                                     std::string("{type: ") + type + ", data: [inf, -inf]}"));
    ASSERT_EQ(cases.size(), 1U) << type;
    EXPECT_THAT(format::StoredValues(*cases[0].inputs[0].data), ElementsAre(INFINITY, -INFINITY));
  }
  EXPECT_THAT(ErrorText(Changed("{type: int8q, scale: [1.0], data: [2, -2]}",
                                "{type: float8e4m3fn, data: [inf]}")),
              HasSubstr("cannot represent"));
}

TEST(ParseCases, EncodesSmallFloatsThatAreRepresentable) {
  const auto cases = Parse(Changed("{type: int8q, scale: [1.0], data: [2, -2]}",
                                   "{type: float16, data: [1.0, -0.5, nan]}"));
  ASSERT_EQ(cases.size(), 1U);
  EXPECT_THAT(format::StoredValues(*cases[0].inputs[0].data),
              ElementsAre(1.0, -0.5, testing::IsNan()));
  EXPECT_THAT(ErrorText(Changed("{type: int8q, scale: [1.0], data: [2, -2]}",
                                "{type: float8e4m3fn, data: [0.3]}")),
              HasSubstr("cannot represent"));
}

TEST(ParseCases, ReadsTheOriginOfTheNode) {
  const auto cases = Parse(
      "{id: q/r, spec: q.S1, why: w, op: {type: Identity, origin: tflite/RSQRT, origin_attributes: "
      "{n: 3}},"
      " inputs: {x: {type: float, data: [1.0]}}, expect: {y: {type: float, data: [1.0]}},"
      " derivation: d}");
  ASSERT_EQ(cases.size(), 1U);
  ASSERT_TRUE(cases[0].op->origin.has_value());
  EXPECT_EQ(cases[0].op->origin->framework, "tflite");
  EXPECT_EQ(cases[0].op->origin->op_type, "RSQRT");
  ASSERT_EQ(cases[0].op->origin->attributes.size(), 1U);
  EXPECT_EQ(cases[0].op->origin->attributes[0], format::Attribute::Int("n", 3));
}

TEST(ParseCases, ReadsWhatOnlyFormatCasesWrite) {
  const auto cases = Parse(
      "{id: q/r, spec: q.C1, why: w, op: {type: Identity},"
      " inputs: {x: {type: float, shape: [N, '?'], storage_type: int8, scheme: symmetric_pow2,"
      "   requantization: {multiplier: [1073741824], shift: [-1]}, scale_tensor: s,"
      "   statistics: {min: [-1], max: 1, count: 3, histogram: {lower: 0, upper: 1, counts: [3]}},"
      "   generate: {kind: ramp}}},"
      " initializers: {s: {type: float, data: [1.0]}}, expect: {error: q.C1}}");
  ASSERT_EQ(cases.size(), 1U);
  const format::TensorType& type = cases[0].inputs[0].type;
  EXPECT_EQ((*type.shape)[0].symbol, "N");
  EXPECT_EQ((*type.shape)[1], format::Dimension());
  EXPECT_EQ(type.quantization->storage_type, ElementType::kInt8);
  EXPECT_EQ(type.quantization->scheme, format::Scheme::kSymmetricPow2);
  EXPECT_THAT(type.quantization->requantization->shift, ElementsAre(-1));
  EXPECT_EQ(type.statistics->histogram->counts.size(), 1U);
  EXPECT_TRUE(cases[0].initializers[0].initializer);
  EXPECT_EQ(cases[0].error, "q.C1");
}

TEST(ParseCases, RefusesComplexElements) {
  EXPECT_THAT(
      ErrorText(Changed("type: int8q, scale: [1.0], data: [2, -2]", "type: complex64, data: [1]")),
      HasSubstr("cannot hold elements of type COMPLEX64"));
}

TEST(ParseCases, NamesFileLineKeyAndExpectation) {
  EXPECT_THAT(ErrorText(Changed("why:", "whyy:")),
              HasSubstr("f.yaml:4: unknown key 'whyy', expected one of id, spec, why"));
  EXPECT_THAT(ErrorText(Changed("scale: [2.0]", "scael: [2.0]")),
              HasSubstr("f.yaml:10: add/tie.expect.y: unknown key 'scael'"));
  EXPECT_THAT(ErrorText(Changed("data: [2, -2]", "data: [2, -200]")),
              HasSubstr("f.yaml:7: add/tie.inputs.a.data.1: found -200, expected -128 to 127"));
  EXPECT_THAT(ErrorText(Changed("shape: [1, 2]", "shape: [3]")), HasSubstr("found 2 values"));
  EXPECT_THAT(ErrorText(Changed("type: int4q", "type: int3q")), HasSubstr("'int3q'"));
  EXPECT_THAT(ErrorText(Changed("{ulp: 4}", "{ulp: -1}")), HasSubstr("at least 0"));
  EXPECT_THAT(ErrorText(Changed("because: add.S3", "becuase: x")), HasSubstr("becuase"));
}

TEST(ParseCases, RefusesAnIncompleteCase) {
  EXPECT_THAT(ErrorText("{id: a, spec: b.S1}"), HasSubstr("missing key 'why'"));
  EXPECT_THAT(ErrorText("{id: a, spec: b.S1, why: w, expect: {y: {}}}"),
              HasSubstr("one of the keys op, nodes, model and test_data"));
  EXPECT_THAT(ErrorText("{id: a, spec: b.S1, why: w, op: {type: Add}}"), HasSubstr("'expect'"));
  EXPECT_THAT(ErrorText(Changed(", data: [2, -2]", "")), HasSubstr("data, generate and file"));
  EXPECT_THAT(ErrorText(Changed("data: [2, -2]", "data: [1], file: x.npy")), HasSubstr("several"));
  EXPECT_THAT(ErrorText(Changed("data: [2, -2]", "generate: {kind: ramp}")), HasSubstr("shape"));
  EXPECT_THAT(ErrorText("just text"), HasSubstr("expected a map"));
}

TEST(ParseCases, RefusesShapesThatNoMachineCanHold) {
  EXPECT_NE(ErrorText(Changed("shape: [1, 2]", "shape: [4294967296, 4294967296]")), "no error");
  EXPECT_NE(ErrorText(Changed("shape: [1, 2]", "shape: [-1, -2]")), "no error");
}

TEST(ParseCases, CountsLinesFromTheOneGiven) {
  const auto cases = ParseCases("id: x\nnonsense: 1\n", "add.md", 4);
  ASSERT_FALSE(cases.has_value());
  EXPECT_THAT(cases.error().where, HasSubstr("add.md:5"));
}

constexpr std::string_view kFormula =
    "spec: abs.S1\nop: {type: Abs}\ninputs: {x: {type: int8q, scale: [1.0]}}\n"
    "expect: {y: {type: int8q, scale: [1.0]}}\n";

TEST(ParseFormulaCases, NeedNoIdAndNoData) {
  const auto cases = ParseFormulaCases(kFormula, "abs.md", 7);
  ASSERT_TRUE(cases.has_value()) << cases.error().where << cases.error().message;
  ASSERT_EQ(cases->size(), 1U);
  EXPECT_EQ(cases->front().spec, "abs.S1");
  EXPECT_EQ(cases->front().where, "abs.md:7");
  EXPECT_FALSE(cases->front().inputs[0].data.has_value());
}

std::string FormulaError(const std::string& more) {
  const auto cases = ParseFormulaCases(std::string(kFormula) + more, "abs.md");
  return cases.has_value() ? "no error" : cases.error().where + ": " + cases.error().message;
}

TEST(ParseFormulaCases, RefuseWhatTheFormulaSays) {
  EXPECT_EQ(FormulaError("id: a\n"), "abs.md:5: id: a formula has no id");
  EXPECT_EQ(FormulaError("why: a\n"), "abs.md:5: why: a formula has no why");
  EXPECT_THAT(FormulaError("---\nnonsense\n"), HasSubstr("expected a map"));
  EXPECT_THAT(FormulaError("---\nspec: abs.S1\nop: {type: Abs}\nexpect: {error: abs.C1}\n"),
              HasSubstr("expected the types of outputs"));
  EXPECT_THAT(
      FormulaError("---\nspec: abs.S1\nop: {type: Abs}\nexpect: {y: {type: float, data: [1.0]}}\n"),
      HasSubstr("the formula gives the data"));
}

TEST(ParseCases, KnowsTheFiveLevels) {
  for (const std::string_view level : kLevels) {
    EXPECT_EQ(Parse(Changed("tags:", "level: " + std::string(level) + "\ntags:"))[0].level, level);
  }
  EXPECT_EQ(
      ErrorText(Changed("tags:", "level: extended\ntags:")),
      "f.yaml:14: level: found 'extended', expected one of core, vision, transformer, subbyte, "
      "scaled-float");
}

TEST(ParseCases, ListsTheElementTypesForOneItDoesNotKnow) {
  const std::string error = ErrorText(Changed("type: int4q", "type: int5q"));
  EXPECT_THAT(error, HasSubstr("found 'int5q', expected one of FLOAT, UINT8, INT8"));
  EXPECT_THAT(error, HasSubstr("INT2Q, BIPOLAR1Q"));
}

TEST(ParseCases, TakesATolerantComparisonOnlyWithItsReason) {
  const Case c = Parse(
      Changed("{ulp: 4}",
              "{relative: 1e-3, absolute: 0x1p-20, because: the tolerance of ONNX's runner}"))[0];
  ASSERT_TRUE(c.close.has_value());
  EXPECT_EQ(c.close->relative, 1e-3);
  EXPECT_EQ(c.close->absolute, 0x1p-20);
  EXPECT_FALSE(c.ulp.has_value());
  for (const char* bad :
       {"{relative: 1e-3, absolute: 1e-7}", "{relative: 1e-3, because: x}", "{}",
        "{relative: -1, absolute: 0, because: x}", "{relative: nan, absolute: 0, because: x}",
        "{relative: 2, absolute: 0, because: x}", "{ulp: 1, because: x}",
        "{relative: 0, absolute: 0, because: ''}"}) {
    EXPECT_THAT(ErrorText(Changed("{ulp: 4}", bad)), HasSubstr("f.yaml:12: add/tie.tolerance"))
        << bad;
  }
}

TEST(ParseCases, TakesAFolderOfTestDataInsteadOfValues) {
  const Case c = Parse("{id: a, spec: b.S1, why: w, test_data: x/y}")[0];
  EXPECT_EQ(c.test_data, "x/y");
  EXPECT_THAT(ErrorText("{id: a, spec: b.S1, why: w, test_data: x, expect: {y: {}}}"),
              HasSubstr("a.expect: test_data gives the values"));
  EXPECT_THAT(ErrorText("{id: a, spec: b.S1, why: w, test_data: x, model: y}"),
              HasSubstr("one of the keys"));
}

TEST(ParseCases, GeneratesScalesBetweenTheEndsOfBinary32) {
  const Case c =
      Parse(Changed("scale: 0x1p-1, offset: 3",
                    "scale: {generate: {kind: extreme, seed: 3, count: 4}}, axis: 1"))[0];
  EXPECT_THAT(c.inputs[1].type.quantization->scale,
              ElementsAre(0x1p-51F, 0x1.6f332cp+93F, 0x1p-149F, 0x1.fffffep+127F));
  for (const char* bad : {"{kind: normal}", "{kind: extreme, count: 0}", "{seed: 1}",
                          "{kind: extreme, count: 1000000}", "{kind: extreme, axis: 1}"}) {
    EXPECT_THAT(ErrorText(Changed("scale: 0x1p-1", "scale: {generate: " + std::string(bad) + "}")),
                HasSubstr("scale"))
        << bad;
  }
}

// Relu, then Add of its result to itself: -3 and 4 become 0 and 8.
TEST(ParseCases, BuildsAModelOfSeveralNodes) {
  const std::string text =
      "{id: a/b, spec: b.S1, why: w, nodes: [{op: {type: Relu}, inputs: [x], outputs: [t]}, {op: "
      "{type: Add}, inputs: [t, t], outputs: [y]}], values: {t: {type: int8q, scale: 1.0}}, "
      "inputs: {x: {type: int8q, scale: 1.0, data: [-3, 4]}}, "
      "expect: {y: {type: int8q, scale: 1.0, data: [0, 8]}}}";
  const Case c = Parse(text)[0];
  const auto model = BuildModel(c);
  ASSERT_TRUE(model.has_value());
  ASSERT_EQ(model->graph.nodes.size(), 2U);
  EXPECT_EQ(model->graph.nodes[0].op_type, "Relu");
  EXPECT_THAT(model->graph.nodes[1].inputs, ElementsAre("t", "t"));
  EXPECT_EQ(model->graph.values[0].name, "t");
  EXPECT_EQ(model->graph.outputs[0].name, "y");
}

TEST(ParseCases, RefusesNodesThatAreNone) {
  const auto nodes = [](const std::string& keys) {
    return ErrorText("{id: a/b, spec: b.S1, why: w, " + keys +
                     ", expect: {y: {type: int8q, scale: 1.0}}}");
  };
  EXPECT_THAT(nodes("nodes: []"), HasSubstr("a list of at least one node"));
  EXPECT_THAT(nodes("nodes: [{op: {type: A}, inputs: []}]"), HasSubstr("op, inputs and outputs"));
  EXPECT_THAT(nodes("nodes: [{op: {type: A, opset: 13}, inputs: [], outputs: [y]}, {op: {type: A}, "
                    "inputs: [y], outputs: [z]}]"),
              HasSubstr("one opset"));
  EXPECT_THAT(nodes("op: {type: A}, values: {t: {type: int8q}}"), HasSubstr("only beside nodes"));
  EXPECT_THAT(nodes("nodes: [{op: {type: A}, inputs: [], outputs: [y]}], values: {t: {type: int8q, "
                    "data: [1]}}"),
              HasSubstr("a type without data"));
}

constexpr std::string_view kLoop = R"(
id: graph/loop
spec: graph.S4
why: text
op:
  type: Loop
  opset: 20
  attributes:
    body:
      inputs: [i, before, v]
      outputs: [go, next]
      nodes:
        - {op: {type: Identity, opset: 20}, inputs: [before], outputs: [go]}
        - {op: {type: Add, opset: 20}, inputs: [v, k], outputs: [t]}
        - {op: {type: Neg, opset: 20}, inputs: [t], outputs: [next]}
      values: {v: {type: int8q, shape: [1], scale: [0.5]}, t: {type: int8q, shape: [1], scale: [0.25]}}
      initializers: {k: {type: uint4q, scale: [2.0], data: [15]}}
inputs:
  trips: {type: int64, shape: [], data: [3]}
  condition: none
  v: {type: int8q, scale: [0.5], data: [1]}
expect: {y: {type: int8q, shape: [1], scale: [0.5]}}
)";

TEST(ParseCases, BuildsBodies) {
  const std::vector<Case> cases = Parse(kLoop);
  ASSERT_EQ(cases.size(), 1U);
  const auto model = BuildModel(cases[0]);
  ASSERT_TRUE(model.has_value()) << model.error().message;
  ASSERT_EQ(model->graph.nodes[0].attributes.size(), 1U);
  const format::Attribute& attribute = model->graph.nodes[0].attributes[0];
  EXPECT_EQ(attribute.type, format::AttributeType::kGraph);
  ASSERT_EQ(attribute.graphs.size(), 1U);
  const format::Graph& body = attribute.graphs[0];
  ASSERT_EQ(body.inputs.size(), 3U);
  EXPECT_FALSE(body.inputs[0].type.has_value());
  ASSERT_TRUE(body.inputs[2].type.has_value());
  EXPECT_EQ(body.inputs[2].type->quantization->scale, std::vector<float>{0.5F});
  EXPECT_EQ(body.outputs[1].name, "next");
  EXPECT_EQ(body.nodes[1].inputs, (std::vector<std::string>{"v", "k"}));
  ASSERT_EQ(body.values.size(), 2U);
  EXPECT_EQ(body.values[0].name, "k");
  EXPECT_EQ(body.values[1].name, "t");
  ASSERT_EQ(body.initializers.size(), 1U);
}

TEST(ParseCases, RefusesBodiesThatAreNone) {
  const auto error = [](std::string_view from, std::string_view to) {
    std::string text(kLoop);
    return ErrorText(text.replace(text.find(from), from.size(), to));
  };
  EXPECT_THAT(error("  opset: 20\n", "  opset: 21\n"),
              HasSubstr("expected the opset of the node around the body"));
  EXPECT_THAT(error("data: [15]", "generate: {kind: zero}, shape: [1]"),
              HasSubstr("a constant of a body needs data"));
  EXPECT_THAT(error("shape: [1], scale: [0.25]", "scale: [0.25], data: [1]"),
              HasSubstr("expected a type without data"));
  EXPECT_THAT(error("outputs: [go, next]", "output: [go, next]"), HasSubstr("output"));
}

TEST(ParseCases, GivesAnAxisToSaturatingPairsOnly) {
  const auto generate = [](const std::string& generator) {
    return "{id: a, spec: b.S1, why: w, op: {type: A}, inputs: {x: {type: int8q, shape: [2, 2], "
           "generate: " +
           generator + "}}, expect: {y: {type: int8q}}}";
  };
  EXPECT_EQ(Parse(generate("{kind: saturating_pairs, axis: 0}"))[0].inputs[0].generator->axis, 0);
  EXPECT_THAT(ErrorText(generate("{kind: uniform, axis: 0}")), HasSubstr("only saturating_pairs"));
}

const std::string kExample =
    Changed("arithmetics:", "before: {error: quantization.C1}\narithmetics:");

TEST(ParseProposalExamples, ReadsWhatTheCurrentSpecMakesOfIt) {
  const auto cases = ParseProposalExamples(kExample, "f.yaml");
  ASSERT_TRUE(cases.has_value()) << cases.error().message;
  ASSERT_TRUE((*cases)[0].before.has_value());
  EXPECT_EQ((*cases)[0].before->error, "quantization.C1");
  EXPECT_TRUE((*cases)[0].before->outputs.empty());
  EXPECT_EQ((*cases)[0].outputs.size(), 1U);
  EXPECT_EQ((*cases)[0].error, "");
}

TEST(ParseProposalExamples, WantsTheKeyAndItsTypes) {
  const auto error = [](const std::string& yaml) {
    const auto cases = ParseProposalExamples(yaml, "f.yaml");
    return cases ? "no error" : cases.error().where + ": " + cases.error().message;
  };
  EXPECT_EQ(error(std::string(kAdd)), "f.yaml:2: add/tie: missing key 'before'");
  const std::string untyped = Changed("arithmetics:", "before: {y: {data: [1, 2]}}\narithmetics:");
  EXPECT_THAT(error(untyped), HasSubstr("before.y"));
  const std::string empty = Changed("arithmetics:", "before: {}\narithmetics:");
  EXPECT_THAT(error(empty), HasSubstr("expected at least one output, or an error"));
}

TEST(ParseCases, RefusesTheKeyOfProposals) {
  EXPECT_EQ(ErrorText(kExample),
            "f.yaml:11: add/tie.before: only an example of a proposal has this key");
}

TEST(ParseCases, ReadsWhatMustBeUnderstood) {
  const auto cases = Parse(Changed("scale: [1.0],", "scale: [1.0], must_understand: [2, 99],"));
  ASSERT_EQ(cases.size(), 1U);
  EXPECT_THAT(cases[0].inputs[0].type.quantization->must_understand, ElementsAre(2, 99));
}

}  // namespace
}  // namespace qtx::conformance
