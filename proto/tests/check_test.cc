// One test per rule of the checker: a model that breaks only it.
#include "qtx/format/check.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <map>

#include "qtx/format/annotation.h"

namespace qtx::format {
namespace {

using enum ElementType;

ValueInfo Value(std::string name, ElementType type, Dims dims, float scale,
                std::int32_t offset = 0) {
  ValueInfo value;
  value.name = std::move(name);
  value.type = TensorType{};
  value.type->elem_type = type;
  value.type->shape = ToShape(dims);
  value.type->quantization = Quantization();
  value.type->quantization->scale = {scale};
  value.type->quantization->offset = {offset};
  return value;
}

Node MakeNode(std::string op_type, std::vector<std::string> inputs, std::string output) {
  Node node;
  node.op_type = std::move(op_type);
  node.inputs = std::move(inputs);
  node.outputs = {std::move(output)};
  return node;
}

// x [2,4] times w [4,3], per channel, gives y [2,3].
Model Conforming() {
  Model model;
  model.ir_version = 8;
  model.opset_imports = {{"", 17}, {"qtx", 1}};
  Graph& graph = model.graph;
  graph.inputs = {Value("x", kInt8Q, {2, 4}, 0.5F, 3)};
  graph.outputs = {Value("y", kInt8Q, {2, 3}, 2.0F)};
  graph.values = {Value("w", kInt8Q, {4, 3}, 0.25F)};
  graph.values[0].type->quantization->scale = {0.25F, 0.5F, 1.0F};
  graph.values[0].type->quantization->offset = {};
  graph.values[0].type->quantization->axis = {1};
  graph.initializers = {ToTensorData("w", *MakeTensor(kInt8, {4, 3}))};
  graph.nodes = {MakeNode("MatMul", {"x", "w"}, "y")};
  return model;
}

struct Parts {  // the places that tests change
  Model& model;
  TensorType& x = *model.graph.inputs[0].type;
  TensorType& y = *model.graph.outputs[0].type;
  TensorType& w = *model.graph.values[0].type;
};

Statistics Measured() {
  Statistics statistics;
  statistics.min = {-1};
  statistics.max = {2};
  statistics.mean = {0.5};
  statistics.std = {1};
  statistics.count = 6;
  statistics.histogram =
      Histogram{.lower = -1, .upper = 2, .counts = {1, 2}, .below = 1, .above = 2};
  return statistics;
}

// 0.5 * 0.25 / 2 = 2^-4 = 2^30 * 2^-31 * 2^-3, and the two channels after it twice as much each.
Requantization Fixed() { return {.multiplier = {1 << 30, 1 << 30, 1 << 30}, .shift = {3, 2, 1}}; }

struct Broken {
  const char* rule;
  const char* where;  // part of the place
  std::function<void(Parts)> edit;
};

const Broken kBroken[] = {
    {"element_types.C1", "elem_type",
     [](Parts p) { p.x.elem_type = static_cast<ElementType>(1007); }},
    {"element_types.C2", "quantization", [](Parts p) { p.x.quantization.reset(); }},
    {"element_types.C3", "quantization", [](Parts p) { p.x.elem_type = kInt8; }},
    {"element_types.C4", "initializer[0] 'w'",
     [](Parts p) {
       p.model.graph.initializers[0] = ToTensorData("w", *MakeTensor(kUint8, {4, 3}));
     }},
    {"element_types.C4", "initializer[0] 'w'",
     [](Parts p) {
       p.model.graph.initializers[0] = ToTensorData("w", *MakeTensor(kInt8, {3, 4}));
     }},
    {"element_types.C5", "initializer[0] 'w' [0]",
     [](Parts p) { p.w.quantization->quant_min = 1; }},
    {"shape.C1", "shape", [](Parts p) { (*p.x.shape)[0].value = -2; }},
    {"shape.C2", "shape", [](Parts p) { p.x.shape = ToShape(Dims(17, 1)); }},
    {"shape.C3", "shape",
     [](Parts p) {
       p.x.quantization->axis = {0};
       (*p.x.shape)[0] = {.value = std::nullopt, .symbol = "N"};
     }},
    {"shape.C4", "shape", [](Parts p) { (*p.w.shape)[0].value.reset(); }},
    {"quantization.C1", "quantization.scale", [](Parts p) { p.x.quantization->scale.clear(); }},
    {"quantization.C1", "quantization.scale",
     [](Parts p) { p.x.quantization->scale_tensor = "w"; }},
    {"quantization.C1", "quantization.offset",
     [](Parts p) { p.x.quantization->offset_tensor = "w"; }},
    {"quantization.C2", "quantization.scale[0]", [](Parts p) { p.x.quantization->scale = {0.0F}; }},
    {"quantization.C2", "quantization.scale[0]",
     [](Parts p) { p.x.quantization->scale = {std::numeric_limits<float>::infinity()}; }},
    {"quantization.C2", "quantization.scale[0]",
     [](Parts p) { p.x.quantization->scale = {std::numeric_limits<float>::quiet_NaN()}; }},
    {"quantization.C3", "quantization.scale", [](Parts p) { p.y.quantization->axis = {1}; }},
    {"quantization.C4", "quantization.offset",
     [](Parts p) {
       p.x.quantization->offset = {0, 0};
     }},
    {"quantization.C5", "quantization.offset[0]",
     [](Parts p) { p.x.quantization->offset = {128}; }},
    {"quantization.C6", "quantization.offset", [](Parts p) { p.x.elem_type = kFloat8E4M3FNQ; }},
    {"quantization.C7", "quantization.axis", [](Parts p) { p.x.quantization->axis = {2}; }},
    {"quantization.C7", "quantization.axis",
     [](Parts p) {
       p.x.quantization->axis = {0, 0};
     }},
    {"quantization.C8", "quantization.block_shape",
     [](Parts p) { p.x.quantization->block_shape = {2}; }},
    {"quantization.C8", "quantization.block_shape",
     [](Parts p) {
       p.x.quantization->axis = {1};
       p.x.quantization->block_shape = {0};
     }},
    {"quantization.C9", "quantization.quant_min",
     [](Parts p) { p.x.quantization->quant_max = 128; }},
    {"quantization.C9", "quantization.quant_min",
     [](Parts p) {
       p.x.quantization->quant_min = 5;
       p.x.quantization->quant_max = 4;
     }},
    {"quantization.C10", "quantization.offset",
     [](Parts p) { p.x.quantization->scheme = Scheme::kSymmetric; }},
    {"quantization.C10", "quantization.scale",
     [](Parts p) {
       p.x.quantization->scheme = Scheme::kAsymmetricPow2;
       p.x.quantization->scale = {0.75F};
     }},
    {"quantization.C10", "quantization.offset",
     [](Parts p) { p.x.quantization->scheme = Scheme::kSymmetricUint8; }},
    {"quantization.C11", "quantization",
     [](Parts p) {
       p.x.quantization->scale.clear();
       p.x.quantization->scale_tensor = "nowhere";
     }},
    {"quantization.C12", "quantization.storage_type",
     [](Parts p) { p.x.quantization->storage_type = kInt8; }},
    {"quantization.C12", "quantization.storage_type", [](Parts p) { p.x.elem_type = kFloat; }},
    {"requantization.C1", "quantization.requantization",
     [](Parts p) {
       p.y.quantization->requantization = Fixed();
       p.y.quantization->requantization->shift.pop_back();
     }},
    {"requantization.C2", "quantization.requantization[1]",
     [](Parts p) {
       p.y.quantization->requantization = Fixed();
       p.y.quantization->requantization->multiplier[1] = (1 << 30) - 1;
     }},
    {"requantization.C3", "quantization.requantization.multiplier[2]",
     [](Parts p) {
       p.y.quantization->requantization = Fixed();
       p.y.quantization->requantization->shift[2] = 2;
     }},
    {"statistics.C1", "statistics.max",
     [](Parts p) {
       p.x.statistics = Measured();
       p.x.statistics->max = {2, 2};
     }},
    {"statistics.C2", "statistics.min",
     [](Parts p) {
       p.x.statistics = Measured();
       p.x.statistics->min = {3};
     }},
    {"statistics.C2", "statistics.mean",
     [](Parts p) {
       p.x.statistics = Measured();
       p.x.statistics->mean = {-2};
     }},
    {"statistics.C2", "statistics.std",
     [](Parts p) {
       p.x.statistics = Measured();
       p.x.statistics->std = {-1};
     }},
    {"statistics.C3", "statistics.axis",
     [](Parts p) {
       p.x.statistics = Measured();
       p.x.statistics->axis = {2};
     }},
    {"statistics.C4", "statistics.histogram",
     [](Parts p) {
       p.x.statistics = Measured();
       p.x.statistics->histogram->above = 3;
     }},
    {"statistics.C4", "statistics.histogram",
     [](Parts p) {
       p.x.statistics = Measured();
       p.x.statistics->histogram->upper = -1;
     }},
    {"statistics.C5", "statistics",
     [](Parts p) {
       p.x.quantization.reset();
       p.x.elem_type = kInt64;
       p.x.statistics = Measured();
     }},
    {"statistics.C6", "statistics.moments",
     [](Parts p) {
       p.x.statistics = Measured();
       p.x.statistics->moments.resize(2);
     }},
    {"statistics.C6", "statistics.moments",
     [](Parts p) {  // 2 = 1 * 2^1
       p.x.statistics = Measured();
       p.x.statistics->moments = {{.count = 1, .sum = {.exponent = 0, .integer = "\x02"}}};
     }},
    {"statistics.C6", "statistics.moments",
     [](Parts p) {  // -1 in two bytes
       p.x.statistics = Measured();
       p.x.statistics->moments = {{.count = 1, .sum = {.exponent = 0, .integer = "\xff\xff"}}};
     }},
    {"origin.C1", "origin",
     [](Parts p) { p.model.graph.nodes[0].origin = Origin{.framework = "tflite"}; }},
    {"origin.C2", "origin",
     [](Parts p) {
       Origin origin{.group = "g", .framework = "tflite", .op_type = "A"};
       p.model.graph.nodes[0].origin = origin;
       p.model.graph.nodes.push_back(MakeNode("Relu", {"y"}, "z"));
       origin.op_type = "B";
       p.model.graph.nodes[1].origin = origin;
     }},
    {"versioning.C1", "opset_import", [](Parts p) { p.model.opset_imports.pop_back(); }},
    {"versioning.C2", "opset_import", [](Parts p) { p.model.opset_imports[1].version = 2; }},
    {"lowering.C1", "metadata_props 'qtx.annotations'",
     [](Parts p) {
       p.model.metadata = {{std::string(kDigestKey), "3:0123456789abcdef"}};
     }},
    {"graph.C1", "node[1]",
     [](Parts p) {
       p.model.graph.nodes.push_back(MakeNode("MatMul", {"x", "w"}, "y"));
     }},
    {"graph.C1", "value_info[1] 'x'",
     [](Parts p) {
       p.model.graph.values.push_back(Value("x", kUint8Q, {2, 4}, 1));
     }},
    {"graph.C2", "node[0]", [](Parts p) { p.model.graph.nodes[0].inputs[0] = "later"; }},
    {"graph.C3", "output[1] 'z'",
     [](Parts p) { p.model.graph.outputs.push_back(Value("z", kInt8Q, {1}, 1)); }},
};

TEST(Check, FindsNothingInAConformingModel) {
  Model model = Conforming();
  Parts parts{model};
  EXPECT_TRUE(Check(model).empty());
  parts.x.statistics = Measured();
  parts.y.quantization->requantization = Fixed();
  const auto findings = Check(model);
  EXPECT_TRUE(findings.empty()) << findings[0].rule << " " << findings[0].message;
}

TEST(Check, FindsTheOneRuleThatIsBroken) {
  for (const Broken& broken : kBroken) {
    Model model = Conforming();
    broken.edit(Parts{model});
    const auto findings = Check(model, "file.onnx");
    ASSERT_EQ(findings.size(), 1U) << broken.rule << (findings.size() > 1 ? findings[1].rule : "");
    EXPECT_EQ(findings[0].rule, broken.rule) << findings[0].where << " " << findings[0].message;
    EXPECT_TRUE(findings[0].where.starts_with("file.onnx: ")) << findings[0].where;
    EXPECT_NE(findings[0].where.find(broken.where), std::string::npos) << findings[0].where;
  }
}

TEST(Check, HasAModelHereThatBreaksEachOfItsRules) {
  std::map<std::string, int> broken;
  for (const Broken& b : kBroken) ++broken[b.rule];
  for (const std::string& rule : CheckedRules()) EXPECT_EQ(broken.count(rule), 1U) << rule;
  EXPECT_EQ(broken.size(), CheckedRules().size());
}

}  // namespace
}  // namespace qtx::format
