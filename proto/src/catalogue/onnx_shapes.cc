#include "onnx_shapes.h"

#include <algorithm>
#include <string>

#include "rules.h"

namespace qtx::format::catalogue {
namespace {

std::vector<OpSchema> MakeOnnxRows() {
  std::vector<OpSchema> rows;
  AddOnnxElementwise(rows);
  AddOnnxGenerators(rows);
  AddOnnxMovement(rows);
  AddOnnxNetworks(rows);
  AddOnnxSignals(rows);
  for (OpSchema& row : rows) row.shape_clause = "graph.C9";
  std::ranges::sort(rows, {}, &OpSchema::op_type);
  return rows;
}

// The type that the table's constraints leave for output `i`: that of an input under the same one,
// or the only type that it has.
ElementType TypeByConstraint(const OnnxOperator& op, const Application& a, std::size_t i) {
  const auto outputs = op.Outputs();
  const OnnxParameter& output = outputs[std::min(i, outputs.size() - 1)];
  if (!output.homogeneous) return ElementType::kUndefined;
  const auto inputs = op.Inputs();
  for (std::size_t k = 0; k < a.inputs.size(); ++k) {
    const OnnxParameter& input = inputs[std::min(k, inputs.size() - 1)];
    if (input.types == output.types && input.homogeneous && a.inputs[k].given) {
      return a.inputs[k].type;
    }
  }
  const TypeSet set = op.Types()[output.types];
  for (int code = 1; code < 32; ++code) {
    const ElementType type{code};
    if (set == TypeSet{type}) return type;
  }
  return ElementType::kUndefined;
}

Result<void> InferOnnxType(const OnnxOperator& op, Application& a, std::size_t i) {
  ValueFacts& output = a.outputs[i];
  ElementType type = a.schema.type != nullptr ? a.schema.type(a, i) : ElementType::kUndefined;
  if (type == ElementType::kUndefined) type = TypeByConstraint(op, a, i);
  if (type == ElementType::kUndefined || type == output.type) return {};
  if (output.type != ElementType::kUndefined) {
    return BadOutput(a, i, "type " + std::string(Name(output.type)), std::string(Name(type)));
  }
  output.type = type;
  return {};
}

Error OfOnnxShape(Error error) {
  if (error.clause.empty()) error.clause = "graph.C9";
  return error;
}

}  // namespace

Result<void> OnnxSizes::Set(char letter, std::int64_t size) {
  std::int64_t& known = sizes_[static_cast<std::size_t>(letter)];
  if (Differ(known, size)) {
    return Refuse("", "found size " + std::to_string(size) + ", expected " + std::to_string(known));
  }
  known = EitherOf(known, size);
  return {};
}

Result<void> OnnxSizes::Take(const Application& a, std::size_t input, std::string_view letters) {
  const Dims* dims = DimsOf(a.Input(input));
  if (dims == nullptr) return {};
  QTX_RETURN_IF_ERROR(RankIs(input, letters.size())(a));
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const char letter = letters[i];
    if (letter == '_') continue;
    const bool digit = letter >= '0' && letter <= '9';
    const std::int64_t expected = digit ? letter - '0' : (*this)[letter];
    if (Differ((*dims)[i], expected)) {
      return BadInput(a, input, "shape " + ShapeText(*dims),
                      std::to_string(expected) + " for axis " + std::to_string(i));
    }
    if (!digit) QTX_RETURN_IF_ERROR(Set(letter, (*dims)[i]));
  }
  return {};
}

Dims OnnxSizes::Shape(std::string_view letters) const {
  Dims dims;
  for (const char letter : letters) {
    dims.push_back(letter >= '0' && letter <= '9' ? letter - '0' : (*this)[letter]);
  }
  return dims;
}

std::optional<std::int64_t> OnnxScalar(const ValueFacts& value) {
  const auto elements = IntegersOf(value);
  if (!elements || elements->size() != 1) return std::nullopt;
  return elements->front();
}

Result<void> OnnxIsScalar(const Application& a, std::size_t i) { return RankIs(i, 0)(a); }

const OpSchema* FindOnnxShape(std::string_view op_type) {
  static const std::vector<OpSchema> kRows = MakeOnnxRows();
  const auto found = std::ranges::lower_bound(kRows, op_type, {}, &OpSchema::op_type);
  return found != kRows.end() && found->op_type == op_type ? &*found : nullptr;
}

Result<void> InferOnnxOutputs(const OnnxOperator& op, Application& a) {
  for (std::size_t i = 0; i < a.outputs.size(); ++i) {
    if (!a.outputs[i].given) continue;
    auto type = InferOnnxType(op, a, i);
    if (!type.has_value()) return OfOnnxShape(std::move(type).error());
  }
  auto shapes = CheckShapes(a);
  if (!shapes.has_value()) return OfOnnxShape(std::move(shapes).error());
  return {};
}

}  // namespace qtx::format::catalogue
