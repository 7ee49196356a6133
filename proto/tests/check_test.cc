// One test per rule of the checker: a model that breaks only it.
#include "qtx/format/check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "qtx/format/annotation.h"
#include "qtx/format/encoding.h"
#include "qtx/format/levels.h"

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

// Of a type that is not quantized.
ValueInfo Plain(std::string name, ElementType type, Dims dims) {
  ValueInfo value = Value(std::move(name), type, std::move(dims), 1.0F);
  value.type->quantization.reset();
  return value;
}

// A branch that gives the scalar 1 as `name`.
Graph Constantly(const std::string& name, ElementType type) {
  Graph graph;
  graph.nodes = {MakeNode("Constant", {}, name)};
  graph.nodes[0].attributes = {type == kFloat ? Attribute::Float("value_float", 1)
                                              : Attribute::Int("value_int", 1)};
  graph.outputs = {Plain(name, type, {})};
  return graph;
}

// A FLOAT value that an If takes from one of the branches.
void AddChoice(Model& model, Graph then_branch, Graph else_branch) {
  model.graph.inputs.push_back(Plain("c", kBool, {}));
  model.graph.values.push_back(Plain("choice", kFloat, {}));
  Node& node = model.graph.nodes.emplace_back(MakeNode("If", {"c"}, "choice"));
  for (auto& [name, branch] :
       {std::pair("then_branch", &then_branch), std::pair("else_branch", &else_branch)}) {
    Attribute& attribute = node.attributes.emplace_back();
    attribute.name = name;
    attribute.type = AttributeType::kGraph;
    attribute.graphs.push_back(std::move(*branch));
  }
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

constexpr std::uint64_t kHalf = std::uint64_t{1} << 63;

// Another initializer, of two codes of 2 bits.
Quantization& AddBook(Model& model) {
  ValueInfo value = Value("codes", kUint2Q, {2}, 0.5F);
  value.type->quantization->offset = {};
  value.type->quantization->code_book = {-1.0F, 0.0F, 0.25F, 4.0F};
  model.graph.values.push_back(std::move(value));
  model.graph.initializers.push_back(ToTensorData("codes", *MakeTensor(kUint2, {2})));
  model.opset_imports[1].version = kCodeBooksVersion;
  return *model.graph.values.back().type->quantization;
}

// Another initializer, of one record: four codes of 4 bits and a factor of 8 for each two.
Quantization& AddRecord(Model& model) {
  ValueInfo value = Value("record", kUint4Q, {4}, 1.0F);
  Quantization& q = *value.type->quantization;
  q = Quantization();
  q.axis = {0};
  q.block_shape = {2};
  q.scale_levels.resize(1);
  Encoding& encoding = q.encoding.emplace();
  encoding.record_bytes = 4;
  encoding.record_shape = {4};
  encoding.fields.resize(2);
  encoding.fields[0].elem_type = kUint8;
  encoding.fields[0].bits.resize(1);
  encoding.fields[0].bits[0].width = 4;
  encoding.fields[0].bits[0].count = {4};
  encoding.fields[0].bits[0].stride = {4};
  encoding.fields[1] = encoding.fields[0];
  encoding.fields[1].role = EncodedRole::kScale;
  encoding.fields[1].bits[0].width = 8;
  encoding.fields[1].bits[0].record_bit = 16;
  encoding.fields[1].bits[0].count = {2};
  encoding.fields[1].bits[0].stride = {8};
  model.graph.values.push_back(std::move(value));
  Tensor bytes = *MakeTensor(kUint8, {4});
  bytes.bytes = {std::byte{0x21}, std::byte{0x43}, std::byte{1}, std::byte{2}};
  model.graph.initializers.push_back(ToTensorData("record", bytes));
  model.opset_imports[1].version = kEncodingVersion;
  return *model.graph.values.back().type->quantization;
}
BitSpan& CodesOf(Quantization& q) { return q.encoding->fields[0].bits[0]; }

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

// w in blocks of 2 along axis 0, with a factor for each in `fine`, one for each column above it,
// and a base for each column. Every rule holds.
TensorType Levelled(Model& model) {
  model.opset_imports[1].version = 2;
  Tensor fine = *MakeTensor(kUint8, {2, 3});
  PackInt32(std::vector<std::int32_t>{1, 2, 3, 4, 5, 63}, fine);
  model.graph.initializers.push_back(ToTensorData("fine", fine));
  TensorType w = *model.graph.values[0].type;
  Quantization& q = *w.quantization;
  q.scale.clear();
  q.axis = {0, 1};
  q.block_shape = {2, 1};
  q.scale_levels.resize(2);
  q.scale_levels[0].tensor = "fine";
  q.scale_levels[1].value = {0.25F, 0.5F, 1.0F};
  q.scale_levels[1].block_shape = {4, 1};
  q.base_levels.resize(1);
  q.base_levels[0].value = {-0.5F, 0.0F, 8.0F};
  q.base_levels[0].block_shape = {100, 1};
  return w;
}

// x with its offset in an initializer of `type`.
TensorType WithOffsets(Model& model, ElementType type, std::int64_t offset) {
  Tensor offsets = *MakeTensor(type, {1});
  PackIntegers(std::vector<std::int64_t>{offset}, offsets);
  model.graph.initializers.push_back(ToTensorData("offsets", offsets));
  TensorType x = *model.graph.inputs[0].type;
  x.quantization->offset.clear();
  x.quantization->offset_tensor = "offsets";
  return x;
}

// An INT32Q initializer whose greatest real is `stored` + 2^53 - 2^30.
void AddBased(Model& model, std::int64_t stored) {
  model.opset_imports[1].version = 2;
  ValueInfo based = Value("based", kInt32Q, {1}, 1);
  based.type->quantization->quant_min = 0;
  based.type->quantization->quant_max = stored;
  based.type->quantization->base_levels = {{.value = {0x1.fffffcp52F}}};
  model.graph.values.push_back(based);
  model.graph.initializers.push_back(ToTensorData("based", *MakeTensor(kInt32, {1})));
}

struct Broken {
  const char* rule;
  const char* where;  // part of the place
  std::function<void(Parts)> edit;
};

const Broken kBroken[] = {
    {"element_types.C1", "elem_type",
     [](Parts p) { p.x.elem_type = static_cast<ElementType>(1007); }},
    {"element_types.C2", "quantization", [](Parts p) { p.x.quantization.reset(); }},
    {"element_types.C3", "quantization",
     [](Parts p) {
       p.model.graph.inputs.push_back(Value("spare", kInt8Q, {1}, 1));
       p.model.graph.inputs.back().type->elem_type = kInt8;
     }},
    {"element_types.C4", "initializer[0] 'w'",
     [](Parts p) {
       p.model.graph.initializers[0] = ToTensorData("w", *MakeTensor(kUint8, {4, 3}));
     }},
    {"element_types.C4", "initializer[0] 'w'",
     [](Parts p) {
       p.model.graph.initializers[0] = ToTensorData("w", *MakeTensor(kInt8, {3, 4}));
     }},
    {"element_types.C4", "initializer[0] 'w'",
     [](Parts p) {  // 12 bits are two bytes along one axis, not along two
       p.w.elem_type = kBipolar1Q;
       p.model.graph.initializers[0] = ToTensorData("w", *MakeTensor(kUint8, {2, 1}));
     }},
    {"element_types.C5", "initializer[0] 'w' [0]",
     [](Parts p) { p.w.quantization->quant_min = 1; }},
    {"shape.C1", "shape", [](Parts p) { (*p.x.shape)[0].value = -2; }},
    {"shape.C2", "value_info[1] 'u'",
     [](Parts p) { p.model.graph.values.push_back(Value("u", kInt8Q, Dims(17, 1), 1.0F)); }},
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
    {"quantization.C2", "quantization.scale[1]",
     [](Parts p) { p.w.quantization->scale[1] = -std::numeric_limits<float>::infinity(); }},
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
    {"quantization.C9", "quantization.quant_min",
     [](Parts p) {
       p.x.elem_type = kBipolar1Q;
       p.x.quantization->offset.clear();
       p.x.quantization->quant_max = 0;
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
    {"quantization.C11", "quantization",
     [](Parts p) { p.x = WithOffsets(p.model, kUint32, std::int64_t{1} << 31); }},
    {"quantization.C11", "quantization", [](Parts p) { p.x = WithOffsets(p.model, kInt64, 3); }},
    {"quantization.C5", "quantization.offset[0]",
     [](Parts p) { p.x = WithOffsets(p.model, kUint32, 128); }},
    {"quantization.C12", "quantization.storage_type",
     [](Parts p) { p.x.quantization->storage_type = kInt8; }},
    {"quantization.C12", "quantization.storage_type", [](Parts p) { p.x.elem_type = kFloat; }},
    {"quantization.C22", "quantization.real_type",
     [](Parts p) {
       p.x.quantization->real_type = kDouble;
       p.model.opset_imports[1].version = 3;
     }},
    {"versioning.C3", "opset_import",
     [](Parts p) {
       p.x.quantization->real_type = kBfloat16;
       p.model.opset_imports[1].version = 2;
     }},
    {"quantization.C1", "quantization.scale",
     [](Parts p) { (p.w = Levelled(p.model)).quantization->scale = {1, 1, 1, 1, 1, 1}; }},
    {"quantization.C10", "quantization.base_levels",
     [](Parts p) { (p.w = Levelled(p.model)).quantization->scheme = Scheme::kSymmetric; }},
    {"quantization.C13", "quantization.scale_levels",
     [](Parts p) {
       p.w = Levelled(p.model);
       p.w.quantization->scale_levels.resize(5, p.w.quantization->scale_levels[1]);
     }},
    {"quantization.C13", "quantization.scale_levels[1].value",
     [](Parts p) { (p.w = Levelled(p.model)).quantization->scale_levels[1].value.pop_back(); }},
    {"quantization.C13", "quantization.base_levels[0]",
     [](Parts p) { (p.w = Levelled(p.model)).quantization->base_levels[0].tensor = "fine"; }},
    {"quantization.C13", "quantization.scale_levels[0].tensor",
     [](Parts p) {
       p.w = Levelled(p.model);
       p.model.graph.initializers[1] = ToTensorData("fine", *MakeTensor(kUint8, {5}));
     }},
    {"encoding.C1", "quantization.encoding",
     [](Parts p) {
       AddRecord(p.model);
       p.model.graph.initializers.pop_back();
       p.model.graph.inputs.push_back(p.model.graph.values.back());
       p.model.graph.values.pop_back();
     }},
    {"encoding.C2", "quantization.scale_levels[0]",
     [](Parts p) {
       AddRecord(p.model);
       p.model.graph.initializers.back() = ToTensorData("record", *MakeTensor(kUint8, {5}));
     }},
    {"encoding.C3", "quantization.encoding.record_bytes",
     [](Parts p) { AddRecord(p.model).encoding->record_bytes = 4097; }},
    {"encoding.C4", "quantization.encoding.record_shape[0]",
     [](Parts p) { AddRecord(p.model).encoding->record_shape = {3}; }},
    {"encoding.C5", "quantization.encoding.field[1].level",
     [](Parts p) { AddRecord(p.model).encoding->fields[1].level = 1; }},
    {"encoding.C6", "quantization.encoding.field[1]",
     [](Parts p) {
       Quantization& q = AddRecord(p.model);
       q.encoding->record_shape = {1};
       CodesOf(q).count = {1};
       p.model.graph.initializers.back() = ToTensorData("record", *MakeTensor(kUint8, {16}));
     }},
    {"encoding.C7", "quantization.encoding.field[0].elem_type",
     [](Parts p) { AddRecord(p.model).encoding->fields[0].elem_type = kFloat16; }},
    {"encoding.C8", "quantization.encoding.field[0].bits[0]",
     [](Parts p) { CodesOf(AddRecord(p.model)).count = {5}; }},
    {"encoding.C9", "quantization.encoding.field[0].bits[0]",
     [](Parts p) { CodesOf(AddRecord(p.model)).stride = {-4}; }},
    {"encoding.C10", "quantization.encoding.field[0]",
     [](Parts p) { CodesOf(AddRecord(p.model)).count = {3}; }},
    {"encoding.C11", "quantization.encoding.field[0]",
     [](Parts p) { AddRecord(p.model).encoding->fields[0].bias = 1; }},
    {"encoding.C12", "quantization.encoding.field[1]",
     [](Parts p) { AddRecord(p.model).encoding->fields[1].unknown_fields = "\x08\x03"; }},
    {"quantization.C14", "quantization.scale_levels[1].block_shape",
     [](Parts p) {
       (p.w = Levelled(p.model)).quantization->scale_levels[1].block_shape = {3, 1};
     }},
    {"quantization.C14", "quantization.scale_levels[0].block_shape",
     [](Parts p) {
       (p.w = Levelled(p.model)).quantization->scale_levels[0].block_shape = {4, 1};
     }},
    {"quantization.C14", "quantization.base_levels[0].block_shape",
     [](Parts p) { (p.w = Levelled(p.model)).quantization->base_levels[0].block_shape = {4}; }},
    {"quantization.C15", "quantization.scale_levels[0].tensor",
     [](Parts p) { (p.w = Levelled(p.model)).quantization->scale_levels[0].tensor = "nowhere"; }},
    {"quantization.C15", "quantization.scale_levels[0].tensor",
     [](Parts p) {
       p.w = Levelled(p.model);
       p.model.graph.initializers[1] = ToTensorData("fine", *MakeTensor(kInt16, {2, 3}));
     }},
    {"quantization.C16", "quantization.scale_levels[0][0]",
     [](Parts p) {
       p.x.quantization->scale.clear();
       p.x.quantization->scale_levels = {{.value = {0.0F}}};
       p.model.opset_imports[1].version = kLevelsVersion;
     }},
    {"quantization.C16", "quantization.scale_levels",
     [](Parts p) {
       (p.w = Levelled(p.model)).quantization->scale_levels[1].value = {1, 0x1p127F, 1};
     }},
    {"quantization.C16", "quantization.base_levels[0][0]",
     [](Parts p) {
       (p.w = Levelled(p.model)).quantization->base_levels[0].value[0] =
           std::numeric_limits<float>::infinity();
     }},
    {"quantization.C17", "quantization.base_levels",
     [](Parts p) {
       p.model.opset_imports[1].version = 2;
       p.x.quantization->base_levels = {{.value = {0.5F}}};
     }},
    {"quantization.C17", "quantization.base_levels",
     [](Parts p) {
       p.w = Levelled(p.model);
       p.w.elem_type = kFloat8E4M3FNQ;
       p.model.graph.initializers[0] = ToTensorData("w", *MakeTensor(kFloat8E4M3FN, {4, 3}));
     }},
    {"quantization.C18", "quantization.base_levels",
     [](Parts p) { (p.w = Levelled(p.model)).quantization->base_levels[0].value[0] = 0x1p-60F; }},
    // 2^53 + 1, which is no binary64: computed in binary64 it is 2^53.
    {"quantization.C18", "value_info[1] 'based': quantization.base_levels",
     [](Parts p) { AddBased(p.model, (1 << 30) + 1); }},
    {"quantization.C18", "value_info[1] 'based': quantization.base_levels",
     [](Parts p) { AddBased(p.model, (1 << 30) + 2); }},
    {"quantization.C19", "quantization.code_book",
     [](Parts p) { AddBook(p.model).code_book.pop_back(); }},
    {"quantization.C19", "quantization.code_book[2]",
     [](Parts p) { AddBook(p.model).code_book[2] = std::numeric_limits<float>::quiet_NaN(); }},
    {"quantization.C19", "'codes': quantization",
     [](Parts p) { AddBook(p.model).code_book_tensor = "w"; }},
    {"quantization.C19", "quantization.offset", [](Parts p) { AddBook(p.model).offset = {1}; }},
    {"quantization.C19", "'codes': quantization",
     [](Parts p) {
       AddBook(p.model).code_book_tensor = "none";
       p.model.graph.values[1].type->quantization->code_book.clear();
     }},
    {"quantization.C19", "'codes': quantization",
     [](Parts p) {
       AddBook(p.model).code_book_tensor = "many";
       p.model.graph.values[1].type->quantization->code_book.clear();
       p.model.graph.initializers.push_back(ToTensorData("many", *MakeTensor(kFloat, {257})));
     }},
    {"quantization.C19", "'given': quantization.code_book",
     [](Parts p) {
       AddBook(p.model);
       p.model.graph.inputs.push_back(p.model.graph.values[1]);
       p.model.graph.inputs.back().name = "given";
     }},
    {"quantization.C21", "quantization.base_levels",
     [](Parts p) { AddBook(p.model).base_levels = {{.value = {0x1p-60F}}}; }},
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
    {"statistics.C2", "statistics.mean",
     [](Parts p) {  // below min, without a max
       p.x.statistics.emplace();
       p.x.statistics->min = {5};
       p.x.statistics->mean = {1};
     }},
    {"statistics.C2", "statistics.mean",
     [](Parts p) {  // above max, without a min
       p.x.statistics.emplace();
       p.x.statistics->max = {5};
       p.x.statistics->mean = {6};
     }},
    // 0 and 1, as often as each other, deviate by 1/2: no values between them deviate more.
    {"statistics.C2", "statistics.std",
     [](Parts p) {
       p.x.statistics.emplace();
       p.x.statistics->min = {0};
       p.x.statistics->max = {1};
       p.x.statistics->std = {std::nextafter(0.5, 1.0)};
     }},
    // The extremes are of finite values.
    {"statistics.C2", "statistics.max",
     [](Parts p) {
       p.x.statistics.emplace();
       p.x.statistics->max = {std::numeric_limits<double>::infinity()};
     }},
    {"statistics.C2", "statistics.min",
     [](Parts p) {
       p.x.statistics.emplace();
       p.x.statistics->min = {std::numeric_limits<double>::quiet_NaN()};
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
    // 2^63 + 2^63 + 1 is 1 in 64 bits.
    {"statistics.C4", "statistics.histogram",
     [](Parts p) {
       p.x.statistics.emplace();
       p.x.statistics->count = 1;
       p.x.statistics->histogram = Histogram{0, 1, {kHalf, kHalf, 1}, 0, 0};
     }},
    {"statistics.C4", "statistics.histogram",
     [](Parts p) {
       p.x.statistics.emplace();
       p.x.statistics->histogram = Histogram{0, 1, {1}, kHalf, kHalf};
     }},
    {"statistics.C6", "statistics.moments",
     [](Parts p) {  // six values are counted
       p.x.statistics = Measured();
       p.x.statistics->moments = {{.count = 5}};
     }},
    {"statistics.C5", "value_info[1] 'u': statistics",
     [](Parts p) {
       p.model.graph.values.push_back(Plain("u", kInt64, {2, 4}));
       p.model.graph.values[1].type->statistics = Measured();
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
       p.model.graph.nodes.push_back(MakeNode("Shape", {"y"}, "z"));
       origin.op_type = "B";
       p.model.graph.nodes[1].origin = origin;
     }},
    {"versioning.C1", "opset_import", [](Parts p) { p.model.opset_imports.pop_back(); }},
    {"versioning.C2", "opset_import", [](Parts p) { p.model.opset_imports[1].version = 4; }},
    {"versioning.C3", "opset_import", [](Parts p) { p.w.quantization->scale[1] = -0.5F; }},
    {"versioning.C3", "opset_import", [](Parts p) { p.w.quantization->scale[1] = 0.0F; }},
    {"versioning.C3", "opset_import",
     [](Parts p) {
       AddBook(p.model);
       p.model.opset_imports[1].version = kLevelsVersion;
     }},
    {"versioning.C3", "opset_import",
     [](Parts p) { p.w = Levelled(p.model), p.model.opset_imports[1].version = 1; }},
    {"versioning.C4", "opset_import",
     [](Parts p) {
       p.model.opset_imports.push_back({"qtx", 2});
     }},
    {"versioning.C4", "opset_import",
     [](Parts p) {
       p.model.opset_imports.insert(p.model.opset_imports.begin(), {"qtx", 2});
     }},
    {"versioning.C4", "opset_import",
     [](Parts p) {  // another name of the domain ""
       p.model.opset_imports.push_back({"ai.onnx", 18});
     }},
    {"versioning.C4", "opset_import",
     [](Parts p) {
       p.model.opset_imports.push_back({"com.microsoft", 1});
       p.model.opset_imports.push_back({"com.microsoft", 2});
     }},
    {"versioning.C5", "opset_import", [](Parts p) { p.model.opset_imports[0].version = 29; }},
    {"lowering.C1", "metadata_props 'qtx.annotations'",
     [](Parts p) {
       p.model.metadata = {{std::string(kDigestKey), "3:0123456789abcdef"}};
     }},
    {"statistics.C7", "metadata_props 'qtx.statistics'",
     [](Parts p) {
       p.model.metadata = {{std::string(kStatisticsKey), "3:0123456789abcdef"}};
     }},
    {"graph.C1", "node[1]",
     [](Parts p) {
       p.model.graph.nodes.push_back(MakeNode("MatMul", {"x", "w"}, "y"));
     }},
    {"graph.C1", "input[1] 'x'",
     [](Parts p) { p.model.graph.inputs.push_back(p.model.graph.inputs[0]); }},
    {"graph.C1", "value_info[1] 'x'",
     [](Parts p) {
       p.model.graph.values.push_back(Value("x", kUint8Q, {2, 4}, 1));
     }},
    {"graph.C1", "input[1] ''",
     [](Parts p) { p.model.graph.inputs.push_back(Plain("", kFloat, {1})); }},
    {"graph.C1", "initializer[1] ''",
     [](Parts p) {
       p.model.graph.initializers.push_back(ToTensorData("", *MakeTensor(kFloat, {1})));
     }},
    {"graph.C1", "initializer[1] 'f'",
     [](Parts p) {
       p.model.graph.values.push_back(Plain("f", kFloat, {1}));
       p.model.graph.initializers.push_back(ToTensorData("f", *MakeTensor(kInt8, {1})));
     }},
    {"graph.C2", "node[0]", [](Parts p) { p.model.graph.nodes[0].inputs[0] = "later"; }},
    {"graph.C3", "output[1] 'z'",
     [](Parts p) { p.model.graph.outputs.push_back(Value("z", kInt8Q, {1}, 1)); }},
    {"graph.C4", "node[0] ''", [](Parts p) { p.model.graph.nodes[0].op_type = "Matmul"; }},
    {"graph.C4", "node[0] ''",  // of opset 18
     [](Parts p) {
       p.model.graph.nodes.insert(p.model.graph.nodes.begin(),
                                  MakeNode("Col2Im", {"x", "x", "x"}, "c"));
     }},
    {"graph.C5", "node[0] '': input",
     [](Parts p) { p.model.graph.nodes[0].inputs.push_back("x"); }},
    {"graph.C5", "node[0] '': input[1]", [](Parts p) { p.model.graph.nodes[0].inputs[1] = ""; }},
    {"graph.C5", "node[0] '': output",
     [](Parts p) { p.model.graph.nodes[0].outputs.push_back("z"); }},
    {"graph.C6", "node[0] '': attribute 'axis'",
     [](Parts p) { p.model.graph.nodes[0].attributes = {Attribute::Int("axis", 0)}; }},
    {"graph.C7", "node[1] '': input[0]",
     [](Parts p) { p.model.graph.nodes.push_back(MakeNode("Bernoulli", {"x"}, "s")); }},
    {"graph.C7", "node[0] '': output[0]",  // of a stock model: the section would allow it
     [](Parts p) {
       p.model.opset_imports = {{"", 17}};
       p.model.graph = Graph();
       p.model.graph.inputs = {Plain("x", kFloat, {2, 4})};
       p.model.graph.outputs = {Plain("y", kFloat16, {2, 4})};
       p.model.graph.nodes = {MakeNode("Softmax", {"x"}, "y")};
     }},
    {"graph.C9", "node[1] '': input[1] 'b'",
     [](Parts p) {
       p.model.opset_imports.front().version = 20;
       p.model.graph.inputs.push_back(Plain("a", ElementType::kString, {2, 3}));
       p.model.graph.inputs.push_back(Plain("b", ElementType::kString, {2}));
       p.model.graph.nodes.push_back(MakeNode("StringConcat", {"a", "b"}, "m"));
     }},
    {"graph.C9", "node[1] '': output[0] 's'",
     [](Parts p) {
       p.model.graph.inputs.push_back(Plain("a", kFloat, {2, 3}));
       p.model.graph.values.push_back(Plain("s", kFloat, {3, 2}));
       p.model.graph.nodes.push_back(MakeNode("Bernoulli", {"a"}, "s"));
     }},
    {"graph.C10", "node[1] '': then_branch: graph.node[0] ''",
     [](Parts p) { AddChoice(p.model, Constantly("x", kFloat), Constantly("e", kFloat)); }},
    {"graph.C11", "node[1] '': else_branch: graph",
     [](Parts p) {
       Graph branch = Constantly("e", kFloat);
       branch.inputs = {Plain("i", kFloat, {})};
       AddChoice(p.model, Constantly("t", kFloat), std::move(branch));
     }},
    {"graph.C12", "node[1] '': else_branch: graph",
     [](Parts p) { AddChoice(p.model, Constantly("t", kFloat), Constantly("e", kInt64)); }},
    {"graph.C8", "node[1] '': output[0]",
     [](Parts p) { p.model.graph.nodes.push_back(MakeNode("Relu", {"x"}, "r")); }},
    {"mat_mul.C3", "node[0] '': input[1]",
     [](Parts p) {
       p.x.shape = ToShape(Dims{2, 5});
       p.model.graph.values[0].type->quantization->axis = {1};
     }},
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

TEST(Check, FindsNothingInWhatNearlyBreaksARule) {
  const std::function<void(Parts)> edits[] = {
      // One output twice; one version twice.  graph.C1, versioning.C4.
      [](Parts p) { p.model.graph.outputs.push_back(p.model.graph.outputs[0]); },
      [](Parts p) {
        p.model.opset_imports.push_back({"ai.onnx", 17});
      },
      // Two bytes of 12 bits.  element_types.C4.
      [](Parts p) {
        p.w.elem_type = kBipolar1Q;
        p.model.graph.initializers[0] = ToTensorData("w", *MakeTensor(kUint8, {2}));
      },
      // An offset of UINT32.  quantization.C11.
      [](Parts p) { p.x = WithOffsets(p.model, kUint32, 127); },
      // 2^53 is a binary64.  quantization.C18.
      [](Parts p) { AddBased(p.model, 1 << 30); },
      // No scales along an axis of size 0, inline or of levels.  quantization.C1, C13.
      [](Parts p) {
        p.model.graph.inputs.push_back(Value("none", kInt8Q, {0, 6}, 1));
        Quantization& q = *p.model.graph.inputs[1].type->quantization;
        q.scale.clear();
        q.offset.clear();
        q.axis = {0};
      },
      // Half the range, and half of one that no binary64 holds.  statistics.C2.
      [](Parts p) {
        p.x.statistics.emplace();
        p.x.statistics->min = {0};
        p.x.statistics->max = {1};
        p.x.statistics->std = {0.5};
      },
      [](Parts p) {
        p.x.statistics.emplace();
        p.x.statistics->min = {-0x1p1023};
        p.x.statistics->max = {0x1p1023};
        p.x.statistics->std = {0x1p1023};
      },
      // Nothing finite was seen.  statistics.S4.
      [](Parts p) {
        p.x.statistics.emplace();
        p.x.statistics->nan_count = 3;
        p.x.statistics->infinity_count = 2;
        p.x.statistics->moments = {Moments()};
      }};
  for (const auto& edit : edits) {
    Model model = Conforming();
    edit(Parts{model});
    const auto findings = Check(model);
    EXPECT_TRUE(findings.empty()) << findings[0].rule << " " << findings[0].where << ": "
                                  << findings[0].message;
  }
}

// element_types.C1 is about codes of 1000 to 1999: another one is a type of somebody else's, which
// needs no import of qtx.
TEST(Check, TakesCodesOf1000To1999AloneForQuantizedTypes) {
  Model model;
  model.opset_imports = {{"", 17}};
  model.graph.inputs = {Plain("x", static_cast<ElementType>(2000), {1})};
  EXPECT_TRUE(Check(model).empty());
  model.graph.inputs[0].type->elem_type = static_cast<ElementType>(1999);
  const auto findings = Check(model);
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].rule, "element_types.C1");
  EXPECT_EQ(findings[1].rule, "versioning.C1");
}

TEST(Check, FindsNothingInLevelsThatKeepTheRules) {
  Model model = Conforming();
  model.graph.values[0].type = Levelled(model);
  const auto findings = Check(model);
  EXPECT_TRUE(findings.empty()) << findings[0].rule << " " << findings[0].message;
}

// An initializer that is declared as a quantized type holds steps, not factors.
TEST(Check, RefusesFactorsOfAQuantizedType) {
  Model model = Conforming();
  model.graph.values[0].type = Levelled(model);
  model.graph.values.push_back(Value("fine", kUint8Q, {2, 3}, 0.5F));
  const auto findings = Check(model);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rule, "quantization.C15");
}

// What version 1 of the format makes of version 2: a version it does not know; and were it not for
// that, no scale. The fields are unknown ones, which it keeps.
TEST(Check, TakesLevelsForUnknownFieldsWithoutTheirFeature) {
  const Features before = Features::Current().Without(Feature::kHierarchicalScales);
  Model model = Conforming();
  model.graph.values[0].type = Levelled(model);
  const auto rules = [&](const Model& checked) {
    std::vector<std::string> list;
    for (const Finding& finding : Check(checked, "", before)) list.push_back(finding.rule);
    return list;
  };
  EXPECT_EQ(std::ranges::count(rules(model), "quantization.C1"), 1);
  model.graph.values[0].type->quantization->scale = {1, 1, 1, 1, 1, 1};
  model.opset_imports[1].version = 1;
  EXPECT_TRUE(rules(model).empty());
  const Model understood = AsUnderstood(model, before);
  const Quantization& q = *understood.graph.values[0].type->quantization;
  EXPECT_TRUE(q.scale_levels.empty() && q.base_levels.empty());
  const auto again = ParseQuantization(SerializeQuantization(q));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(*again, *model.graph.values[0].type->quantization);
}

TEST(Check, FindsNothingInScalesOfConstantsAndCodeBooks) {
  Model model = Conforming();
  model.graph.values[0].type->quantization->scale = {-0.25F, 0.0F, 1.0F};
  EXPECT_EQ(FormatVersion(model), kCodeBooksVersion);
  model.opset_imports[1].version = kCodeBooksVersion;
  SetCodeBook({1, 2, 3, 4}, AddBook(model));
  const auto findings = Check(model);
  EXPECT_TRUE(findings.empty()) << findings[0].rule << " " << findings[0].message;
  EXPECT_EQ(model.graph.values[1].type->quantization->must_understand,
            std::vector<std::int32_t>{15});
  EXPECT_EQ(FormatVersion(Conforming()), kVersion);
}

TEST(Resolve, ReadsACodeBook) {
  Model model = Conforming();
  Quantization& q = AddBook(model);
  const std::vector<float> book = q.code_book;
  Tensor table = *MakeTensor(kFloat, {2, 2});
  std::ranges::copy(book, table.As<float>().begin());
  q.code_book.clear();
  q.code_book_tensor = "table";
  model.graph.initializers.push_back(ToTensorData("table", table));
  EXPECT_TRUE(Check(model).empty());
  const auto tensor = LoadInitializer(model, "codes");
  ASSERT_TRUE(tensor.has_value()) << tensor.error().Text();
  EXPECT_EQ(tensor->quantization->code_book, book);
  EXPECT_TRUE(tensor->quantization->code_book_tensor.empty());
}

// Above 2^25 every fourth integer is a binary32. With a = 2^-23, (1 + a)^2 1.25 is just more than
// the tie 1.25 + 2.5 a.
TEST(Resolve, RoundsTheProductOfAllLevelsOnce) {
  Model model = Conforming();
  TensorType type;
  type.elem_type = kInt8Q;
  type.quantization.emplace();
  const auto scale = [&](const std::vector<float>& factors) {
    auto& levels = type.quantization->scale_levels;
    levels.assign(factors.size(), BlockFactors());
    for (std::size_t i = 0; i < factors.size(); ++i) levels[i].value = {factors[i]};
    return Resolve(model, type)->scale[0];
  };
  EXPECT_EQ(scale({3.0F, 11184814.0F}), 33554440.0F);  // 33554442, a tie: down to even
  EXPECT_EQ(scale({3.0F, 11184818.0F}), 33554456.0F);  // 33554454, a tie: up to even
  EXPECT_EQ(scale({0x1.000002p0F, 0x1.000002p0F, 1.25F}), 0x1.400006p0F);
  EXPECT_EQ(scale({0x1p-75F, 0x1.8p-75F}), 0x1p-149F);  // 0.75 of the least binary32
  EXPECT_EQ(scale({0x1p-74F, 0x1.4p-75F}), 0x1p-149F);  // 1.25 of it
  EXPECT_EQ(scale({0x1p100F, 0x1p-149F, 0x1p100F, 0x1p-100F}), 0x1p-49F);
}

TEST(Resolve, GivesEachParameterItsFactorsOfEveryLevel) {
  Model model = Conforming();
  const TensorType w = Levelled(model);
  const auto q = Resolve(model, w);
  ASSERT_TRUE(q.has_value());
  EXPECT_EQ(q->scale, (std::vector<float>{0.25F, 1.0F, 3.0F, 1.0F, 2.5F, 63.0F}));
  EXPECT_TRUE(q->scale_levels.empty());
  ASSERT_EQ(q->base_levels.size(), 1U);
  EXPECT_EQ(q->base_levels[0].value, (std::vector<float>{-0.5F, 0, 8, -0.5F, 0, 8}));
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
  broken.erase("mat_mul.C3");  // of the catalogue, to show that it is asked
  for (const std::string& rule : CheckedRules()) EXPECT_EQ(broken.count(rule), 1U) << rule;
  EXPECT_EQ(broken.size(), CheckedRules().size());
}

}  // namespace
}  // namespace qtx::format
