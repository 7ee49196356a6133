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

// A sequence has no shape.
OnnxShapes OnnxSequenceShape(const Application& a) {
  QTX_RETURN_IF_ERROR(OnnxIsType(a, "dtype"));
  return std::vector<std::optional<Dims>>{std::nullopt};
}

OnnxShapes OnnxScalarShape(const Application&) { return std::vector<std::optional<Dims>>{Dims()}; }

}  // namespace

void AddOnnxElementwise(std::vector<OpSchema>& rows) {
  for (const std::string_view op_type :
       {"RegexFullMatch", "Scatter", "MeanVarianceNormalization"}) {
    rows.push_back({.op_type = op_type, .shape = ShapeOfFirst});
  }
  rows.push_back({.op_type = "StringConcat", .shape = OnnxBroadcastShape});
  rows.push_back({.op_type = "BitCast", .shape = OnnxBitCastShape, .type = OnnxTypeTo});
  rows.push_back({.op_type = "SwiGLU", .shape = OnnxSwiGluShape});
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
  rows.push_back({.op_type = "Multinomial",
                  .attributes = {dtype(6), {"sample_size", AttributeType::kInt, 1}},
                  .shape = OnnxMultinomialShape,
                  .type = OnnxDtype});
  rows.push_back({.op_type = "SequenceEmpty", .shape = OnnxSequenceShape});
  for (const std::string_view op_type : {"OptionalHasElement", "SequenceLength"}) {
    rows.push_back({.op_type = op_type, .shape = OnnxScalarShape});
  }
}

}  // namespace qtx::format::catalogue
