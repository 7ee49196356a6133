#include "microsoft.h"

#include <algorithm>
#include <utility>

#include "quantized.h"
#include "rules.h"

namespace qtx::format::catalogue {

namespace {

using MicrosoftShapes = Result<std::vector<std::optional<Dims>>>;

constexpr TypeSet kMicrosoftBytes = {ElementType::kUint8, ElementType::kInt8};
constexpr TypeSet kMicrosoftStorage =
    kMicrosoftBytes |
    TypeSet{ElementType::kUint16, ElementType::kInt16, ElementType::kUint4, ElementType::kInt4};
constexpr TypeSet kMicrosoftScale = {ElementType::kFloat, ElementType::kFloat16};
constexpr TypeSet kMicrosoftReal = kMicrosoftScale | TypeSet{ElementType::kBfloat16};
constexpr TypeSet kMicrosoftFloat = {ElementType::kFloat};
constexpr TypeSet kMicrosoftInt32 = {ElementType::kInt32};

// A type constraint of a schema: these inputs, and output 0 where it has it, are of one type.
struct MicrosoftTypes {
  TypeSet types;
  Indices inputs;
  bool is_output = false;
};

ClauseCheck MicrosoftCheck(const std::vector<MicrosoftTypes>& constraints) {
  std::vector<ClauseRule> rules;
  for (const auto& [types, inputs, is_output] : constraints) {
    for (const std::size_t i : inputs) {
      rules.push_back(InputTypes(i, types));
      if (i != inputs[0]) rules.push_back(QuantizedTypeIsThatOf(i, inputs[0]));
    }
    if (!is_output) continue;
    rules.push_back(OutputTypes(0, types));
    rules.push_back(QuantizedOutputIsThatOf(inputs[0]));
  }
  return {"graph.C7", Both(std::move(rules))};
}

template <std::size_t kInput>
ElementType MicrosoftTypeOf(const Application& a, std::size_t) {
  return a.Input(kInput).type;
}

ElementType MicrosoftFloatType(const Application&, std::size_t) { return ElementType::kFloat; }

// QuantizeLinear and DequantizeLinear, of which QTX's own have more types and blocks --------------

OpSchema MicrosoftQuantizeLinear() {
  return {.op_type = "QuantizeLinear",
          .inputs = {{"x"}, {"y_scale"}, {"y_zero_point", true}},
          .outputs = {{"y"}},
          .attributes = {{"axis", AttributeType::kInt}},
          .checks = {MicrosoftCheck({{kMicrosoftScale, {0, 1}}, {kMicrosoftStorage, {2}}}),
                     {"graph.C7", OutputTypes(0, kMicrosoftStorage)}},
          .shape = ShapeOfFirst,
          .type = MicrosoftTypeOf<2>};
}

OpSchema MicrosoftDequantizeLinear() {
  const TypeSet storage = kMicrosoftStorage | kMicrosoftInt32;
  return {.op_type = "DequantizeLinear",
          .inputs = {{"x"}, {"x_scale"}, {"x_zero_point", true}},
          .outputs = {{"y"}},
          .attributes = {{"axis", AttributeType::kInt}},
          .checks = {MicrosoftCheck({{storage, {0, 2}}, {kMicrosoftScale, {1}, true}})},
          .shape = ShapeOfFirst,
          .type = MicrosoftTypeOf<1>};
}

// Products ---------------------------------------------------------------------------------------

// Sizes of a product of input 0, whose last axis is K, with a matrix of N columns in input 1.
MicrosoftShapes ShapeOfPackedProduct(const Application& a) {
  const Dims* x = DimsOf(a.Input(0));
  if (x == nullptr) return std::vector<std::optional<Dims>>{std::nullopt};
  const std::int64_t k = a.Int("K");
  if (x->empty() || Differ(x->back(), k)) {
    return BadInput(a, 0, "shape " + ShapeText(*x),
                    "K " + std::to_string(k) + " for its last axis");
  }
  Dims y = *x;
  y.back() = a.Int("N");
  return std::vector<std::optional<Dims>>{std::move(y)};
}

AttributeRule MicrosoftRequired(std::string_view name) {
  return {name, AttributeType::kInt, {}, true};
}

AttributeRule MicrosoftFlag(std::string_view name, std::int64_t otherwise = 0) {
  return {name, AttributeType::kInt, otherwise};
}

OpSchema MatMulNBits() {
  const TypeSet zero_points = kMicrosoftReal | TypeSet{ElementType::kUint8};
  return {
      .op_type = "MatMulNBits",
      .inputs = {{"A"}, {"B"}, {"scales"}, {"zero_points", true}, {"g_idx", true}, {"bias", true}},
      .outputs = {{"Y"}},
      .attributes = {MicrosoftRequired("K"), MicrosoftRequired("N"),
                     MicrosoftFlag("accuracy_level"), MicrosoftFlag("bits", 4),
                     MicrosoftRequired("block_size"), MicrosoftFlag("weight_prepacked")},
      .checks = {MicrosoftCheck({{kMicrosoftReal, {0, 2, 5}, true},
                                 {{ElementType::kUint8}, {1}},
                                 {zero_points, {3}},
                                 {kMicrosoftInt32, {4}}})},
      .shape = ShapeOfPackedProduct};
}

OpSchema MatMulBnb4() {
  return {
      .op_type = "MatMulBnb4",
      .inputs = {{"A"}, {"B"}, {"absmax"}},
      .outputs = {{"Y"}},
      .attributes = {MicrosoftRequired("K"), MicrosoftRequired("N"),
                     MicrosoftRequired("block_size"), MicrosoftRequired("quant_type"),
                     MicrosoftFlag("training_mode"), MicrosoftFlag("transB", 1)},
      .checks = {MicrosoftCheck({{kMicrosoftReal, {0, 2}, true}, {{ElementType::kUint8}, {1}}})}};
}

// As MatMul has it.  REQUIRES: no transposed operand.
MicrosoftShapes ShapeOfProduct(const Application& a) {
  static const OpSchema* const kMatMul = FindSchema("", "MatMul");
  const Application product{*kMatMul, a.node, a.opset, {a.Input(0), a.Input(1)}, a.outputs};
  for (const ClauseCheck& check : kMatMul->checks) {
    if (check.clause == "mat_mul.C1") continue;  // types
    auto kept = check.rule(product);
    if (!kept.has_value()) return std::move(kept).error();
  }
  return kMatMul->shape(product);
}

OpSchema MatMulIntegerToFloat() {
  return {.op_type = "MatMulIntegerToFloat",
          .inputs = {{"A"},
                     {"B"},
                     {"a_scale"},
                     {"b_scale"},
                     {"a_zero_point", true},
                     {"b_zero_point", true},
                     {"bias", true}},
          .outputs = {{"Y"}},
          .attributes = {},
          .checks = {MicrosoftCheck({{kMicrosoftBytes, {0, 4}},
                                     {kMicrosoftBytes, {1, 5}},
                                     {kMicrosoftScale, {2, 3, 6}, true}})},
          .shape = ShapeOfProduct,
          .type = MicrosoftTypeOf<2>};
}

OpSchema DynamicQuantizeMatMul() {
  return {
      .op_type = "DynamicQuantizeMatMul",
      .inputs = {{"A"}, {"B"}, {"b_scale"}, {"b_zero_point", true}, {"bias", true}},
      .outputs = {{"Y"}},
      .attributes = {},
      .checks = {MicrosoftCheck({{kMicrosoftFloat, {0, 2, 4}, true}, {kMicrosoftBytes, {1, 3}}})},
      .shape = ShapeOfProduct,
      .type = MicrosoftFloatType};
}

MicrosoftShapes ShapeOfFusedProduct(const Application& a) {
  for (const char* flag : {"transA", "transB", "transBatchA", "transBatchB"}) {
    if (a.Int(flag) != 0) return std::vector<std::optional<Dims>>{std::nullopt};
  }
  return ShapeOfProduct(a);
}

OpSchema FusedMatMul() {
  return {
      .op_type = "FusedMatMul",
      .inputs = {{"A"}, {"B"}},
      .outputs = {{"Y"}},
      .attributes = {{"alpha", AttributeType::kFloat, 1.0F},
                     MicrosoftFlag("transA"),
                     MicrosoftFlag("transB"),
                     MicrosoftFlag("transBatchA"),
                     MicrosoftFlag("transBatchB")},
      .checks = {MicrosoftCheck({{kMicrosoftReal | TypeSet{ElementType::kDouble}, {0, 1}, true}})},
      .shape = ShapeOfFusedProduct};
}

// Others -----------------------------------------------------------------------------------------

MicrosoftShapes ShapeOfQuantizedWhere(const Application& a) {
  Dims z;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}, std::size_t{4}}) {
    const Dims* dims = DimsOf(a.Input(i));
    if (dims == nullptr) return std::vector<std::optional<Dims>>{std::nullopt};
    auto broadcast = BroadcastOf(z, *dims);
    if (!broadcast.has_value()) return At(InputPlace(a, i), std::move(broadcast).error());
    z = *std::move(broadcast);
  }
  return std::vector<std::optional<Dims>>{std::move(z)};
}

OpSchema QLinearWhere() {
  return {.op_type = "QLinearWhere",
          .inputs = {{"condition"},
                     {"X"},
                     {"x_scale"},
                     {"x_zero_point"},
                     {"Y"},
                     {"y_scale"},
                     {"y_zero_point"},
                     {"z_scale"},
                     {"z_zero_point"}},
          .outputs = {{"Z"}},
          .attributes = {},
          .checks = {MicrosoftCheck({{{ElementType::kBool}, {0}},
                                     {kMicrosoftBytes, {1, 3, 4, 6, 8}, true},
                                     {kMicrosoftFloat, {2, 5, 7}}})},
          .shape = ShapeOfQuantizedWhere,
          .type = MicrosoftTypeOf<1>};
}

OpSchema QLinearReduceMean() {
  return {
      .op_type = "QLinearReduceMean",
      .inputs = {{"data"},
                 {"data_scale"},
                 {"data_zero_point", true},
                 {"reduced_scale"},
                 {"reduced_zero_point", true}},
      .outputs = {{"reduced"}},
      .attributes = {{"axes", AttributeType::kInts, {}, true},
                     {"keepdims", AttributeType::kInt, {}, true}},
      .checks = {MicrosoftCheck({{kMicrosoftBytes, {0, 2, 4}, true}, {kMicrosoftFloat, {1, 3}}})}};
}

std::vector<OpSchema> MakeMicrosoftRows() {
  std::vector<OpSchema> rows = {DynamicQuantizeMatMul(),
                                FusedMatMul(),
                                MatMulBnb4(),
                                MatMulIntegerToFloat(),
                                MatMulNBits(),
                                QLinearReduceMean(),
                                QLinearWhere(),
                                MicrosoftQuantizeLinear(),
                                MicrosoftDequantizeLinear()};
  AddLanguageModelRows(rows);
  for (OpSchema& row : rows) {
    row.domain = kMicrosoftDomain;
    row.shape_clause = "graph.C9";
  }
  return rows;
}

}  // namespace

const OpSchema* FindMicrosoftOperator(std::string_view op_type) {
  static const std::vector<OpSchema> kRows = MakeMicrosoftRows();
  const auto found = std::ranges::find(kRows, op_type, &OpSchema::op_type);
  return found == kRows.end() ? nullptr : &*found;
}

}  // namespace qtx::format::catalogue
