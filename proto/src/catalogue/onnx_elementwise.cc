// Operators of ONNX without a section: of elements, of generators and random numbers.
#include <algorithm>
#include <cmath>
#include <string>

#include "onnx_shapes.h"
#include "rules.h"

namespace qtx::format::catalogue {
namespace {

// Element-wise -----------------------------------------------------------------------------------

// Before opset 7 the second input is broadcast to the first, by attributes.
OnnxShapes OnnxBroadcastShape(const Application& a) {
  if (a.opset < 7) return ShapeOfFirst(a);
  QTX_RETURN_IF_ERROR(CanBroadcast({0, 1})(a));  // names the input
  return ShapeOfBroadcast(a);
}

OnnxShapes OnnxHardmaxShape(const Application& a) {
  const Dims* dims = DimsOf(a.Input(0));
  if (dims == nullptr) return ShapeOfFirst(a);
  const auto rank = static_cast<std::int64_t>(dims->size());
  const std::int64_t axis = a.Int("axis");
  if (axis < -rank || axis >= rank) {
    return BadAttribute("axis", std::to_string(axis), "an axis of rank " + std::to_string(rank));
  }
  return ShapeOfFirst(a);
}

// Both outputs; the ratio and the training mode are scalars.
OnnxShapes OnnxDropoutShape(const Application& a) {
  QTX_RETURN_IF_ERROR(OnnxIsScalar(a, 1));
  QTX_RETURN_IF_ERROR(OnnxIsScalar(a, 2));
  return std::vector{a.Input(0).dims, a.Input(0).dims};
}

template <std::size_t kRank>
OnnxShapes OnnxShapeOfRankAtLeast(const Application& a) {
  QTX_RETURN_IF_ERROR(RankAtLeast(0, kRank)(a));
  return ShapeOfFirst(a);
}

OnnxShapes OnnxBitCastShape(const Application& a) {
  const ElementType from = a.Input(0).type;
  const auto to = ElementTypeFromCode(a.Int("to"));
  if (!to) return BadAttribute("to", std::to_string(a.Int("to")), "an element type");
  if (from != ElementType::kUndefined && BitWidth(from) != BitWidth(*to)) {
    return BadAttribute("to", std::string(Name(*to)),
                        "a type as wide as " + std::string(Name(from)));
  }
  return ShapeOfFirst(a);
}

OnnxShapes OnnxSwiGluShape(const Application& a) {
  if (!a.Input(0).dims || !a.Input(1).dims) return std::vector<std::optional<Dims>>{std::nullopt};
  if (Differ(*a.Input(0).dims, *a.Input(1).dims)) {
    return BadInput(a, 1, "shape " + ShapeText(*a.Input(1).dims), ShapeText(*a.Input(0).dims));
  }
  Dims dims = *a.Input(0).dims;
  for (std::size_t i = 0; i < dims.size(); ++i) dims[i] = EitherOf(dims[i], (*a.Input(1).dims)[i]);
  return std::vector<std::optional<Dims>>{std::move(dims)};
}

// Types ------------------------------------------------------------------------------------------

// That of an attribute; otherwise that of input 0, or the default of the row.
ElementType OnnxTypeOf(const Application& a, std::string_view attribute) {
  const AttributeRule* rule = a.schema.FindAttribute(attribute, a.opset);
  const bool has_default = rule != nullptr && std::holds_alternative<std::int64_t>(rule->otherwise);
  if (a.Find(attribute) == nullptr && !has_default) return a.Input(0).type;
  return ElementTypeFromCode(a.Int(attribute)).value_or(ElementType::kUndefined);
}
ElementType OnnxDtype(const Application& a, std::size_t) { return OnnxTypeOf(a, "dtype"); }
ElementType OnnxTypeTo(const Application& a, std::size_t) { return OnnxTypeOf(a, "to"); }

// graph.C9: an attribute that names a type has the code of one.
Result<void> OnnxIsType(const Application& a, std::string_view attribute) {
  const Attribute* found = a.Find(attribute);
  if (found == nullptr || (found->i != 0 && ElementTypeFromCode(found->i))) return {};
  return BadAttribute(attribute, std::to_string(found->i), "the code of an element type");
}

OnnxShapes OnnxLikeShape(const Application& a) {
  QTX_RETURN_IF_ERROR(OnnxIsType(a, "dtype"));
  return ShapeOfFirst(a);
}

OnnxShapes OnnxEyeShape(const Application& a) {
  QTX_RETURN_IF_ERROR(RankIs(0, 2)(a));
  return OnnxLikeShape(a);
}

// Generators -------------------------------------------------------------------------------------

OnnxShapes OnnxRandomShape(const Application& a) {
  QTX_RETURN_IF_ERROR(OnnxIsType(a, "dtype"));
  const Attribute* shape = a.Find("shape");
  if (shape == nullptr) return std::vector<std::optional<Dims>>{std::nullopt};
  for (const std::int64_t size : shape->ints) {
    if (size < 0) return BadAttribute("shape", std::to_string(size), "at least 0");
  }
  return std::vector<std::optional<Dims>>{shape->ints};
}

OnnxShapes OnnxMultinomialShape(const Application& a) {
  const ElementType type = OnnxDtype(a, 0);
  if (type != ElementType::kInt32 && type != ElementType::kInt64) {
    return BadAttribute("dtype", std::to_string(a.Int("dtype")), "INT32 or INT64");
  }
  OnnxSizes sizes;
  QTX_RETURN_IF_ERROR(sizes.Take(a, 0, "B_"));
  const std::int64_t samples = a.Int("sample_size");
  return std::vector<std::optional<Dims>>{Dims{sizes['B'], samples}};
}

// The first element, where it is known.
std::optional<double> OnnxNumber(const ValueFacts& value) {
  if (const auto integer = OnnxScalar(value)) return static_cast<double>(*integer);
  const auto floats = FloatsOf(value);
  return floats && floats->size() == 1 ? std::optional(floats->front()) : std::nullopt;
}

// max(ceil((limit - start) / delta), 0) of integers; nullopt where that is past int64.
std::optional<std::int64_t> OnnxRangeCount(std::int64_t start, std::int64_t limit,
                                           std::int64_t delta) {
  std::int64_t distance = 0;
  if (delta == 0 || __builtin_sub_overflow(limit, start, &distance)) return std::nullopt;
  if (delta == -1)
    return distance == INT64_MIN ? std::nullopt
                                 : std::optional(std::max<std::int64_t>(-distance, 0));
  const std::int64_t whole = distance / delta;
  const bool more = distance % delta != 0 && (distance < 0) == (delta < 0);
  return std::max<std::int64_t>(whole + (more ? 1 : 0), 0);
}

OnnxShapes OnnxRangeShape(const Application& a) {
  std::int64_t count = kUnknownSize;
  const auto start = OnnxScalar(a.Input(0)), limit = OnnxScalar(a.Input(1)),
             delta = OnnxScalar(a.Input(2));
  if (start && limit && delta) {
    if (*delta == 0) return BadInput(a, 2, "0", "another value");
    count = OnnxRangeCount(*start, *limit, *delta).value_or(kUnknownSize);
  } else if (const auto first = OnnxNumber(a.Input(0)), end = OnnxNumber(a.Input(1)),
             step = OnnxNumber(a.Input(2));
             first && end && step) {
    const double steps = std::ceil((*end - *first) / *step);
    if (std::isfinite(steps) && steps < 1e15) {
      count = static_cast<std::int64_t>(std::max(steps, 0.0));
    }
  }
  return std::vector<std::optional<Dims>>{Dims{count}};
}

OnnxShapes OnnxConstantOfShapeShape(const Application& a) {
  QTX_RETURN_IF_ERROR(RankIs(0, 1)(a));
  const auto sizes = IntegersOf(a.Input(0));
  if (!sizes) return std::vector{DimsOfRank(LengthOf(a.Input(0)))};
  for (const std::int64_t size : *sizes) {
    if (size < 0) return BadInput(a, 0, "size " + std::to_string(size), "at least 0");
  }
  return std::vector<std::optional<Dims>>{*sizes};
}

ElementType OnnxConstantOfShapeType(const Application& a, std::size_t) {
  const Attribute* value = a.Find("value");
  return value != nullptr && value->t ? value->t->data_type : ElementType::kFloat;
}

// A sequence has no shape.
OnnxShapes OnnxSequenceShape(const Application& a) {
  QTX_RETURN_IF_ERROR(OnnxIsType(a, "dtype"));
  return std::vector<std::optional<Dims>>{std::nullopt};
}

OnnxShapes OnnxScalarShape(const Application&) { return std::vector<std::optional<Dims>>{Dims()}; }

}  // namespace

void AddOnnxElementwise(std::vector<OpSchema>& rows) {
  for (const std::string_view op_type : {"Acos",
                                         "Acosh",
                                         "Asin",
                                         "Asinh",
                                         "Atan",
                                         "Atanh",
                                         "BitwiseNot",
                                         "CastLike",
                                         "Ceil",
                                         "Celu",
                                         "Cos",
                                         "Cosh",
                                         "CumProd",
                                         "CumSum",
                                         "Floor",
                                         "GroupNormalization",
                                         "IsInf",
                                         "IsNaN",
                                         "LRN",
                                         "LpNormalization",
                                         "Not",
                                         "RegexFullMatch",
                                         "Round",
                                         "Scatter",
                                         "ScatterElements",
                                         "Selu",
                                         "Shrink",
                                         "Sign",
                                         "Sin",
                                         "Sinh",
                                         "Softsign",
                                         "Swish",
                                         "Tan",
                                         "ThresholdedRelu",
                                         "MeanVarianceNormalization"}) {
    rows.push_back({.op_type = op_type, .shape = ShapeOfFirst});
  }
  for (const std::string_view op_type :
       {"And", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Equal", "Greater",
        "GreaterOrEqual", "Less", "LessOrEqual", "Mod", "Or", "StringConcat", "Xor"}) {
    rows.push_back({.op_type = op_type, .shape = OnnxBroadcastShape});
  }
  rows.push_back({.op_type = "BitCast", .shape = OnnxBitCastShape, .type = OnnxTypeTo});
  rows.push_back({.op_type = "Dropout", .shape = OnnxDropoutShape});
  rows.push_back({.op_type = "Hardmax",
                  .attributes = {{"axis", AttributeType::kInt, 1, false, 0, 12},
                                 {"axis", AttributeType::kInt, -1, false, 13}},
                  .shape = OnnxHardmaxShape});
  rows.push_back({.op_type = "SwiGLU", .shape = OnnxSwiGluShape});
  rows.push_back({.op_type = "Trilu", .shape = OnnxShapeOfRankAtLeast<2>});
}

void AddOnnxGenerators(std::vector<OpSchema>& rows) {
  const auto dtype = [](std::int64_t otherwise) {
    return AttributeRule{"dtype", AttributeType::kInt, otherwise};
  };
  for (const std::string_view op_type : {"Bernoulli", "RandomNormalLike", "RandomUniformLike"}) {
    rows.push_back({.op_type = op_type, .shape = OnnxLikeShape, .type = OnnxDtype});
  }
  for (const std::string_view op_type : {"RandomNormal", "RandomUniform"}) {
    rows.push_back({.op_type = op_type,
                    .attributes = {dtype(1)},
                    .shape = OnnxRandomShape,
                    .type = OnnxDtype});
  }
  rows.push_back({.op_type = "EyeLike", .shape = OnnxEyeShape, .type = OnnxDtype});
  rows.push_back({.op_type = "Multinomial",
                  .attributes = {dtype(6), {"sample_size", AttributeType::kInt, 1}},
                  .shape = OnnxMultinomialShape,
                  .type = OnnxDtype});
  rows.push_back({.op_type = "Range", .shape = OnnxRangeShape});
  rows.push_back({.op_type = "ConstantOfShape",
                  .shape = OnnxConstantOfShapeShape,
                  .type = OnnxConstantOfShapeType});
  rows.push_back({.op_type = "SequenceEmpty", .shape = OnnxSequenceShape});
  for (const std::string_view op_type : {"OptionalHasElement", "SequenceLength", "Size"}) {
    rows.push_back({.op_type = op_type, .shape = OnnxScalarShape});
  }
}

}  // namespace qtx::format::catalogue
