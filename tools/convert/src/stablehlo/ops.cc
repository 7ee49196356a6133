#include "stablehlo/ops.h"

#include <algorithm>
#include <array>
#include <set>

#include "errors.h"
#include "stablehlo/dense.h"

namespace qtx::convert {
namespace {

using enum OnIntegers;

constexpr std::array kRows = {
    StablehloRow{"stablehlo.abs", 1, ConvertElementwise, "Abs", "", kAll},
    StablehloRow{"stablehlo.add", 2, ConvertElementwise, "Add", "Or", kAll},
    StablehloRow{"stablehlo.and", 2, ConvertElementwise, "BitwiseAnd", "And", kAll},
    StablehloRow{"stablehlo.bitcast_convert", 1, ConvertBitcast},
    StablehloRow{"stablehlo.broadcast_in_dim", 1, ConvertBroadcastInDim},
    StablehloRow{"stablehlo.ceil", 1, ConvertElementwise, "Ceil"},
    StablehloRow{"stablehlo.clamp", 3, ConvertClamp},
    StablehloRow{"stablehlo.compare", 2, ConvertCompare},
    StablehloRow{"stablehlo.concatenate", -1, ConvertConcatenate},
    StablehloRow{"stablehlo.constant", 0, ConvertConstant},
    StablehloRow{"stablehlo.convert", 1, ConvertCast},
    StablehloRow{"stablehlo.convolution", 2, ConvertConvolution},
    StablehloRow{"stablehlo.cosine", 1, ConvertElementwise, "Cos"},
    StablehloRow{"stablehlo.divide", 2, ConvertElementwise, "Div", "", kAll},
    StablehloRow{"stablehlo.dot", 2, ConvertDotGeneral},
    StablehloRow{"stablehlo.dot_general", 2, ConvertDotGeneral},
    StablehloRow{"stablehlo.exponential", 1, ConvertElementwise, "Exp"},
    StablehloRow{"stablehlo.exponential_minus_one", 1, ConvertInDouble},
    StablehloRow{"stablehlo.floor", 1, ConvertElementwise, "Floor"},
    StablehloRow{"stablehlo.gather", 2, ConvertGather},
    StablehloRow{"stablehlo.iota", 0, ConvertIota},
    StablehloRow{"stablehlo.is_finite", 1, ConvertIsFinite},
    StablehloRow{"stablehlo.log", 1, ConvertElementwise, "Log"},
    StablehloRow{"stablehlo.log_plus_one", 1, ConvertInDouble},
    StablehloRow{"stablehlo.logistic", 1, ConvertElementwise, "Sigmoid"},
    StablehloRow{"stablehlo.maximum", 2, ConvertElementwise, "Max", "Or", kAll},
    StablehloRow{"stablehlo.minimum", 2, ConvertElementwise, "Min", "And", kAll},
    StablehloRow{"stablehlo.multiply", 2, ConvertElementwise, "Mul", "And", kAll},
    StablehloRow{"stablehlo.negate", 1, ConvertElementwise, "Neg", "", kSigned},
    StablehloRow{"stablehlo.not", 1, ConvertElementwise, "BitwiseNot", "Not", kAll},
    StablehloRow{"stablehlo.or", 2, ConvertElementwise, "BitwiseOr", "Or", kAll},
    StablehloRow{"stablehlo.pad", 2, ConvertPad},
    StablehloRow{"stablehlo.power", 2, ConvertElementwise, "Pow", "", kWide},
    StablehloRow{"stablehlo.reduce", 2, ConvertReduce},
    StablehloRow{"stablehlo.reduce_window", 2, ConvertReduceWindow},
    StablehloRow{"stablehlo.remainder", 2, ConvertRemainder, "Mod", "", kAll},
    StablehloRow{"stablehlo.reshape", 1, ConvertReshape},
    StablehloRow{"stablehlo.reverse", 1, ConvertReverse},
    StablehloRow{"stablehlo.round_nearest_afz", 1, ConvertRoundAfz},
    StablehloRow{"stablehlo.round_nearest_even", 1, ConvertElementwise, "Round"},
    StablehloRow{"stablehlo.rsqrt", 1, ConvertRsqrt},
    StablehloRow{"stablehlo.select", 3, ConvertSelect},
    StablehloRow{"stablehlo.sign", 1, ConvertElementwise, "Sign", "", kAll},
    StablehloRow{"stablehlo.sine", 1, ConvertElementwise, "Sin"},
    StablehloRow{"stablehlo.slice", 1, ConvertSlice},
    StablehloRow{"stablehlo.sqrt", 1, ConvertElementwise, "Sqrt"},
    StablehloRow{"stablehlo.subtract", 2, ConvertElementwise, "Sub", "", kAll},
    StablehloRow{"stablehlo.tan", 1, ConvertElementwise, "Tan"},
    StablehloRow{"stablehlo.tanh", 1, ConvertElementwise, "Tanh"},
    StablehloRow{"stablehlo.transpose", 1, ConvertTranspose},
    StablehloRow{"stablehlo.uniform_dequantize", 1, ConvertCast},
    StablehloRow{"stablehlo.uniform_quantize", 1, ConvertCast},
    StablehloRow{"stablehlo.xor", 2, ConvertElementwise, "BitwiseXor", "Xor", kAll},
    StablehloRow{"chlo.erf", 1, ConvertElementwise, "Erf"},
};

// What import.cc and bodies of reductions read.
constexpr std::array<std::string_view, 10> kStructure = {"return",
                                                         "func.return",
                                                         "stablehlo.return",
                                                         "call",
                                                         "func.call",
                                                         "check.expect_eq_const",
                                                         "check.expect_almost_eq_const",
                                                         "check.expect_eq",
                                                         "check.expect_almost_eq",
                                                         "stablehlo.custom_call"};

const StablehloRow* RowOf(std::string_view name) {
  const auto* found = std::ranges::find(kRows, name, &StablehloRow::name);
  return found == kRows.end() ? nullptr : found;
}

Error Malformed(StablehloBuilder& builder, const MlirOp& op, std::string_view what) {
  return Invalid(builder.Place(op), std::string(what));
}

}  // namespace

bool IsStablehloSyntax(std::string_view name) {
  return RowOf(name) != nullptr || std::ranges::find(kStructure, name) != kStructure.end();
}

std::string NoFormOf(std::string_view name) {
  std::string shown;
  for (const char c : name.substr(0, 64)) shown += c >= ' ' && c <= '~' ? c : '?';
  return "operator '" + shown + "' has no form in ONNX that is read here";
}

Result<void> ConvertStablehloOp(StablehloBuilder& builder, const MlirOp& op) {
  const StablehloRow* row = RowOf(op.name);
  if (row == nullptr) return Unsupported(builder.Place(op), NoFormOf(op.name));
  if (row->operands >= 0 && op.operands.size() != static_cast<std::size_t>(row->operands)) {
    return Malformed(builder, op,
                     "found " + std::to_string(op.operands.size()) + " operands, expected " +
                         std::to_string(row->operands));
  }
  auto converted = row->convert(builder, op, *row);
  if (converted.has_value() || converted.error().where.starts_with("line ")) return converted;
  return At(builder.Place(op), converted.error());
}

Result<std::vector<std::int64_t>> IntsOf(StablehloBuilder& builder, const MlirOp& op,
                                         const MlirAttribute* attribute,
                                         std::vector<std::int64_t> fallback) {
  if (attribute == nullptr) return fallback;
  std::vector<std::int64_t> ints;
  if (attribute->kind == MlirAttribute::Kind::kDense) {
    format::TensorType type = attribute->type[0];
    QTX_ASSIGN_OR_RETURN(const format::Tensor tensor,
                         DenseTensor(builder.text(), *attribute, type, builder.repeated()));
    if (!format::IsIntegerStorage(type.elem_type) && type.elem_type != format::ElementType::kBool)
      return Malformed(builder, op, "an attribute of floats, expected integers");
    return format::UnpackIntegers(tensor);
  }
  if (attribute->kind == MlirAttribute::Kind::kInteger ||
      attribute->kind == MlirAttribute::Kind::kBool)
    return std::vector{attribute->integer};
  if (attribute->kind != MlirAttribute::Kind::kList)
    return Malformed(builder, op, "an attribute that is no list of integers");
  for (const MlirAttribute& element : attribute->list) {
    QTX_ASSIGN_OR_RETURN(const auto inner, IntsOf(builder, op, &element, {}));
    ints.insert(ints.end(), inner.begin(), inner.end());
  }
  return ints;
}

Result<std::vector<std::int64_t>> IntsOf(StablehloBuilder& builder, const MlirOp& op,
                                         std::initializer_list<std::string_view> names,
                                         std::vector<std::int64_t> fallback) {
  return IntsOf(builder, op, op.Find(names), std::move(fallback));
}

Result<void> CheckInts(StablehloBuilder& builder, const MlirOp& op, std::string_view what,
                       const std::vector<std::int64_t>& ints, std::size_t count,
                       std::int64_t least) {
  if (ints.size() == count && std::ranges::all_of(ints, [&](std::int64_t i) { return i >= least; }))
    return {};
  return Malformed(builder, op,
                   std::string(what) + ": expected " + std::to_string(count) +
                       " values of at least " + std::to_string(least));
}

Result<void> CheckAxes(StablehloBuilder& builder, const MlirOp& op, std::string_view what,
                       const std::vector<std::int64_t>& axes, std::size_t rank) {
  std::set<std::int64_t> seen;
  for (const std::int64_t axis : axes) {
    if (axis < 0 || axis >= static_cast<std::int64_t>(rank) || !seen.insert(axis).second)
      return Malformed(builder, op,
                       std::string(what) + ": expected different axes of " + std::to_string(rank) +
                           ", found " + std::to_string(axis));
  }
  return {};
}

}  // namespace qtx::convert
