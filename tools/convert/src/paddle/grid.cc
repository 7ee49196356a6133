#include "paddle/grid.h"

#include <algorithm>
#include <cmath>

namespace qtx::convert::paddle {
namespace {

using format::ElementType;
using format::Tensor;

Result<void> RefuseOffset(const Builder& builder, const Op& op) {
  if (!builder.Has(op, "ZeroPoint")) return {};
  const Tensor* offset = builder.Param(op, "ZeroPoint");
  if (offset == nullptr) return Unsupported(op, "ZeroPoint is computed at run time");
  // Zero has only zero bits in every type, except the sign of a float.
  const auto zero = [](std::byte b) { return b == std::byte{0}; };
  if (std::ranges::all_of(offset->bytes, zero)) return {};
  return Unsupported(op, "a ZeroPoint that is not 0");
}

format::Quantization Annotation(const Grid& grid) {
  format::Quantization q;
  q.scale = grid.scale;
  if (grid.axis) q.axis = {*grid.axis};
  q.storage_type = grid.storage();
  q.scheme = format::Scheme::kSymmetric;
  const format::IntegerRange whole = format::StorageRange(q.storage_type);
  if (grid.quant_min != whole.min) q.quant_min = grid.quant_min;
  if (grid.quant_max != whole.max) q.quant_max = grid.quant_max;
  return q;
}

// Scale and zero point of a QuantizeLinear or DequantizeLinear.
std::vector<std::string> Parameters(Builder& builder, const std::string& name, const Grid& grid) {
  const auto n = static_cast<std::int64_t>(grid.scale.size());
  const format::Dims dims = grid.axis ? format::Dims{n} : format::Dims{};
  const Tensor zero = format::MakeTensor(grid.storage(), dims).value();
  return {builder.Constant(name + "/scale", TensorOf(ElementType::kFloat, dims, grid.scale.data())),
          builder.Constant(name + "/zero_point", zero)};
}

}  // namespace

Result<std::int64_t> QuantMax(const Op& op, std::int64_t bits) {
  if (bits >= 2 && bits <= 16) return (std::int64_t{1} << (bits - 1)) - 1;
  return Unsupported(op, "bit_length " + std::to_string(bits) + ", expected 2 to 16");
}

Result<std::vector<float>> FloatsOf(const Builder& builder, const Op& op,
                                    std::string_view parameter, std::size_t i) {
  const Tensor* tensor = builder.Param(op, parameter, i);
  if (tensor == nullptr)
    return Unsupported(op, std::string(parameter) + " is computed at run time");
  if (tensor->elem_type != ElementType::kFloat || tensor->bytes.empty())
    return Unsupported(op, std::string(parameter) + " is no FLOAT");
  const auto values = tensor->As<float>();
  return std::vector<float>(values.begin(), values.end());
}

Result<void> FillScale(const Op& op, Grid& grid) {
  for (const float max_abs : grid.max_abs) {
    const float scale = max_abs / static_cast<float>(grid.quant_max);
    if (!(scale > 0) || !std::isfinite(scale))
      return Invalid(op, "found scale " + format::HexFloat(static_cast<double>(max_abs)) +
                             ", expected a finite value above 0");
    grid.scale.push_back(scale);
  }
  if (grid.scale.size() == 1) grid.axis.reset();
  return {};
}

Result<Grid> GridOf(const Builder& builder, const Op& op, std::string_view parameter) {
  const auto fp8 = op.Int("qmax", 127);
  if (fp8 == 448 || fp8 == 57344) return Unsupported(op, "a float8 storage");
  Grid grid;
  QTX_ASSIGN_OR_RETURN(grid.quant_max, QuantMax(op, op.Int("bit_length", 8)));
  grid.Round(op.Int("round_type", op.type.starts_with("fake") ? 1 : 0) == 1);
  QTX_RETURN_IF_ERROR(RefuseOffset(builder, op));
  QTX_ASSIGN_OR_RETURN(grid.max_abs, FloatsOf(builder, op, parameter));
  const std::int64_t axis = op.Int("quant_axis", 0);
  if (axis >= 0 && grid.max_abs.size() > 1) grid.axis = axis;
  if (axis < 0 && grid.max_abs.size() > 1)
    return Invalid(op, "several scales, and quant_axis " + std::to_string(axis));
  return grid;
}

void Annotate(Builder& builder, const std::string& value, const Grid& grid) {
  format::TensorType& type = builder.Type(value);
  type.elem_type = ElementType::kFloat;
  type.quantization = Annotation(grid);
  const auto axes = grid.axis ? std::vector{*grid.axis} : std::vector<std::int64_t>{};
  if (!grid.max_abs.empty()) type.statistics = MaxAbs(grid.max_abs, axes, "paddle scale");
  builder.ledger().Changed(value, "scale",
                           "max_abs / " + std::to_string(grid.quant_max) + ", in binary32");
  if (grid.away) {
    builder.ledger().Changed(value, "rounding",
                             "Paddle sends ties away from zero; an arithmetic is not in the type");
  }
}

void Linear(Builder& builder, const char* op_type, const std::string& x, const std::string& y,
            const Grid& grid) {
  std::vector<std::string> inputs = {x};
  for (std::string& name : Parameters(builder, y, grid)) inputs.push_back(std::move(name));
  std::vector<format::Attribute> attributes;
  if (grid.axis) attributes.push_back(format::Attribute::Int("axis", *grid.axis));
  builder.Node(op_type, std::move(inputs), {y}, std::move(attributes));
}

void DeclareStored(Builder& builder, const std::string& value, const std::string& like,
                   const Grid& grid) {
  format::TensorType& type = builder.Type(value);
  if (const format::TensorType* known = builder.Known(like); known != nullptr && !type.shape)
    type.shape = known->shape;
  type.elem_type = grid.storage();
}

// x -> QuantizeLinear -> DequantizeLinear -> the value of `out`.
Result<std::string> Pair(Builder& builder, const Op& op, const std::string& x, const Grid& grid) {
  QTX_ASSIGN_OR_RETURN(const std::string y, builder.Out(op, "Out"));
  const std::string stored = builder.Between(y, "stored");
  DeclareStored(builder, stored, y, grid);
  Linear(builder, "QuantizeLinear", x, stored, grid);
  Linear(builder, "DequantizeLinear", stored, y, grid);
  Annotate(builder, y, grid);
  return y;
}

void Carry(Builder& builder, const std::string& from, const std::string& var) {
  const Units units = builder.units().at(from);
  const std::string raw = builder.Current(var);
  builder.units()[raw] = units;
  const format::TensorType* known = builder.Known(from);
  if (known == nullptr || !known->quantization) return;
  const format::TensorType type = *known;
  Grid grid;
  grid.scale = type.quantization->scale;
  grid.quant_max = static_cast<std::int64_t>(units.quant_max);
  grid.quant_min = format::StoredRange(grid.storage(), *type.quantization).min;
  if (type.statistics) grid.max_abs = {static_cast<float>(type.statistics->max[0])};
  const std::string y = builder.Define(var);
  const std::string stored = builder.Between(y, "stored");
  DeclareStored(builder, stored, y, grid);
  Linear(builder, "QuantizeLinear", raw, stored, grid);
  Linear(builder, "DequantizeLinear", stored, y, grid);
  Annotate(builder, y, grid);
  builder.units()[y] = units;
}

}  // namespace qtx::convert::paddle
