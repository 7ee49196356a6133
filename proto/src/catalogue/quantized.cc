// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear.
// Source: spec/ops/, the sections that the rows name.
#include "quantized.h"

#include <cmath>

namespace qtx::format::catalogue {

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

// Results of QuantizeLinear; DequantizeLinear takes INT32, too.
constexpr TypeSet kQuantizedStorage =
    kFloat8Types | TypeSet{ElementType::kUint8, ElementType::kInt8,  ElementType::kUint16,
                           ElementType::kInt16, ElementType::kUint4, ElementType::kInt4,
                           ElementType::kUint2, ElementType::kInt2,  ElementType::kFloat4E2M1};
constexpr TypeSet kQuantizedFloats = {ElementType::kFloat, ElementType::kFloat16,
                                      ElementType::kBfloat16};

// QuantizeLinear and DequantizeLinear -----------------------------------------------------------

// quantize_linear.C2. A scale that the graph computes may be 0, infinite or NaN.
Result<void> QuantizeLinearScale(const Application& a) {
  if (a.Input(1).is_initializer) return QuantizedScaleIsPositive(1)(a);
  const Tensor* scale = a.Input(1).constant;
  constexpr TypeSet kTypes =
      kQuantizedFloats | TypeSet{ElementType::kFloat8E8M0, ElementType::kInt32};
  if (scale == nullptr || !kTypes.Has(scale->elem_type)) return {};
  for (const double value : StoredValues(*scale)) {
    if (std::isnan(value)) continue;
    if (value >= 0 && static_cast<double>(static_cast<float>(value)) == value) continue;
    return BadInput(a, 1, "scale " + std::to_string(value), "a binary32 that is not below 0");
  }
  return {};
}

// dequantize_linear.C2. Of any sign: what is divided by a scale is quantized.
Result<void> DequantizedScaleIsFinite(const Application& a) {
  const Tensor* scale = a.Input(1).is_initializer ? a.Input(1).constant : nullptr;
  constexpr TypeSet kTypes = kQuantizedFloats | TypeSet{ElementType::kFloat8E8M0};
  if (scale == nullptr || !kTypes.Has(scale->elem_type)) return {};
  for (const double value : StoredValues(*scale)) {
    if (std::isfinite(value)) continue;
    return BadInput(a, 1, "scale " + std::to_string(value), "a finite value");
  }
  return {};
}

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
                     {"quantize_linear.C2", QuantizeLinearScale},
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
                     {"dequantize_linear.C2", DequantizedScaleIsFinite},
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

}  // namespace

void AddQuantizers(std::vector<OpSchema>& rows) {
  for (const std::string_view domain : {std::string_view(), kQuantizedMicrosoft}) {
    rows.push_back(QuantizeLinearRow(domain));
    rows.push_back(DequantizeLinearRow(domain));
  }
  rows.push_back(DynamicQuantizeLinearRow());
}

}  // namespace qtx::format::catalogue
