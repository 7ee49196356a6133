// Windows and reductions. Sums of quantized values are exact in 32 bits of the same scale; a mean
// is their product with 1 / count, which is rounded once, to the result.
#include <algorithm>
#include <numeric>

#include "errors.h"
#include "qtx/format/window.h"
#include "stablehlo/out.h"

namespace qtx::convert {
namespace {

using format::Dims;
using format::ElementType;
using format::Node;
using format::Quantization;
using format::WindowAxis;

struct Windows {
  Dims size, strides, dilations;
  std::vector<std::pair<std::int64_t, std::int64_t>> pads;
};

Windows WindowsOf(std::size_t rank, const std::vector<WindowAxis>& axes) {
  Windows windows{Dims(rank, 1), Dims(rank, 1), Dims(rank, 1), {}};
  windows.pads.assign(rank, {0, 0});
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const WindowAxis& axis = axes[k];
    const std::size_t i = rank - axes.size() + k;
    windows.size[i] = axis.kernel;
    windows.strides[i] = axis.stride;
    windows.dilations[i] = axis.dilation;
    // Where sizes are rounded up, the last window reaches beyond the padding.
    const std::int64_t end = (axis.output - 1) * axis.stride + (axis.kernel - 1) * axis.dilation +
                             1 - axis.input - axis.pad_begin;
    windows.pads[i] = {axis.pad_begin, std::max(axis.pad_end, end)};
  }
  return windows;
}

std::string ArrayOf(const Dims& values) {
  const std::string list = MlirInts(values);
  return "array<i64: " + list.substr(1, list.size() - 2) + ">";
}

// The value that changes no result of `op`.
double NeutralOf(std::string_view op) {
  if (op == "stablehlo.add") return 0;
  if (op == "stablehlo.multiply") return 1;
  const double infinity = std::numeric_limits<double>::infinity();
  return op == "stablehlo.maximum" ? -infinity : infinity;
}

Result<HloValue> Init(StablehloWriter& writer, std::string_view op, const HloType& type) {
  HloType scalar = type;
  scalar.dims.clear();
  return writer.Scalar(NeutralOf(op), scalar);
}

Result<HloValue> Windowed(StablehloWriter& writer, std::string_view op, const HloValue& x,
                          const Windows& windows, const Dims& dims) {
  QTX_ASSIGN_OR_RETURN(const HloValue init, Init(writer, op, x.type));
  QTX_ASSIGN_OR_RETURN(const std::string element, MlirType(init.type));
  std::string pads;
  for (const auto& [low, high] : windows.pads)
    pads += (pads.empty() ? "" : ", ") + MlirInts({low, high});
  const std::string text = "\"stablehlo.reduce_window\"(" + x.id + ", " + init.id +
                           ") <{window_dimensions = " + ArrayOf(windows.size) +
                           ", window_strides = " + ArrayOf(windows.strides) +
                           ", window_dilations = " + ArrayOf(windows.dilations) +
                           ", padding = dense<[" + pads + "]> : tensor<" +
                           std::to_string(windows.pads.size()) +
                           "x2xi64>}> ({\n    ^bb0(%l: " + element + ", %r: " + element +
                           "):\n      %o = " + std::string(op) + " %l, %r : " + element +
                           "\n      stablehlo.return %o : " + element + "\n    })";
  HloType type = x.type;
  type.dims = dims;
  return writer.Emit(text, {x, init}, std::move(type));
}

Result<HloValue> Reduced(StablehloWriter& writer, std::string_view op, const HloValue& x,
                         const Dims& axes) {
  QTX_ASSIGN_OR_RETURN(const HloValue init, Init(writer, op, x.type));
  HloType type = x.type;
  type.dims.clear();
  for (std::size_t i = 0; i < x.type.dims.size(); ++i) {
    if (std::ranges::find(axes, static_cast<std::int64_t>(i)) == axes.end())
      type.dims.push_back(x.type.dims[i]);
  }
  return writer.Emit("stablehlo.reduce(" + x.id + " init: " + init.id + ") applies " +
                         std::string(op) + " across dimensions = " + MlirInts(axes),
                     {x, init}, std::move(type));
}

bool IsPerTensor(const HloType& type) {
  return type.quantization && type.quantization->axis.empty();
}

HloType WideType(HloType type) {
  type.elem_type = ElementType::kInt32Q;
  Quantization q;
  q.scale = type.quantization->scale;
  q.real_type = type.quantization->real_type;
  type.quantization = std::move(q);
  return type;
}

// sum / count, to `result` where that is quantized.
Result<HloValue> Mean(StablehloWriter& writer, HloValue sum, std::int64_t count,
                      const HloType& result) {
  const auto divisor = static_cast<double>(count);
  if (!sum.type.quantization || !IsPerTensor(result)) {
    QTX_ASSIGN_OR_RETURN(sum, writer.Reals(sum, ComputedType(result)));
    QTX_ASSIGN_OR_RETURN(const HloValue by, writer.Splat(divisor, sum.type));
    return writer.Op("stablehlo.divide", {sum, by}, sum.type);
  }
  HloType unit = sum.type;
  unit.quantization->scale = {static_cast<float>(1 / divisor)};
  QTX_ASSIGN_OR_RETURN(const HloValue by, writer.Splat(1 / divisor, unit));
  HloType wide = sum.type;  // the result, of 32 bits
  wide.quantization->scale = result.quantization->scale;
  wide.quantization->offset = result.quantization->offset;
  return writer.Op("stablehlo.multiply", {sum, by}, std::move(wide));
}

// How many elements of the input each window has, as [1, 1, sizes...].
Result<HloValue> Counts(StablehloWriter& writer, const std::vector<WindowAxis>& axes,
                        const HloType& type) {
  Dims dims = {1, 1};
  std::vector<std::vector<double>> along;
  for (const WindowAxis& axis : axes) {
    dims.push_back(axis.output);
    std::vector<double>& counts = along.emplace_back();
    for (std::int64_t o = 0; o < axis.output; ++o) {
      double count = 0;
      for (std::int64_t k = 0; k < axis.kernel; ++k) {
        const std::int64_t at = o * axis.stride + k * axis.dilation - axis.pad_begin;
        count += at >= 0 && at < axis.input ? 1 : 0;
      }
      counts.push_back(count);
    }
  }
  QTX_ASSIGN_OR_RETURN(format::Tensor tensor, format::MakeTensor(ElementType::kFloat, dims));
  const Dims strides = format::RowMajorStrides(dims);
  const auto values = tensor.As<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    double count = 1;
    for (std::size_t k = 0; k < along.size(); ++k)
      count *= along[k][static_cast<std::size_t>(static_cast<std::int64_t>(i) / strides[k + 2] %
                                                 dims[k + 2])];
    values[i] = static_cast<float>(count);
  }
  QTX_ASSIGN_OR_RETURN(HloValue counts, writer.Constant(tensor));
  QTX_ASSIGN_OR_RETURN(counts, writer.Reals(counts, type.elem_type));
  Dims all = type.dims;
  Dims order(all.size());
  std::iota(order.begin(), order.end(), 0);
  return writer.Broadcast(counts, all, order);
}

bool ReachesPadding(const WindowAxis& axis) {
  return axis.pad_begin > 0 ||
         (axis.output - 1) * axis.stride + (axis.kernel - 1) * axis.dilation - axis.pad_begin >=
             axis.input;
}

Result<void> WriteWindows(StablehloWriter& writer, const Node& node, std::string_view op,
                          const std::vector<WindowAxis>& axes, bool counts_padding) {
  QTX_ASSIGN_OR_RETURN(const HloType result, writer.OutputType(node));
  QTX_ASSIGN_OR_RETURN(HloValue x, writer.Input(node, 0));
  const Windows windows = WindowsOf(x.type.dims.size(), axes);
  if (x.type.quantization && !IsPerTensor(x.type)) {
    QTX_ASSIGN_OR_RETURN(x, writer.Reals(x, ComputedType(result)));
  }
  if (op == "stablehlo.maximum") {
    QTX_ASSIGN_OR_RETURN(HloValue value, Windowed(writer, op, x, windows, result.dims));
    return writer.Bind(node, std::move(value));
  }
  const bool varies = !counts_padding && std::ranges::any_of(axes, ReachesPadding);
  if (x.type.quantization && varies) {
    QTX_ASSIGN_OR_RETURN(x, writer.Reals(x, ComputedType(result)));
  } else if (x.type.quantization) {
    QTX_ASSIGN_OR_RETURN(x, writer.Cast(x, WideType(x.type)));
  }
  QTX_ASSIGN_OR_RETURN(HloValue value, Windowed(writer, op, x, windows, result.dims));
  if (varies) {
    QTX_ASSIGN_OR_RETURN(const HloValue counts, Counts(writer, axes, value.type));
    QTX_ASSIGN_OR_RETURN(value, writer.Op("stablehlo.divide", {value, counts}, value.type));
    return writer.Bind(node, std::move(value));
  }
  QTX_ASSIGN_OR_RETURN(const std::int64_t count, format::ElementCount(windows.size));
  QTX_ASSIGN_OR_RETURN(value, Mean(writer, std::move(value), count, result));
  return writer.Bind(node, std::move(value));
}

Result<std::optional<Dims>> AxesOf(StablehloWriter& writer, const Node& node, std::size_t rank) {
  Dims axes = node.IntsOr("axes", {});
  if (StablehloWriter::Has(node, 1)) {
    QTX_ASSIGN_OR_RETURN(axes, writer.Ints(node, 1));
  }
  if (axes.empty() && node.IntOr("noop_with_empty_axes", 0) != 0) return std::optional<Dims>();
  if (axes.empty()) {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), 0);
  }
  for (std::int64_t& axis : axes) {
    QTX_ASSIGN_OR_RETURN(axis, format::NormalizeAxis(axis, static_cast<std::int64_t>(rank)));
  }
  std::ranges::sort(axes);
  return std::optional(std::move(axes));
}

// Quantized values are reduced in windows as large as their axes: legalizations of quantized types
// know reduce_window, and no reduce.
Result<HloValue> ReducedQuantized(StablehloWriter& writer, std::string_view op, HloValue x,
                                  const Dims& axes) {
  if (op == "stablehlo.add") {
    QTX_ASSIGN_OR_RETURN(x, writer.Cast(x, WideType(x.type)));
  }
  Windows windows = WindowsOf(x.type.dims.size(), {});
  Dims dims = x.type.dims;
  for (const std::int64_t axis : axes) {
    const auto i = static_cast<std::size_t>(axis);
    windows.size[i] = dims[i];
    dims[i] = 1;
  }
  return Windowed(writer, op, x, windows, dims);
}

}  // namespace

Result<void> WritePool(StablehloWriter& writer, const Node& node, const OutRow& row) {
  QTX_ASSIGN_OR_RETURN(const HloType x, writer.TypeOf(node.inputs[0]));
  if (node.outputs.size() > 1 && !node.outputs[1].empty())
    return Unsupported("", "with indices as a result");
  QTX_RETURN_IF_ERROR(CheckFixed(x));
  const Dims sizes(x.dims.begin() + 2, x.dims.end());
  QTX_ASSIGN_OR_RETURN(const auto axes,
                       format::WindowAxes(node, sizes, node.IntsOr("kernel_shape", {})));
  const bool counts_padding = node.IntOr("count_include_pad", 0) != 0;
  if (counts_padding && node.IntOr("ceil_mode", 0) != 0)
    return Unsupported("", "with count_include_pad and ceil_mode");
  return WriteWindows(writer, node, row.hlo, axes, counts_padding);
}

Result<void> WriteGlobalPool(StablehloWriter& writer, const Node& node, const OutRow& row) {
  QTX_ASSIGN_OR_RETURN(const HloType x, writer.TypeOf(node.inputs[0]));
  QTX_RETURN_IF_ERROR(CheckFixed(x));
  std::vector<WindowAxis> axes;
  for (std::size_t i = 2; i < x.dims.size(); ++i)
    axes.push_back({.input = x.dims[i], .kernel = x.dims[i]});
  return WriteWindows(writer, node, row.hlo, axes, false);
}

Result<void> WriteReduce(StablehloWriter& writer, const Node& node, const OutRow& row) {
  QTX_ASSIGN_OR_RETURN(const HloType result, writer.OutputType(node));
  QTX_ASSIGN_OR_RETURN(HloValue x, writer.Input(node, 0));
  QTX_ASSIGN_OR_RETURN(const auto axes, AxesOf(writer, node, x.type.dims.size()));
  if (!axes) return writer.Bind(node, std::move(x));
  QTX_RETURN_IF_ERROR(CheckFixed(x.type));
  const bool mean = node.op_type == "ReduceMean";
  if (mean && !x.type.quantization && format::IsIntegerStorage(x.type.elem_type))
    return Unsupported("", "of integers");
  std::int64_t count = 1;
  for (const std::int64_t axis : *axes) count *= x.type.dims[static_cast<std::size_t>(axis)];
  HloValue value;
  if (IsPerTensor(x.type) && row.hlo != "stablehlo.multiply" && count > 0) {
    QTX_ASSIGN_OR_RETURN(value, ReducedQuantized(writer, row.hlo, x, *axes));
  } else {
    QTX_ASSIGN_OR_RETURN(x, writer.Reals(x, ComputedType(result)));
    QTX_ASSIGN_OR_RETURN(value, Reduced(writer, row.hlo, x, *axes));
  }
  if (mean) {
    QTX_ASSIGN_OR_RETURN(value, Mean(writer, std::move(value), count, result));
  }
  QTX_ASSIGN_OR_RETURN(value, writer.Reshape(value, result.dims));
  return writer.Bind(node, std::move(value));
}

// exp(x - max) / sum(exp(x - max)), over reals.
Result<void> WriteSoftmax(StablehloWriter& writer, const Node& node, const OutRow&) {
  if (format::OnnxOpset(writer.graph().model()) < 13)
    return Unsupported("", "of before opset 13, which flattens");
  QTX_ASSIGN_OR_RETURN(const HloType result, writer.OutputType(node));
  QTX_ASSIGN_OR_RETURN(HloValue x, writer.Input(node, 0));
  const auto rank = static_cast<std::int64_t>(x.type.dims.size());
  QTX_ASSIGN_OR_RETURN(const std::int64_t axis,
                       format::NormalizeAxis(node.IntOr("axis", -1), rank));
  QTX_ASSIGN_OR_RETURN(x, writer.Reals(x, ComputedType(result)));
  Dims kept;
  for (std::int64_t i = 0; i < rank; ++i) {
    if (i != axis) kept.push_back(i);
  }
  const auto spread = [&](std::string_view op, const HloValue& of) -> Result<HloValue> {
    QTX_ASSIGN_OR_RETURN(const HloValue reduced, Reduced(writer, op, of, {axis}));
    return writer.Broadcast(reduced, of.type.dims, kept);
  };
  QTX_ASSIGN_OR_RETURN(const HloValue greatest, spread("stablehlo.maximum", x));
  QTX_ASSIGN_OR_RETURN(const HloValue below,
                       writer.Op("stablehlo.subtract", {x, greatest}, x.type));
  QTX_ASSIGN_OR_RETURN(const HloValue power, writer.Op("stablehlo.exponential", {below}, x.type));
  QTX_ASSIGN_OR_RETURN(const HloValue sum, spread("stablehlo.add", power));
  QTX_ASSIGN_OR_RETURN(HloValue value, writer.Op("stablehlo.divide", {power, sum}, x.type));
  return writer.Bind(node, std::move(value));
}

}  // namespace qtx::convert
