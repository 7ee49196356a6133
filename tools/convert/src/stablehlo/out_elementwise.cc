// Operators on elements: operands are broadcast first, since StableHLO's take equal shapes.
#include <algorithm>
#include <limits>

#include "errors.h"
#include "stablehlo/out.h"

namespace qtx::convert {
namespace {

using format::ElementType;
using format::Node;

// All operands, in the dimensions of the result.
Result<std::vector<HloValue>> Broadcasted(StablehloWriter& writer, const Node& node,
                                          const HloType& result) {
  std::vector<HloValue> operands;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    QTX_ASSIGN_OR_RETURN(HloValue operand, writer.Input(node, i));
    QTX_ASSIGN_OR_RETURN(operand, writer.Broadcast(operand, result.dims));
    operands.push_back(std::move(operand));
  }
  return operands;
}

Result<std::string_view> OperatorOf(const OutRow& row, ElementType type) {
  const bool logical = type == ElementType::kBool;
  const std::string_view name = logical ? row.on_bool : row.hlo;
  if (!name.empty()) return name;
  return Unsupported("", "on " + std::string(format::Name(type)));
}

// The bound of a Clip: an input of one element, or none.
Result<std::optional<HloValue>> Bound(StablehloWriter& writer, const Node& node, std::size_t i) {
  if (!StablehloWriter::Has(node, i)) return std::optional<HloValue>();
  QTX_ASSIGN_OR_RETURN(const HloValue bound, writer.Input(node, i));
  QTX_ASSIGN_OR_RETURN(HloValue scalar, writer.Reshape(bound, {}));
  return std::optional(std::move(scalar));
}

}  // namespace

// With more than two operands, which Max and Min may have, nothing is rounded but the last result.
Result<void> WriteElementwise(StablehloWriter& writer, const Node& node, const OutRow& row) {
  QTX_ASSIGN_OR_RETURN(const HloType result, writer.OutputType(node));
  QTX_ASSIGN_OR_RETURN(auto operands, Broadcasted(writer, node, result));
  QTX_ASSIGN_OR_RETURN(const std::string_view name, OperatorOf(row, result.elem_type));
  if (operands.size() == 1) return writer.Bind(node, operands[0]);
  if (operands.size() == 2) {
    // Pow's exponent may have a type of its own.
    if (!result.quantization && !operands[1].type.quantization &&
        operands[1].type.elem_type != result.elem_type) {
      QTX_ASSIGN_OR_RETURN(operands[1], writer.Reals(operands[1], result.elem_type));
    }
    QTX_ASSIGN_OR_RETURN(HloValue value, Compute(writer, name, operands, result));
    return writer.Bind(node, std::move(value));
  }
  const HloType real = RealsOf(result);
  QTX_ASSIGN_OR_RETURN(HloValue value, writer.Reals(operands[0], real.elem_type));
  for (std::size_t i = 1; i < operands.size(); ++i) {
    QTX_ASSIGN_OR_RETURN(const HloValue next, writer.Reals(operands[i], real.elem_type));
    QTX_ASSIGN_OR_RETURN(value, writer.Op(name, {value, next}, real));
  }
  return writer.Bind(node, std::move(value));
}

Result<void> WriteUnary(StablehloWriter& writer, const Node& node, const OutRow& row) {
  QTX_ASSIGN_OR_RETURN(const HloType result, writer.OutputType(node));
  QTX_ASSIGN_OR_RETURN(const HloValue x, writer.Input(node, 0));
  QTX_ASSIGN_OR_RETURN(const std::string_view name, OperatorOf(row, result.elem_type));
  QTX_ASSIGN_OR_RETURN(HloValue value, Compute(writer, name, {x}, result));
  return writer.Bind(node, std::move(value));
}

// Erf and Reciprocal: over reals.
Result<void> WriteReal(StablehloWriter& writer, const Node& node, const OutRow& row) {
  QTX_ASSIGN_OR_RETURN(const HloType result, writer.OutputType(node));
  QTX_ASSIGN_OR_RETURN(HloValue x, writer.Input(node, 0));
  const HloType real = RealsOf(result);
  QTX_ASSIGN_OR_RETURN(x, writer.Reals(x, real.elem_type));
  std::vector<HloValue> operands = {x};
  if (row.hlo == "stablehlo.divide") {
    QTX_ASSIGN_OR_RETURN(HloValue one, writer.Splat(1, x.type));
    operands.insert(operands.begin(), std::move(one));
    QTX_ASSIGN_OR_RETURN(HloValue value, writer.Op(row.hlo, operands, real));
    return writer.Bind(node, std::move(value));
  }
  QTX_ASSIGN_OR_RETURN(HloValue value, writer.Op(row.hlo, operands, real));
  return writer.Bind(node, std::move(value));
}

Result<void> WriteCompare(StablehloWriter& writer, const Node& node, const OutRow& row) {
  QTX_ASSIGN_OR_RETURN(const HloType result, writer.OutputType(node));
  QTX_ASSIGN_OR_RETURN(auto operands, Broadcasted(writer, node, result));
  ElementType type = operands[0].type.elem_type;
  if (!(operands[0].type == operands[1].type) || operands[0].type.quantization) {
    type = ComputedType(operands[0].type);
    for (HloValue& operand : operands) {
      QTX_ASSIGN_OR_RETURN(operand, writer.Reals(operand, type));
    }
  }
  const bool is_integer = format::IsIntegerStorage(type);
  const bool is_signed = is_integer && format::StorageRange(type).min < 0;
  const std::string kind = is_signed                                  ? "SIGNED"
                           : is_integer || type == ElementType::kBool ? "UNSIGNED"
                                                                      : "FLOAT";
  QTX_ASSIGN_OR_RETURN(HloValue value, writer.Op("stablehlo.compare " + std::string(row.hlo) + ",",
                                                 operands, result, ", " + kind));
  return writer.Bind(node, std::move(value));
}

// Cast, and what changes the type alone; Bind casts.
Result<void> WriteCast(StablehloWriter& writer, const Node& node, const OutRow&) {
  QTX_ASSIGN_OR_RETURN(const HloType to, writer.OutputType(node));
  if (node.op_type == "Cast" && !to.quantization && format::IsSmallFloat(to.elem_type) &&
      to.elem_type != ElementType::kFloat4E2M1 && node.IntOr("saturate", 1) != 0)
    return Unsupported("", "with saturate to " + std::string(format::Name(to.elem_type)) +
                               ", which StableHLO's convert does not");
  QTX_ASSIGN_OR_RETURN(const HloValue x, writer.Input(node, 0));
  return writer.Bind(node, x);
}

// Clip: an operand of clamp that ONNX leaves out is the extreme of the type.
Result<void> WriteClip(StablehloWriter& writer, const Node& node, const OutRow&) {
  QTX_ASSIGN_OR_RETURN(const HloType result, writer.OutputType(node));
  QTX_ASSIGN_OR_RETURN(HloValue x, writer.Input(node, 0));
  QTX_ASSIGN_OR_RETURN(std::optional<HloValue> low, Bound(writer, node, 1));
  QTX_ASSIGN_OR_RETURN(std::optional<HloValue> high, Bound(writer, node, 2));
  const HloType real = RealsOf(x.type);
  const bool direct = (!low || low->type.quantization == x.type.quantization) &&
                      (!high || high->type.quantization == x.type.quantization) &&
                      (!x.type.quantization || x.type.quantization->axis.empty());
  HloType computed = direct ? x.type : real;
  if (!direct) {
    QTX_ASSIGN_OR_RETURN(x, writer.Reals(x, real.elem_type));
  }
  const auto prepare = [&](std::optional<HloValue>& bound, double extreme) -> Result<void> {
    if (bound && direct) return {};
    if (bound) {
      QTX_ASSIGN_OR_RETURN(bound, writer.Reals(*bound, real.elem_type));
      return {};
    }
    HloType scalar = computed;
    scalar.dims.clear();
    QTX_ASSIGN_OR_RETURN(bound, writer.Scalar(extreme, scalar));
    return {};
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  QTX_RETURN_IF_ERROR(prepare(low, -kInfinity));
  QTX_RETURN_IF_ERROR(prepare(high, kInfinity));
  QTX_ASSIGN_OR_RETURN(HloValue value,
                       writer.Op("stablehlo.clamp", {*low, x, *high}, std::move(computed)));
  return writer.Bind(node, std::move(value));
}

// maximum(x, 0), with the zero that x's type has.
Result<void> WriteRelu(StablehloWriter& writer, const Node& node, const OutRow&) {
  QTX_ASSIGN_OR_RETURN(const HloType result, writer.OutputType(node));
  QTX_ASSIGN_OR_RETURN(HloValue x, writer.Input(node, 0));
  const auto& q = x.type.quantization;
  const bool direct = q && q->axis.empty() && AgreeInStorage({x}, result);
  if (!direct) {
    QTX_ASSIGN_OR_RETURN(x, writer.Reals(x, ComputedType(x.type)));
  }
  QTX_ASSIGN_OR_RETURN(const HloValue zero, writer.Splat(0, x.type));
  QTX_ASSIGN_OR_RETURN(
      HloValue value, writer.Op("stablehlo.maximum", {x, zero}, direct ? result : RealsOf(x.type)));
  return writer.Bind(node, std::move(value));
}

// The remainder of StableHLO has the sign of the dividend, as fmod.
Result<void> WriteMod(StablehloWriter& writer, const Node& node, const OutRow& row) {
  if (node.IntOr("fmod", 0) == 0)
    return Unsupported("", "with the sign of the divisor; StableHLO's has that of the dividend");
  return WriteElementwise(writer, node, row);
}

// All of select's values have one type.
Result<void> WriteWhere(StablehloWriter& writer, const Node& node, const OutRow&) {
  QTX_ASSIGN_OR_RETURN(const HloType result, writer.OutputType(node));
  QTX_ASSIGN_OR_RETURN(auto operands, Broadcasted(writer, node, result));
  const bool direct = operands[1].type == result && operands[2].type == result;
  const HloType type = direct ? result : RealsOf(result);
  for (std::size_t i = 1; i < 3 && !direct; ++i) {
    QTX_ASSIGN_OR_RETURN(operands[i], writer.Reals(operands[i], type.elem_type));
  }
  QTX_ASSIGN_OR_RETURN(HloValue value, writer.Op("stablehlo.select", operands, type));
  return writer.Bind(node, std::move(value));
}

}  // namespace qtx::convert
