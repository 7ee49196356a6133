// Paddle's quantizers made QuantizeLinear and DequantizeLinear, which the import then folds into
// types. Three generations:
//   quantize_linear, dequantize_linear               integers between the two, as in ONNX
//   fake_quantize_dequantize_*                       both in one, reals before and after
//   fake_quantize_* ... fake_dequantize_max_abs      integers, kept in floats, through a whole
//   layer:
//                                                    the graph here has the reals instead, and
//                                                    Builder::units() says which they are
// Source: paddle/fluid/operators/fake_quantize_op.cc, fake_dequantize_op.cc, quantize_linear_op.cc.
#include <algorithm>
#include <cmath>

#include "paddle/grid.h"

namespace qtx::convert::paddle {
namespace {

using format::Tensor;

Result<void> QuantizeLinear(Builder& builder, const Op& op) {
  QTX_ASSIGN_OR_RETURN(Grid grid, GridOf(builder, op, "Scale"));
  QTX_RETURN_IF_ERROR(FillScale(op, grid));
  QTX_ASSIGN_OR_RETURN(const std::string x, builder.In(op, "X"));
  QTX_ASSIGN_OR_RETURN(const std::string y, builder.Out(op, "Y"));
  DeclareStored(builder, y, x, grid);
  Linear(builder, "QuantizeLinear", x, y, grid);
  builder.away()[y] = grid.away;
  return {};
}

Result<void> DequantizeLinear(Builder& builder, const Op& op) {
  QTX_ASSIGN_OR_RETURN(Grid grid, GridOf(builder, op, "Scale"));
  if (const Tensor* constant = builder.Param(op, "X"); constant != nullptr) {
    QTX_ASSIGN_OR_RETURN(const std::string y, builder.Out(op, "Y"));
    return Weights(builder, op, *constant, grid, y);
  }
  QTX_RETURN_IF_ERROR(FillScale(op, grid));
  QTX_ASSIGN_OR_RETURN(const std::string x, builder.In(op, "X"));
  QTX_ASSIGN_OR_RETURN(const std::string y, builder.Out(op, "Y"));
  const format::TensorType* type = builder.Known(x);
  if (type == nullptr || type->elem_type != grid.storage())
    return Unsupported(op, "X is not the output of a quantize_linear");
  // The preceding quantizer has clamped.
  if (const auto found = builder.away().find(x); found != builder.away().end())
    grid.Round(found->second);
  Linear(builder, "DequantizeLinear", x, y, grid);
  Annotate(builder, y, grid);
  return {};
}

// InScale: measured in training, for the whole tensor.
Result<void> Moving(Builder& builder, const Op& op) {
  if (!op.Bool("is_test", true)) return Unsupported(op, "training mode, which updates the scale");
  QTX_ASSIGN_OR_RETURN(Grid grid, GridOf(builder, op, "InScale"));
  if (grid.max_abs.size() != 1) return Invalid(op, "expected one InScale");
  QTX_RETURN_IF_ERROR(FillScale(op, grid));
  QTX_ASSIGN_OR_RETURN(const std::string x, builder.In(op, "X"));
  QTX_ASSIGN_OR_RETURN(const std::string y, Pair(builder, op, x, grid));
  if (op.type.starts_with("fake_quantize_dequantize")) return {};
  const auto limit = static_cast<double>(grid.quant_max);
  builder.units()[y] = {static_cast<double>(grid.max_abs[0]) / limit, limit};
  return {};
}

// A dynamic scale: known here only for constants.
Result<void> AbsMax(Builder& builder, const Op& op) {
  const Tensor* constant = builder.Param(op, "X");
  if (constant == nullptr)
    return Unsupported(op, "the scale of a computed value is known only at run time");
  Grid grid;
  QTX_ASSIGN_OR_RETURN(grid.quant_max, QuantMax(op, op.Int("bit_length", 8)));
  grid.Round(op.Int("round_type", 1) == 1);
  if (op.type.starts_with("fake_channel_wise")) grid.axis = op.Int("quant_axis", 0);
  QTX_ASSIGN_OR_RETURN(const Tensor stored, QuantizeConstant(op, *constant, grid));
  QTX_ASSIGN_OR_RETURN(const std::string y, builder.Out(op, "Out"));
  QTX_RETURN_IF_ERROR(Weights(builder, op, stored, grid, y));
  if (op.type.find("_dequantize_") != std::string::npos) return {};
  const double unit = grid.axis ? 0.0 : static_cast<double>(grid.max_abs[0]);
  const auto limit = static_cast<double>(grid.quant_max);
  builder.units()[y] = {unit / limit, limit};
  return {};
}

// Out = X * Scale / max_range: for a constant, or for a value that the graph holds as reals.
Result<void> Dequantize(Builder& builder, const Op& op) {
  const bool channels = op.type.starts_with("fake_channel_wise");
  const char* scales = channels ? "Scales" : "Scale";
  if (const Tensor* constant = builder.Param(op, "X"); constant != nullptr) {
    Grid grid;
    QTX_ASSIGN_OR_RETURN(grid.max_abs, FloatsOf(builder, op, scales));
    if (channels) grid.axis = op.Int("quant_axis", 0);
    const auto bits = op.Ints("quant_bits");
    if (channels) {
      QTX_ASSIGN_OR_RETURN(grid.quant_max, QuantMax(op, bits.empty() ? 8 : bits[0]));
    } else {
      grid.quant_max =
          static_cast<std::int64_t>(std::clamp(op.Float("max_range", 0), 0.0F, 32767.0F));
      if (static_cast<float>(grid.quant_max) != op.Float("max_range", 0) || grid.quant_max < 1)
        return Unsupported(op, "max_range is not the largest integer of a bit width");
    }
    QTX_ASSIGN_OR_RETURN(const std::string y, builder.Out(op, "Out"));
    return Weights(builder, op, *constant, grid, y);
  }
  QTX_ASSIGN_OR_RETURN(const std::string x, builder.In(op, "X"));
  const auto units = builder.units().find(x);
  if (units == builder.units().end()) return Unsupported(op, "X is not the output of a quantizer");
  if (!channels && units->second.unit != 0) {
    QTX_ASSIGN_OR_RETURN(const auto scale, FloatsOf(builder, op, scales));
    const double unit =
        static_cast<double>(scale[0]) / static_cast<double>(op.Float("max_range", 0));
    if (!(std::abs(unit - units->second.unit) <= 1e-5 * units->second.unit))
      return Unsupported(op, "its scale differs from that of the quantizer of X");
  }
  const auto out = op.outputs.find("Out");
  if (out == op.outputs.end() || out->second.empty()) return Invalid(op, "has no output Out");
  builder.Alias(out->second[0], x);
  return {};
}

// Measures the largest magnitude of X, and passes it on.
Result<void> Observe(Builder& builder, const Op& op) {
  QTX_ASSIGN_OR_RETURN(const std::string x, builder.In(op, "X"));
  for (const char* list : {"InScale", "OutScale"}) {
    const auto scale = FloatsOf(builder, op, list);
    if (!scale.has_value() || scale->size() != 1 || !(scale->at(0) > 0)) continue;
    QTX_ASSIGN_OR_RETURN(const std::string var, builder.VarOf(op, "X"));
    builder.AnnotateThreshold(var, scale->at(0));
    break;
  }
  if (!op.outputs.contains("Out") || op.outputs.find("Out")->second.empty()) return {};
  return Unary(builder, op, "Identity");
}

// The dequantizer of the output of `op`.
const Op* DequantizerOf(const Builder& builder, const Op& op, std::string_view output) {
  const auto found = op.outputs.find(output);
  if (found == op.outputs.end() || found->second.empty()) return nullptr;
  return builder.DequantizerOf(found->second[0]);
}

// The weights' scale, given the product of both scales in `dequantizer`.
Result<Grid> GridOfWeights(const Builder& builder, const Op& dequantizer, const Units& input,
                           std::int64_t axis) {
  Grid grid;
  if (dequantizer.type == "fake_dequantize_max_abs") {
    QTX_ASSIGN_OR_RETURN(const auto scale, FloatsOf(builder, dequantizer, "Scale"));
    const double unit = static_cast<double>(scale[0]) /
                        static_cast<double>(dequantizer.Float("max_range", 0)) / input.unit;
    grid.scale = {static_cast<float>(unit)};
    if (!(grid.scale[0] > 0) || !std::isfinite(grid.scale[0]))
      return Invalid(dequantizer, "Scale / max_range is not above 0");
    return grid;
  }
  const auto bits = dequantizer.Ints("quant_bits");
  QTX_ASSIGN_OR_RETURN(grid.quant_max, QuantMax(dequantizer, bits.empty() ? 8 : bits[0]));
  QTX_ASSIGN_OR_RETURN(grid.max_abs, FloatsOf(builder, dequantizer, "Scales"));
  QTX_ASSIGN_OR_RETURN(const auto scale, FloatsOf(builder, dequantizer, "Scales", 1));
  QTX_ASSIGN_OR_RETURN(const auto input_max, QuantMax(dequantizer, bits.size() < 2 ? 8 : bits[1]));
  const double unit = static_cast<double>(scale[0]) / static_cast<double>(input_max);
  if (!(std::abs(unit - input.unit) <= 1e-5 * input.unit))
    return Unsupported(dequantizer, "its second scale differs from that of the input's quantizer");
  grid.axis = axis;
  return grid;
}

using W = Operator::Whole;
constexpr Operator kQuantizeOperators[] = {
    {"quantize_linear", QuantizeLinear},
    {"dequantize_linear", DequantizeLinear},
    {"fake_quantize_dequantize_moving_average_abs_max", Moving},
    {"fake_quantize_moving_average_abs_max", Moving},
    {"fake_quantize_range_abs_max", Moving},
    {"fake_quantize_abs_max", AbsMax},
    {"fake_quantize_dequantize_abs_max", AbsMax},
    {"fake_channel_wise_quantize_abs_max", AbsMax},
    {"fake_channel_wise_quantize_dequantize_abs_max", AbsMax},
    {"fake_dequantize_max_abs", Dequantize, W::kTaken},
    {"fake_channel_wise_dequantize_max_abs", Dequantize, W::kTaken},
    {"moving_average_abs_max_scale", Observe},
};

}  // namespace

std::span<const Operator> QuantizeOperators() { return kQuantizeOperators; }

Result<std::optional<std::string>> WholeWeights(Builder& builder, const Op& op,
                                                std::string_view input, std::string_view filter,
                                                std::string_view output) {
  QTX_ASSIGN_OR_RETURN(const std::string x, builder.In(op, input));
  const auto units = builder.units().find(x);
  if (units == builder.units().end()) return std::optional<std::string>();
  const Op* dequantizer = DequantizerOf(builder, op, output);
  if (dequantizer == nullptr)
    return Unsupported(op, "reads integers but is not followed by fake_dequantize");
  QTX_ASSIGN_OR_RETURN(const std::string var, builder.VarOf(op, filter));
  const auto result = op.outputs.find(output);
  std::string w = builder.Current(var);
  const auto known = builder.units().find(w);
  double unit = known == builder.units().end() ? 0 : known->second.unit;
  if (known == builder.units().end()) {
    const Tensor* constant = builder.Param(op, filter);
    if (constant == nullptr) return Unsupported(op, std::string(filter) + " is no parameter");
    QTX_ASSIGN_OR_RETURN(const Grid grid, GridOfWeights(builder, *dequantizer, units->second,
                                                        filter == "Filter" ? 0 : 1));
    w = builder.Between(var, "real");
    QTX_RETURN_IF_ERROR(Weights(builder, op, *constant, grid, w));
  }
  builder.WholeResult(result->second[0], {unit * units->second.unit, 0});
  return std::optional(w);
}

}  // namespace qtx::convert::paddle
