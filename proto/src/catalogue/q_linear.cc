// Operators of ONNX Runtime that take a scale and a zero point for each tensor, element by element.
// Source: spec/ops/, the sections that the rows name.
#include <utility>

#include "quantized.h"

namespace qtx::format::catalogue {
namespace {

constexpr TypeSet kQuantizedBytes = {ElementType::kUint8, ElementType::kInt8};

// q_linear_add.C1 and the like: these inputs, of which 0 is one, and the output have one type.
ClauseRule QuantizedOneType(const Indices& tensors) {
  std::vector<ClauseRule> rules;
  for (const std::size_t i : tensors) {
    rules.push_back(InputTypes(i, kQuantizedBytes));
    rules.push_back(QuantizedTypeIsThatOf(i, 0));
  }
  rules.push_back(OutputTypes(0, kQuantizedBytes));
  rules.push_back(QuantizedOutputIsThatOf(0));
  return Both(std::move(rules));
}

ClauseRule QuantizedScalars(std::size_t scale) {
  return Both({IsScalar(scale), IsScalar(scale + 1), QuantizedScaleIsPositive(scale)});
}

// q_linear_add.C2 and the like: scales, each with a zero point of the type of input 0 after it.
ClauseRule QuantizedScalarsOfOneType(const Indices& scales) {
  std::vector<ClauseRule> rules;
  for (const std::size_t i : scales) {
    rules.push_back(InputTypes(i, kQuantizedScale));
    rules.push_back(QuantizedTypeIsThatOf(i + 1, 0));
    rules.push_back(QuantizedScalars(i));
  }
  return Both(std::move(rules));
}

Result<QuantizedShapes> ShapeOfQuantizedBinary(const Application& a) {
  const Dims* left = DimsOf(a.Input(0));
  const Dims* right = DimsOf(a.Input(3));
  if (left == nullptr || right == nullptr) return QuantizedShapes{std::nullopt};
  QTX_ASSIGN_OR_RETURN(Dims dims, BroadcastOf(*left, *right));
  return QuantizedShapes{std::move(dims)};
}

// C1 of types, C2 of parameters, C3 of shapes.
OpSchema QuantizedBinary(std::string_view op_type, std::string_view types,
                         std::string_view parameters, std::string_view shapes) {
  return {.op_type = op_type,
          .domain = kQuantizedMicrosoft,
          .inputs = {{"A"},
                     {"A_scale"},
                     {"A_zero_point", true},
                     {"B"},
                     {"B_scale"},
                     {"B_zero_point", true},
                     {"C_scale"},
                     {"C_zero_point", true}},
          .outputs = {{"C"}},
          .attributes = {},
          .checks = {{types, QuantizedOneType({0, 3})},
                     {parameters, QuantizedScalarsOfOneType({1, 4, 6})},
                     {shapes, CanBroadcast({0, 3})}},
          .shape = ShapeOfQuantizedBinary,
          .shape_clause = shapes,
          .type = QuantizedTypeOfInput<0>};
}

// C1 of types, C2 of parameters; the shape is that of X.
OpSchema QuantizedUnary(std::string_view op_type, std::string_view types,
                        std::string_view parameters) {
  return {
      .op_type = op_type,
      .domain = kQuantizedMicrosoft,
      .inputs = {{"X"}, {"X_scale"}, {"X_zero_point", true}, {"Y_scale"}, {"Y_zero_point", true}},
      .outputs = {{"Y"}},
      .attributes = {},
      .checks = {{types, QuantizedOneType({0})}, {parameters, QuantizedScalarsOfOneType({1, 3})}},
      .shape = ShapeOfFirst,
      .shape_clause = types,
      .type = QuantizedTypeOfInput<0>};
}

// q_linear_softmax.C3; the default of `axis` is q_linear_softmax.S2.
Result<void> QuantizedSoftmaxAxis(const Application& a) {
  const Attribute* opset = a.Find("opset");
  if (opset == nullptr) return Refuse("attribute 'opset'", "is not given");
  QTX_RETURN_IF_ERROR(IntWithin("opset", 1, INT64_MAX)(a));
  const Dims* dims = DimsOf(a.Input(0));
  if (dims == nullptr) return {};
  const auto rank = static_cast<std::int64_t>(dims->size());
  const std::int64_t axis = Attributes(*FindSchema("", "Softmax"), a.node, opset->i).Int("axis");
  if (axis >= -rank && axis < rank) return {};
  return BadAttribute("axis", std::to_string(axis),
                      "a value in [-" + std::to_string(rank) + ", " + std::to_string(rank) + ")");
}

OpSchema QLinearSoftmaxRow() {
  OpSchema row = QuantizedUnary("QLinearSoftmax", "q_linear_softmax.C1", "q_linear_softmax.C2");
  row.inputs[4].optional = false;
  row.attributes = {{"axis", AttributeType::kInt}, {"opset", AttributeType::kInt}};
  row.checks.push_back({"q_linear_softmax.C3", QuantizedSoftmaxAxis});
  return row;
}

// QLinearConcat ----------------------------------------------------------------------------------

// Its scales are inputs 0, 3, 6 and so on, each with a zero point after it; that of input 0 is of
// Y, before each further one is its tensor.

Result<void> QuantizedConcatThrees(const Application& a) {
  const std::size_t count = a.inputs.size();
  if (count % 3 != 2) {
    return Refuse("input", "found " + std::to_string(count) + ", expected 2 and 3 for each tensor");
  }
  for (std::size_t i = 2; i < count; ++i) {
    if (!a.inputs[i].given) return Refuse(InputPlace(a, i), "is required");
  }
  return {};
}

// q_linear_concat.C1.
Result<void> QuantizedConcatTypes(const Application& a) {
  for (std::size_t scale = 0; scale < a.inputs.size(); scale += 3) {
    const std::size_t typed = scale == 0 ? 1 : scale - 1;
    QTX_RETURN_IF_ERROR(InputTypes(typed, kQuantizedBytes)(a));
    QTX_RETURN_IF_ERROR(InputTypes(scale, kQuantizedScale)(a));
    QTX_RETURN_IF_ERROR(QuantizedTypeIsThatOf(scale + 1, typed)(a));
  }
  QTX_RETURN_IF_ERROR(OutputTypes(0, kQuantizedBytes)(a));
  return QuantizedOutputIsThatOf(1)(a);
}

// q_linear_concat.C2.
Result<void> QuantizedConcatScalars(const Application& a) {
  for (std::size_t scale = 0; scale < a.inputs.size(); scale += 3) {
    QTX_RETURN_IF_ERROR(QuantizedScalars(scale)(a));
  }
  return {};
}

// q_linear_concat.C4: the rest of it shows in the shape of Y.
Result<void> QuantizedConcatAxis(const Application& a) {
  if (a.Find("axis") == nullptr) return Refuse("attribute 'axis'", "is not given");
  for (std::size_t i = 2; i < a.inputs.size(); i += 3) {
    QTX_RETURN_IF_ERROR(AxisInRange("axis", i)(a));
  }
  return {};
}

// Two sizes along the axis; not known where they pass any tensor's.
std::int64_t QuantizedConcatSum(std::int64_t x, std::int64_t y) {
  return Known(x) && Known(y) && x <= INT64_MAX - y ? x + y : kUnknownSize;
}

Result<QuantizedShapes> ShapeOfQuantizedConcat(const Application& a) {
  std::optional<Dims> y;
  bool all = true;
  for (std::size_t i = 2; i < a.inputs.size(); i += 3) {
    const Dims* dims = DimsOf(a.Input(i));
    if (dims == nullptr || !y) {
      all = all && dims != nullptr;
      if (dims != nullptr) y = *dims;
      continue;
    }
    const std::size_t axis = AxisOf(a.Int("axis"), dims->size());
    for (std::size_t k = 0; k < dims->size() && dims->size() == y->size(); ++k) {
      std::int64_t& size = (*y)[k];
      if (k == axis) {
        size = QuantizedConcatSum(size, (*dims)[k]);
      } else if (!Known(size)) {
        size = (*dims)[k];
      }
    }
    Dims expected = *y;
    if (axis < expected.size()) expected[axis] = kUnknownSize;
    if (!Differ(*dims, expected)) continue;
    return BadInput(a, i, "shape " + ShapeText(*dims), ShapeText(expected));
  }
  if (y && !all) (*y)[AxisOf(a.Int("axis"), y->size())] = kUnknownSize;
  return QuantizedShapes{std::move(y)};
}

OpSchema QLinearConcatRow() {
  return {.op_type = "QLinearConcat",
          .domain = kQuantizedMicrosoft,
          .inputs = {{"Y_scale"}, {"Y_zero_point"}, {"tensors", false, true}},
          .outputs = {{"Y"}},
          .attributes = {{"axis", AttributeType::kInt}},
          .checks = {{"q_linear_concat.C3", QuantizedConcatThrees},
                     {"q_linear_concat.C1", QuantizedConcatTypes},
                     {"q_linear_concat.C2", QuantizedConcatScalars},
                     {"q_linear_concat.C4", QuantizedConcatAxis}},
          .shape = ShapeOfQuantizedConcat,
          .shape_clause = "q_linear_concat.C4",
          .type = QuantizedTypeOfInput<1>};
}

}  // namespace

void AddQLinear(std::vector<OpSchema>& rows) {
  rows.push_back(
      QuantizedBinary("QLinearAdd", "q_linear_add.C1", "q_linear_add.C2", "q_linear_add.C3"));
  rows.push_back(
      QuantizedBinary("QLinearMul", "q_linear_mul.C1", "q_linear_mul.C2", "q_linear_mul.C3"));
  rows.push_back(QLinearConcatRow());
  rows.push_back(QuantizedUnary("QLinearSigmoid", "q_linear_sigmoid.C1", "q_linear_sigmoid.C2"));
  rows.push_back(
      QuantizedUnary("QLinearLeakyRelu", "q_linear_leaky_relu.C1", "q_linear_leaky_relu.C2"));
  rows.back().attributes = {{"alpha", AttributeType::kFloat, 0.01F}};
  rows.back().checks.push_back({"q_linear_leaky_relu.C3", IsFinite("alpha")});
  rows.push_back(QLinearSoftmaxRow());
}

}  // namespace qtx::format::catalogue
