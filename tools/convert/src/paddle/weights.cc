// Quantized constants: stored as integers, or still to be quantized.
#include <algorithm>
#include <cmath>

#include "paddle/grid.h"

namespace qtx::convert::paddle {
namespace {

using format::ElementType;
using format::Tensor;

Result<void> CheckChannels(const Op& op, const Tensor& tensor, const Grid& grid) {
  if (!grid.axis) {
    if (grid.max_abs.size() <= 1) return {};
    return Invalid(op, "several scales without an axis");
  }
  const auto axis = static_cast<std::size_t>(*grid.axis);
  const std::size_t count = std::max(grid.max_abs.size(), grid.scale.size());
  if (axis < tensor.dims.size() && static_cast<std::size_t>(tensor.dims[axis]) == count) return {};
  return Invalid(op, std::to_string(count) + " scales along axis " + std::to_string(axis) + " of " +
                         format::ToString(tensor.dims));
}

// Integers, stored as integers or floats.
Result<std::vector<std::int64_t>> Integers(const Op& op, const Tensor& tensor, const Grid& grid) {
  std::vector<std::int64_t> values;
  if (tensor.elem_type == ElementType::kFloat) {
    for (const float value : tensor.As<float>()) {
      if (!(std::abs(value) <= 32768.0F) || value != std::floor(value))
        return Invalid(
            op, "a constant of integers has " + format::HexFloat(static_cast<double>(value)));
      values.push_back(static_cast<std::int64_t>(value));
    }
  } else if (tensor.elem_type == ElementType::kInt8 || tensor.elem_type == ElementType::kInt16) {
    values = format::UnpackIntegers(tensor);
  } else {
    return Unsupported(op, "integers in " + std::string(format::Name(tensor.elem_type)));
  }
  for (const std::int64_t value : values) {
    if (value >= -grid.quant_max - 1 && value <= grid.quant_max) continue;
    return Invalid(
        op, "a constant has " + std::to_string(value) + ", past " + std::to_string(grid.quant_max));
  }
  return values;
}

// A channel of zeros may have max_abs 0; its scale is arbitrary but must be above 0.
Result<void> MendZeros(Builder& builder, const Op& op, const Tensor& tensor,
                       const std::vector<std::int64_t>& values, Grid& grid) {
  if (std::ranges::find(grid.max_abs, 0.0F) == grid.max_abs.end()) return {};
  format::Quantization map;
  if (grid.axis && grid.max_abs.size() > 1) map.axis = {*grid.axis};
  const format::ParameterMap channel(map, tensor.dims);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0 &&
        grid.max_abs[static_cast<std::size_t>(channel(static_cast<std::int64_t>(i)))] == 0)
      return Invalid(op, "a channel of scale 0 has " + std::to_string(values[i]));
  }
  std::ranges::replace(grid.max_abs, 0.0F, static_cast<float>(grid.quant_max));
  builder.ledger().Changed(op.Name(), "scale", "0 for a channel of zeros became 1");
  return {};
}

float Inverse(float s) { return s <= 1e-30F ? 1.0F / (s + 1e-6F) : 1.0F / s; }

// The kernel's result, in its order of operations: quant_max * (1 / s) * x.
float Quantized(float x, float s, const Grid& grid) {
  const auto limit = static_cast<float>(grid.quant_max);
  const float inverse = Inverse(s);
  if (grid.away) return std::round(limit * inverse * std::clamp(x, -s, s));
  return std::clamp(std::nearbyint(limit * inverse * x), -limit - 1.0F, limit);
}

}  // namespace

Result<void> Weights(Builder& builder, const Op& op, const Tensor& tensor, Grid grid,
                     const std::string& y) {
  QTX_RETURN_IF_ERROR(CheckChannels(op, tensor, grid));
  QTX_ASSIGN_OR_RETURN(const auto values, Integers(op, tensor, grid));
  if (grid.scale.empty()) {
    QTX_RETURN_IF_ERROR(MendZeros(builder, op, tensor, values, grid));
    QTX_RETURN_IF_ERROR(FillScale(op, grid));
  }
  QTX_ASSIGN_OR_RETURN(Tensor stored, format::MakeTensor(grid.storage(), tensor.dims));
  format::PackIntegers(values, stored);
  // The values are rounded already; -quant_max - 1 belongs to the range if a value has it.
  grid.Round(values.empty() || *std::ranges::min_element(values) >= -grid.quant_max);
  grid.away = false;
  Linear(builder, "DequantizeLinear", builder.Constant(y + "/stored", std::move(stored)), y, grid);
  Annotate(builder, y, grid);
  builder.Type(y).shape = format::ToShape(tensor.dims);
  return {};
}

Result<Tensor> QuantizeConstant(const Op& op, const Tensor& tensor, Grid& grid) {
  if (tensor.elem_type != ElementType::kFloat) return Unsupported(op, "X is no FLOAT");
  format::Quantization map;
  if (grid.axis) map.axis = {*grid.axis};
  QTX_ASSIGN_OR_RETURN(const format::Dims counts, format::ParameterDims(map, tensor.dims));
  const format::ParameterMap channel(map, tensor.dims);
  grid.max_abs.assign(counts.empty() ? 1 : static_cast<std::size_t>(counts[0]), 0.0F);
  const auto reals = tensor.As<float>();
  const auto max_abs = [&](std::size_t i) -> float& {
    return grid.max_abs[static_cast<std::size_t>(channel(static_cast<std::int64_t>(i)))];
  };
  for (std::size_t i = 0; i < reals.size(); ++i) {
    if (!std::isfinite(reals[i])) return Invalid(op, "X has a value that is not finite");
    max_abs(i) = std::max(max_abs(i), std::abs(reals[i]));
  }
  Tensor stored = tensor;
  for (std::size_t i = 0; i < reals.size(); ++i)
    stored.As<float>()[i] = Quantized(reals[i], max_abs(i), grid);
  return stored;
}

}  // namespace qtx::convert::paddle
