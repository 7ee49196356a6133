// Pools, reductions, Softmax, Resize and the blocks of depth and space.
#include <algorithm>

#include "errors.h"
#include "qtx/format/catalogue.h"
#include "tflite/rules.h"
#include "tflite/window_out.h"

namespace qtx::convert {
namespace {

using format::Dims;
using format::ElementType;
using schema::BuiltinOperator;
using Vector = std::vector<std::int64_t>;

bool Averages(const Job& job) { return job.node.op_type.find("Average") != std::string::npos; }

// The kernel's grid: that of x, or FLOAT if only that rounds the result once.
Result<format::TensorType> GridOf(TfliteWriter& writer, const Job& job, bool moves) {
  QTX_RETURN_IF_ERROR(KernelFor(writer, {job.Input(0), job.output}));
  QTX_ASSIGN_OR_RETURN(const format::TensorType x, writer.Type(job.Input(0)));
  QTX_ASSIGN_OR_RETURN(const format::TensorType y, writer.Type(job.output));
  if (moves || SameGrid(x, y) || !x.quantization) return x;
  writer.ledger().Changed(job.output, "arithmetic",
                          "in FLOAT: no integer kernel of TFLite gives these scales");
  return Float();
}

struct Axes {
  Vector axes;  // in ONNX's order, sorted
  bool keep = true;
};

Result<Axes> AxesOf(const TfliteWriter& writer, const Job& job, std::size_t rank) {
  Axes result;
  result.keep = format::Attributes(job.node).Int("keepdims") != 0;
  result.axes = job.node.IntsOr("axes", {});
  if (!job.Input(1).empty()) {
    QTX_ASSIGN_OR_RETURN(result.axes, writer.Integers(job.Input(1)));
  }
  if (result.axes.empty() && format::Attributes(job.node).Int("noop_with_empty_axes") != 0) {
    return Unsupported("no axes");
  }
  if (result.axes.empty()) {
    for (std::size_t i = 0; i < rank; ++i) result.axes.push_back(static_cast<std::int64_t>(i));
  }
  for (std::int64_t& axis : result.axes) {
    QTX_ASSIGN_OR_RETURN(axis, format::NormalizeAxis(axis, static_cast<std::int64_t>(rank)));
  }
  std::ranges::sort(result.axes);
  return result;
}

Result<void> EmitReduction(TfliteWriter& writer, const Job& job, BuiltinOperator code,
                           const Axes& reduced, const format::TensorType& as) {
  const std::string& x = job.Input(0);
  QTX_ASSIGN_OR_RETURN(const Dims dims, writer.Dims(x));
  // Without the reduced axes the order of [N,H,W,C] is lost, unless at most one axis is left beside
  // N.
  const bool spatial = reduced.axes == Vector{2, 3};
  const bool nhwc = writer.Common({x}) == Order::kNhwc && (reduced.keep || spatial);
  const Order order = nhwc ? Order::kNhwc : Order::kOnnx;
  QTX_ASSIGN_OR_RETURN(const format::TensorType type, writer.Type(x));
  const bool converts = type.quantization && !as.quantization;
  QTX_ASSIGN_OR_RETURN(const int input,
                       converts ? writer.UseAs(x, order, Float()) : writer.Use(x, order));
  Dims y;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const bool gone = std::ranges::binary_search(reduced.axes, static_cast<std::int64_t>(i));
    if (!gone || reduced.keep) y.push_back(gone ? 1 : dims[i]);
  }
  Vector axes = reduced.axes;
  for (std::int64_t& axis : axes) axis = nhwc ? PermuteAxis(axis, NchwToNhwc()) : axis;
  std::ranges::sort(axes);
  schema::ReducerOptionsT options;
  options.keep_dims = reduced.keep;
  Call call{code, {input, writer.AddInt32s(job.output + "/axes", axes)}, {}};
  call.options.Set(std::move(options));
  return writer.Emit(std::move(call), {job.output, reduced.keep ? order : Order::kOnnx, y}, as);
}

struct Resizing {
  bool nearest = true, align_corners = false, half_pixel = false;
};

// Source: the coordinates of TFLite's resize kernels, as the reader takes them.
Result<Resizing> ResizingOf(const format::Node& node) {
  const std::string mode = format::Attributes(node).String("mode");
  const std::string to = format::Attributes(node).String("coordinate_transformation_mode");
  const std::string rounding = format::Attributes(node).String("nearest_mode");
  Resizing resizing{mode == "nearest", to == "align_corners", to == "half_pixel"};
  const bool floors = to == "asymmetric";
  const bool known = floors || resizing.align_corners || resizing.half_pixel;
  const bool rounds = rounding == (floors ? "floor" : "round_prefer_ceil");
  if (!known || (mode != "nearest" && mode != "linear") || (resizing.nearest && !rounds)) {
    return Unsupported("mode " + mode + ", coordinates " + to + ", rounding " + rounding);
  }
  if (format::Attributes(node).Int("antialias") != 0) return Unsupported("antialias");
  return resizing;
}

// TFLite has no scales but the ratios of the sizes (resize.S2 takes those that are given).
Result<Dims> ResizedDims(const TfliteWriter& writer, const Job& job, const Dims& x) {
  Dims y = x;
  if (!job.Input(3).empty()) {
    QTX_ASSIGN_OR_RETURN(y, writer.Integers(job.Input(3)));
  } else {
    if (!writer.IsConstant(job.Input(2))) return Unsupported("scales are not constant");
    QTX_ASSIGN_OR_RETURN(const format::Tensor scales, writer.Constant(job.Input(2)));
    const auto factors = scales.As<float>();
    if (scales.elem_type != ElementType::kFloat || factors.size() != 4)
      return Unsupported("scales");
    for (std::size_t i = 0; i < 4; ++i) {
      const double size = static_cast<double>(x[i]) * static_cast<double>(factors[i]);
      if (!(size >= 1 && size < 1 << 24)) return Unsupported("scales out of range");
      y[i] = static_cast<std::int64_t>(size);
      const bool is_ratio = factors[i] == static_cast<float>(y[i]) / static_cast<float>(x[i]);
      if (!is_ratio) return Unsupported("scales that give no whole sizes");
    }
  }
  const bool fits = y.size() == 4 && y[0] == x[0] && y[1] == x[1] && y[2] > 0 && y[3] > 0;
  if (!fits) return Unsupported("sizes " + format::ToString(y) + " of " + format::ToString(x));
  return y;
}

// TFLite's averages count no padding: what ONNX counts is a PAD before them. A window that has all
// of an axis is as long as that.
Result<void> SetPadsOfAverage(const format::Node& node, const Dims& x, Vector& kernel,
                              OutWindow& window) {
  const bool pads = window.begin != std::array<std::int64_t, 2>{} || window.end != window.beyond;
  const bool counted = pads && format::Attributes(node).Int("count_include_pad") != 0;
  const bool same = window.padding == schema::Padding::SAME;
  if (!window.explicit_pads && !(same && counted)) return {};
  if (counted && window.beyond != std::array<std::int64_t, 2>{})
    return Unsupported("pads that are counted, and a last window beyond them");
  if (counted) {
    window.padding = schema::Padding::VALID;
    window.explicit_pads = true;
    return {};
  }
  for (std::size_t i = 0; i < 2; ++i) {
    const bool none = window.begin[i] == 0 && window.end[i] == 0;
    const bool whole = window.output[i] == 1 && kernel[i] - window.begin[i] >= x[i + 2];
    if (!none && !whole) return Unsupported("pads other than those of SAME that are not counted");
    if (whole) kernel[i] = x[i + 2];
  }
  window.padding = schema::Padding::VALID;
  window.explicit_pads = false;
  return {};
}

}  // namespace

Result<void> WritePool(TfliteWriter& writer, const Job& job) {
  QTX_ASSIGN_OR_RETURN(const Dims x, writer.Dims(job.Input(0)));
  Vector kernel = job.node.IntsOr("kernel_shape", {});
  if (x.size() != 4 || kernel.size() != 2) return Unsupported("expected windows of rank 2");
  QTX_ASSIGN_OR_RETURN(OutWindow window, OutWindowOf(job.node, x, {kernel[0], kernel[1]}));
  if (Averages(job)) QTX_RETURN_IF_ERROR(SetPadsOfAverage(job.node, x, kernel, window));
  if (window.dilations != std::array<std::int64_t, 2>{1, 1}) return Unsupported("dilations");
  QTX_ASSIGN_OR_RETURN(format::TensorType as, GridOf(writer, job, !Averages(job)));
  QTX_ASSIGN_OR_RETURN(const format::TensorType y, writer.Type(job.output));
  schema::Pool2DOptionsT options;
  if (SameGrid(as, y)) {
    QTX_ASSIGN_OR_RETURN(options.fused_activation_function, FusedInto(writer, job));
    as = y;
  } else if (job.fused) {
    return Unsupported("an activation on another grid");
  }
  QTX_ASSIGN_OR_RETURN(int input, writer.UseAs(job.Input(0), Order::kNhwc, as));
  if (window.explicit_pads) {
    const Padded padded{job.Input(0), input, as, !Averages(job)};
    QTX_ASSIGN_OR_RETURN(input, PadAround(writer, padded, x, window));
  }
  options.padding = window.padding;
  options.stride_h = static_cast<std::int32_t>(window.strides[0]);
  options.stride_w = static_cast<std::int32_t>(window.strides[1]);
  options.filter_height = static_cast<std::int32_t>(kernel[0]);
  options.filter_width = static_cast<std::int32_t>(kernel[1]);
  Call call{
      Averages(job) ? BuiltinOperator::AVERAGE_POOL_2D : BuiltinOperator::MAX_POOL_2D, {input}, {}};
  call.options.Set(std::move(options));
  const Dims dims = {x[0], x[1], window.output[0], window.output[1]};
  return writer.Emit(std::move(call), {job.output, Order::kNhwc, dims}, as);
}

Result<void> WriteGlobalPool(TfliteWriter& writer, const Job& job) {
  QTX_ASSIGN_OR_RETURN(const Dims x, writer.Dims(job.Input(0)));
  if (x.size() != 4) return Unsupported("rank " + std::to_string(x.size()));
  const bool mean = job.node.op_type == "GlobalAveragePool";
  const std::vector<std::string> values = {job.Input(0), job.output};
  QTX_ASSIGN_OR_RETURN(const Kernel kernel, KernelFor(writer, values));
  QTX_ASSIGN_OR_RETURN(format::TensorType as, writer.Type(mean ? job.output : job.Input(0)));
  if (mean && kernel == Kernel::kReal) as = Float();
  return EmitReduction(writer, job, mean ? BuiltinOperator::MEAN : BuiltinOperator::REDUCE_MAX,
                       {{2, 3}, job.output == job.node.outputs[0]}, as);
}

Result<void> WriteReduce(TfliteWriter& writer, const Job& job) {
  QTX_ASSIGN_OR_RETURN(const Dims x, writer.Dims(job.Input(0)));
  QTX_ASSIGN_OR_RETURN(const Axes axes, AxesOf(writer, job, x.size()));
  const std::string& op_type = job.node.op_type;
  const bool moves = op_type == "ReduceMax" || op_type == "ReduceMin";
  const std::vector<std::string> values = {job.Input(0), job.output};
  QTX_ASSIGN_OR_RETURN(const Kernel kernel, KernelFor(writer, values));
  QTX_ASSIGN_OR_RETURN(format::TensorType as, writer.Type(job.Input(0)));
  if (!moves && as.quantization) {
    const bool integer = kernel == Kernel::kInteger && op_type != "ReduceProd";
    QTX_ASSIGN_OR_RETURN(as, writer.Type(job.output));
    if (!integer) as = Float();
  }
  const BuiltinOperator code = op_type == "ReduceMean"  ? BuiltinOperator::MEAN
                               : op_type == "ReduceSum" ? BuiltinOperator::SUM
                               : op_type == "ReduceMax" ? BuiltinOperator::REDUCE_MAX
                               : op_type == "ReduceMin" ? BuiltinOperator::REDUCE_MIN
                                                        : BuiltinOperator::REDUCE_PROD;
  return EmitReduction(writer, job, code, axes, as);
}

Result<void> WriteArg(TfliteWriter& writer, const Job& job) {
  const std::string& x = job.Input(0);
  QTX_ASSIGN_OR_RETURN(Dims dims, writer.Dims(x));
  QTX_ASSIGN_OR_RETURN(const std::int64_t axis,
                       format::NormalizeAxis(format::Attributes(job.node).Int("axis"),
                                             static_cast<std::int64_t>(dims.size())));
  if (format::Attributes(job.node).Int("keepdims") != 0 ||
      format::Attributes(job.node).Int("select_last_index") != 0) {
    return Unsupported("keepdims or select_last_index");
  }
  QTX_RETURN_IF_ERROR(KernelFor(writer, {x}));
  QTX_ASSIGN_OR_RETURN(const int input, writer.Use(x, Order::kOnnx));
  dims.erase(dims.begin() + axis);
  const bool max = job.node.op_type == "ArgMax";
  Call call{max ? BuiltinOperator::ARG_MAX : BuiltinOperator::ARG_MIN,
            {input, writer.AddInt32s(job.output + "/axis", {axis})},
            {}};
  if (max) {
    schema::ArgMaxOptionsT options;
    options.output_type = schema::TensorType::INT64;
    call.options.Set(std::move(options));
  } else {
    schema::ArgMinOptionsT options;
    options.output_type = schema::TensorType::INT64;
    call.options.Set(std::move(options));
  }
  format::TensorType as;
  as.elem_type = ElementType::kInt64;
  return writer.Emit(std::move(call), {job.output, Order::kOnnx, dims}, as);
}

Result<void> WriteSoftmax(TfliteWriter& writer, const Job& job) {
  const std::string& x = job.Input(0);
  const bool log = job.node.op_type == "LogSoftmax";
  QTX_ASSIGN_OR_RETURN(const Dims dims, writer.Dims(x));
  const auto rank = static_cast<std::int64_t>(dims.size());
  const format::Attributes attributes(job.node, format::OnnxOpset(writer.graph().model()));
  QTX_ASSIGN_OR_RETURN(const std::int64_t axis,
                       format::NormalizeAxis(attributes.Int("axis"), rank));
  const bool channels = rank == 4 && axis == 1;
  if (axis != rank - 1 && !channels) return Unsupported("axis " + std::to_string(axis));
  const Order order = channels ? Order::kNhwc : Order::kOnnx;
  QTX_ASSIGN_OR_RETURN(const Kernel kernel, KernelFor(writer, {x, job.output}));
  QTX_ASSIGN_OR_RETURN(const format::TensorType x_type, writer.Type(x));
  QTX_ASSIGN_OR_RETURN(const format::TensorType y, writer.Type(job.output));
  const bool given = y.elem_type == ElementType::kInt16Q  ? HasParameters(y, 0x1p-15F, 0)
                     : y.elem_type == ElementType::kInt8Q ? HasParameters(y, 0x1p-8F, -128)
                                                          : HasParameters(y, 0x1p-8F, 0);
  const bool integer = kernel == Kernel::kInteger && given && !log;
  if (!integer && x_type.quantization) {
    writer.ledger().Changed(job.output, "arithmetic",
                            "in FLOAT: no integer kernel of TFLite gives this scale and offset");
  }
  const format::TensorType as = integer ? y : Float();
  QTX_ASSIGN_OR_RETURN(const int input,
                       integer ? writer.Use(x, order) : writer.UseAs(x, order, Float()));
  Call call{log ? BuiltinOperator::LOG_SOFTMAX : BuiltinOperator::SOFTMAX, {input}, {}};
  if (log) {
    call.options.Set(schema::LogSoftmaxOptionsT());
  } else {
    schema::SoftmaxOptionsT options;
    options.beta = 1;
    call.options.Set(std::move(options));
  }
  return writer.Emit(std::move(call), {job.output, order, dims}, as);
}

Result<void> WriteResize(TfliteWriter& writer, const Job& job) {
  const std::string& x = job.Input(0);
  QTX_ASSIGN_OR_RETURN(const Dims dims, writer.Dims(x));
  if (dims.size() != 4) return Unsupported("rank " + std::to_string(dims.size()));
  QTX_ASSIGN_OR_RETURN(const Resizing resizing, ResizingOf(job.node));
  QTX_ASSIGN_OR_RETURN(const Dims y, ResizedDims(writer, job, dims));
  QTX_ASSIGN_OR_RETURN(const format::TensorType as, GridOf(writer, job, resizing.nearest));
  QTX_ASSIGN_OR_RETURN(const int input, writer.UseAs(x, Order::kNhwc, as));
  const int size = writer.AddInt32s(job.output + "/size", {y[2], y[3]});
  Call call{resizing.nearest ? BuiltinOperator::RESIZE_NEAREST_NEIGHBOR
                             : BuiltinOperator::RESIZE_BILINEAR,
            {input, size},
            {}};
  const auto set = [&](auto options) {
    options.align_corners = resizing.align_corners;
    options.half_pixel_centers = resizing.half_pixel;
    call.options.Set(std::move(options));
  };
  if (resizing.nearest) {
    set(schema::ResizeNearestNeighborOptionsT());
  } else {
    set(schema::ResizeBilinearOptionsT());
  }
  return writer.Emit(std::move(call), {job.output, Order::kNhwc, y}, as);
}

Result<void> WriteBlocks(TfliteWriter& writer, const Job& job) {
  const std::string& x = job.Input(0);
  const bool to_depth = job.node.op_type == "SpaceToDepth";
  QTX_ASSIGN_OR_RETURN(const Dims dims, writer.Dims(x));
  const std::int64_t block = format::Attributes(job.node).Int("blocksize");
  if (dims.size() != 4 || block < 1 || block > 1 << 15) return Unsupported("blocksize");
  if (format::Attributes(job.node).String("mode") != "DCR")
    return Unsupported("mode other than DCR");
  const std::int64_t square = block * block;
  const bool fits = to_depth ? dims[2] % block == 0 && dims[3] % block == 0 : dims[1] % square == 0;
  if (!fits)
    return Unsupported("blocksize " + std::to_string(block) + " of " + format::ToString(dims));
  const Dims y = to_depth ? Dims{dims[0], dims[1] * square, dims[2] / block, dims[3] / block}
                          : Dims{dims[0], dims[1] / square, dims[2] * block, dims[3] * block};
  QTX_ASSIGN_OR_RETURN(const format::TensorType as, GridOf(writer, job, true));
  QTX_ASSIGN_OR_RETURN(const int input, writer.Use(x, Order::kNhwc));
  Call call{
      to_depth ? BuiltinOperator::SPACE_TO_DEPTH : BuiltinOperator::DEPTH_TO_SPACE, {input}, {}};
  const auto set = [&](auto options) {
    options.block_size = static_cast<std::int32_t>(block);
    call.options.Set(std::move(options));
  };
  if (to_depth) {
    set(schema::SpaceToDepthOptionsT());
  } else {
    set(schema::DepthToSpaceOptionsT());
  }
  return writer.Emit(std::move(call), {job.output, Order::kNhwc, y}, as);
}

}  // namespace qtx::convert
