// Operators of stock ONNX whose parameters are inputs: QuantizeLinear and its like, and those of
// ONNX Runtime that take a scale and a zero point for each tensor.
// Source: spec/ops/, the sections that the rows name.
#include <cmath>
#include <utility>

#include "rules.h"

namespace qtx::format::catalogue {

// Scales, where they are known, are finite, greater than 0 and binary32: quantize_linear.C2.
ClauseRule QuantizedScaleIsPositive(std::size_t i) {
  static constexpr TypeSet kTypes = {ElementType::kFloat, ElementType::kFloat16,
                                     ElementType::kBfloat16, ElementType::kFloat8E8M0,
                                     ElementType::kInt32};
  return [=](const Application& a) -> Result<void> {
    const Tensor* scale = a.Input(i).constant;
    if (scale == nullptr || !kTypes.Has(scale->elem_type)) return {};
    for (const double value : StoredValues(*scale)) {
      const auto narrow = static_cast<float>(value);
      if (narrow > 0 && std::isfinite(narrow) && static_cast<double>(narrow) == value) continue;
      return BadInput(a, i, "scale " + std::to_string(value),
                      "a finite binary32 that is greater than 0");
    }
    return {};
  };
}

// Zero point `i` has the shape of `scale`, and is 0 in a small float: quantize_linear.C3.
ClauseRule QuantizedZeroPointFits(std::size_t i, std::size_t scale) {
  return [=](const Application& a) -> Result<void> {
    const auto is_one = [](const Dims& dims) { return dims.empty() || !Differ(dims, {1}); };
    const Dims* found = DimsOf(a.Input(i));
    const Dims* expected = DimsOf(a.Input(scale));
    if (found != nullptr && expected != nullptr && Differ(*found, *expected) &&
        !(is_one(*found) && is_one(*expected))) {
      return BadInput(a, i, "shape " + ShapeText(*found),
                      ShapeText(*expected) + ", as its scale has");
    }
    const Tensor* zero = a.Input(i).constant;
    if (zero == nullptr || !IsSmallFloat(zero->elem_type)) return {};
    for (const double value : StoredValues(*zero)) {
      if (value == 0) continue;
      return BadInput(a, i, std::to_string(value), "0 in " + std::string(Name(zero->elem_type)));
    }
    return {};
  };
}

// Input `i` has the type of input `like`.
ClauseRule QuantizedTypeIsThatOf(std::size_t i, std::size_t like) {
  return [=](const Application& a) -> Result<void> {
    const ElementType found = a.Input(i).type;
    const ElementType expected = a.Input(like).type;
    if (found == expected || found == ElementType::kUndefined ||
        expected == ElementType::kUndefined) {
      return {};
    }
    return BadInput(a, i, "type " + std::string(Name(found)),
                    std::string(Name(expected)) + ", as " + InputPlace(a, like) + " has");
  };
}

// Output 0 has the type of input `like`.
ClauseRule QuantizedOutputIsThatOf(std::size_t like) {
  return [=](const Application& a) -> Result<void> {
    const ElementType found = a.Output(0).type;
    const ElementType expected = a.Input(like).type;
    if (found == expected || found == ElementType::kUndefined ||
        expected == ElementType::kUndefined) {
      return {};
    }
    return BadOutput(a, 0, "type " + std::string(Name(found)),
                     std::string(Name(expected)) + ", as " + InputPlace(a, like) + " has");
  };
}

namespace {

using QuantizedShapes = std::vector<std::optional<Dims>>;

constexpr std::string_view kQuantizedMicrosoft = "com.microsoft";
constexpr TypeSet kQuantizedBytes = {ElementType::kUint8, ElementType::kInt8};
constexpr TypeSet kQuantizedScale = {ElementType::kFloat};
// Results of QuantizeLinear; DequantizeLinear takes INT32, too.
constexpr TypeSet kQuantizedStorage =
    kFloat8Types | TypeSet{ElementType::kUint8, ElementType::kInt8,  ElementType::kUint16,
                           ElementType::kInt16, ElementType::kUint4, ElementType::kInt4,
                           ElementType::kUint2, ElementType::kInt2,  ElementType::kFloat4E2M1};
constexpr TypeSet kQuantizedFloats = {ElementType::kFloat, ElementType::kFloat16,
                                      ElementType::kBfloat16};

// The type of an input; what is quantized is refused by a clause of the section.
template <std::size_t kInput>
ElementType QuantizedTypeOfInput(const Application& a, std::size_t) {
  const ElementType type = a.Input(kInput).type;
  return IsQuantized(type) ? ElementType::kUndefined : type;
}

// QuantizeLinear and DequantizeLinear -----------------------------------------------------------

// quantize_linear.C1, dequantize_linear.C1: an opset of ai.onnx has fewer types of scales.
Result<void> QuantizedScaleTypes(const Application& a, TypeSet since_19) {
  const bool microsoft = !a.schema.domain.empty();
  TypeSet types = kQuantizedScale;
  if (microsoft || a.opset >= 19) types = types | since_19;
  if (microsoft || a.opset >= 24) types = types | TypeSet{ElementType::kFloat8E8M0};
  return InputTypes(1, types)(a);
}

// quantize_linear.C4, dequantize_linear.C4.
Result<void> QuantizedLayout(const Application& a) {
  const std::int64_t block = a.Int("block_size");
  if (block < 0) return BadAttribute("block_size", std::to_string(block), "at least 0");
  const Dims* scale = DimsOf(a.Input(1));
  const Dims* x = DimsOf(a.Input(0));
  if (scale == nullptr) return {};
  if (block == 0) {
    if (scale->size() > 1) return BadInput(a, 1, "shape " + ShapeText(*scale), "rank 0 or 1");
    if (scale->empty() || !Differ(*scale, {1})) return {};
  }
  if (x == nullptr) return {};
  QTX_RETURN_IF_ERROR(AxisInRange("axis", 0)(a));
  const std::size_t axis = AxisOf(a.Int("axis"), x->size());
  const std::int64_t size = (*x)[axis];
  Dims expected{size};
  if (block > 0) {
    expected = *x;
    expected[axis] = Known(size) ? size / block + (size % block == 0 ? 0 : 1) : kUnknownSize;
  }
  if (!Differ(*scale, expected)) return {};
  return BadInput(a, 1, "shape " + ShapeText(*scale), ShapeText(expected));
}

Result<void> QuantizeLinearTypes(const Application& a) {
  QTX_RETURN_IF_ERROR(InputTypes(0, kQuantizedFloats | TypeSet{ElementType::kInt32})(a));
  return QuantizedScaleTypes(a, kQuantizedFloats | TypeSet{ElementType::kInt32});
}

// quantize_linear.S3. kUndefined: not known, or there is no such type.
ElementType QuantizeLinearTarget(const Application& a) {
  const ValueFacts& zero_point = a.Input(2);
  if (zero_point.type != ElementType::kUndefined) return zero_point.type;
  const std::int64_t named = a.Int("output_dtype");
  if (named != 0) return ElementTypeFromCode(named).value_or(ElementType::kUndefined);
  return zero_point.given ? ElementType::kUndefined : ElementType::kUint8;
}

ElementType QuantizeLinearType(const Application& a, std::size_t) {
  const ElementType target = QuantizeLinearTarget(a);
  return kQuantizedStorage.Has(target) ? target : ElementType::kUndefined;
}

// quantize_linear.C5.
Result<void> QuantizeLinearResult(const Application& a) {
  const std::int64_t named = a.Int("output_dtype");
  const ElementType target = QuantizeLinearTarget(a);
  const ElementType found = a.Output(0).type;
  const std::string name(Name(target));
  if (named != 0 && named != static_cast<std::int64_t>(target)) {
    return BadAttribute("output_dtype", std::to_string(named), "the code of y_zero_point's type");
  }
  if (named != 0 && !kQuantizedStorage.Has(target)) {
    return BadAttribute("output_dtype", std::to_string(named),
                        "the code of a type that y may have");
  }
  QTX_RETURN_IF_ERROR(InputTypes(2, kQuantizedStorage)(a));
  QTX_RETURN_IF_ERROR(OutputTypes(0, kQuantizedStorage)(a));
  if (target == found || target == ElementType::kUndefined || found == ElementType::kUndefined) {
    return {};
  }
  return BadOutput(a, 0, "type " + std::string(Name(found)), std::string(Name(target)));
}

// quantize_linear.C6.
Result<void> QuantizeLinearModes(const Application& a) {
  QTX_RETURN_IF_ERROR(IntWithin("saturate", 0, 1)(a));
  const std::int64_t precision = a.Int("precision");
  const auto type = ElementTypeFromCode(precision);
  if (type && (kQuantizedFloats | TypeSet{ElementType::kDouble}).Has(*type)) return {};
  if (precision == 0) return {};
  return BadAttribute("precision", std::to_string(precision),
                      "0 or the code of FLOAT, FLOAT16, BFLOAT16 or DOUBLE");
}

OpSchema QuantizeLinearRow(std::string_view domain) {
  return {.op_type = "QuantizeLinear",
          .domain = domain,
          .inputs = {{"x"}, {"y_scale"}, {"y_zero_point", true}},
          .outputs = {{"y"}},
          .attributes = {{"axis", AttributeType::kInt, std::int64_t{1}, false, 13},
                         {"block_size", AttributeType::kInt, std::int64_t{0}, false, 21},
                         {"output_dtype", AttributeType::kInt, std::int64_t{0}, false, 21},
                         {"precision", AttributeType::kInt, std::int64_t{0}, false, 23},
                         {"saturate", AttributeType::kInt, std::int64_t{1}, false, 19}},
          .checks = {{"quantize_linear.C1", QuantizeLinearTypes},
                     {"quantize_linear.C2", QuantizedScaleIsPositive(1)},
                     {"quantize_linear.C3", QuantizedZeroPointFits(2, 1)},
                     {"quantize_linear.C4", QuantizedLayout},
                     {"quantize_linear.C5", QuantizeLinearResult},
                     {"quantize_linear.C6", QuantizeLinearModes}},
          .shape = ShapeOfFirst,
          .shape_clause = "quantize_linear.C5",
          .type = QuantizeLinearType};
}

// dequantize_linear.S5. kUndefined: not known, or there is no such type.
ElementType DequantizeLinearType(const Application& a, std::size_t) {
  const std::int64_t named = a.Int("output_dtype");
  ElementType type = a.Input(1).type;
  if (type == ElementType::kFloat8E8M0) type = ElementType::kFloat;
  if (named != 0) type = ElementTypeFromCode(named).value_or(ElementType::kUndefined);
  return kQuantizedFloats.Has(type) ? type : ElementType::kUndefined;
}

// dequantize_linear.C1.
Result<void> DequantizeLinearTypes(const Application& a) {
  QTX_RETURN_IF_ERROR(InputTypes(0, kQuantizedStorage | TypeSet{ElementType::kInt32})(a));
  QTX_RETURN_IF_ERROR(QuantizedScaleTypes(a, kQuantizedFloats));
  const std::int64_t named = a.Int("output_dtype");
  const ElementType expected = DequantizeLinearType(a, 0);
  const ElementType found = a.Output(0).type;
  if (named != 0 && expected == ElementType::kUndefined) {
    return BadAttribute("output_dtype", std::to_string(named),
                        "0 or the code of FLOAT, FLOAT16 or BFLOAT16");
  }
  QTX_RETURN_IF_ERROR(OutputTypes(0, kQuantizedFloats)(a));
  if (expected == found || expected == ElementType::kUndefined ||
      found == ElementType::kUndefined) {
    return {};
  }
  return BadOutput(a, 0, "type " + std::string(Name(found)), std::string(Name(expected)));
}

OpSchema DequantizeLinearRow(std::string_view domain) {
  return {.op_type = "DequantizeLinear",
          .domain = domain,
          .inputs = {{"x"}, {"x_scale"}, {"x_zero_point", true}},
          .outputs = {{"y"}},
          .attributes = {{"axis", AttributeType::kInt, std::int64_t{1}, false, 13},
                         {"block_size", AttributeType::kInt, std::int64_t{0}, false, 21},
                         {"output_dtype", AttributeType::kInt, std::int64_t{0}, false, 23}},
          .checks = {{"dequantize_linear.C1", DequantizeLinearTypes},
                     {"dequantize_linear.C2", QuantizedScaleIsPositive(1)},
                     {"dequantize_linear.C3",
                      Both({QuantizedTypeIsThatOf(2, 0), QuantizedZeroPointFits(2, 1)})},
                     {"dequantize_linear.C4", QuantizedLayout}},
          .shape = ShapeOfFirst,
          .shape_clause = "dequantize_linear.C1",
          .type = DequantizeLinearType};
}

// DynamicQuantizeLinear --------------------------------------------------------------------------

// dynamic_quantize_linear.C2, but for a range that overflows: that depends on the arithmetic.
Result<void> DynamicQuantizeFinite(const Application& a) {
  const Tensor* x = a.Input(0).constant;
  if (x == nullptr || x->elem_type != ElementType::kFloat) return {};
  for (const float value : x->As<float>()) {
    if (!std::isfinite(value)) return Refuse(InputPlace(a, 0), "holds an infinity or NaN");
  }
  return {};
}

Result<QuantizedShapes> ShapeOfDynamicQuantize(const Application& a) {
  return QuantizedShapes{a.Input(0).dims, Dims{}, Dims{}};
}

ElementType DynamicQuantizeType(const Application&, std::size_t output) {
  return output == 1 ? ElementType::kFloat : ElementType::kUint8;
}

OpSchema DynamicQuantizeLinearRow() {
  constexpr TypeSet kByte = {ElementType::kUint8};
  return {.op_type = "DynamicQuantizeLinear",
          .inputs = {{"x"}},
          .outputs = {{"y"}, {"y_scale"}, {"y_zero_point"}},
          .attributes = {},
          .checks = {{"dynamic_quantize_linear.C1",
                      Both({InputTypes(0, kQuantizedScale), OutputTypes(0, kByte),
                            OutputTypes(1, kQuantizedScale), OutputTypes(2, kByte)})},
                     {"dynamic_quantize_linear.C2", DynamicQuantizeFinite}},
          .shape = ShapeOfDynamicQuantize,
          .shape_clause = "dynamic_quantize_linear.C1",
          .type = DynamicQuantizeType};
}

// Operators of ONNX Runtime ----------------------------------------------------------------------

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

void AddQuantized(std::vector<OpSchema>& rows) {
  for (const std::string_view domain : {std::string_view(), kQuantizedMicrosoft}) {
    rows.push_back(QuantizeLinearRow(domain));
    rows.push_back(DequantizeLinearRow(domain));
  }
  rows.push_back(DynamicQuantizeLinearRow());
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
