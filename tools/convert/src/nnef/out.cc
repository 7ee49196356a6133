// How each operator of ONNX is said in NNEF's: the inverse of ops.h.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "errors.h"
#include "nnef/nnef.h"
#include "nnef/quant.h"
#include "nnef/writer.h"

namespace qtx::convert::nnef {
namespace {

using format::Dims;
using format::Node;

using Ints = std::vector<std::int64_t>;

std::string FloatText(float value) { return Decimal(static_cast<double>(value)); }

struct OutRow {
  std::string_view onnx;
  Result<void> (*write)(Writer&, const Node&, const OutRow&);
  std::string_view nnef = {};
};

// Errors: kUnsupported for an attribute that has another value than the only one with a form.
Result<void> Only(const Node& node, const char* attribute, std::int64_t value) {
  const std::int64_t found = node.IntOr(attribute, value);
  if (found == value) return {};
  return Unsupported("", std::string(attribute) + " " + std::to_string(found) +
                             ", NNEF has the form of " + std::to_string(value));
}

Result<std::string> Operands(Writer& writer, const Node& node) {
  QTX_ASSIGN_OR_RETURN(const Dims dims, writer.DimsOf(node.outputs[0]));
  std::string text;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    QTX_ASSIGN_OR_RETURN(const OutTensor operand, writer.Aligned(node, i, dims.size()));
    text += (i > 0 ? ", " : "") + operand.id;
  }
  return text;
}

// add_n does not broadcast.
Result<void> CheckOneShape(const Writer& writer, const Node& node) {
  QTX_ASSIGN_OR_RETURN(const Dims dims, writer.DimsOf(node.outputs[0]));
  for (const std::string& input : node.inputs) {
    QTX_ASSIGN_OR_RETURN(const Dims own, writer.DimsOf(input));
    if (own != dims)
      return Unsupported("value '" + input + "'", "shape " + format::ToString(own) +
                                                      ", NNEF's add_n has the result's, " +
                                                      format::ToString(dims));
  }
  return {};
}

Result<void> Elementwise(Writer& writer, const Node& node, const OutRow& row) {
  const bool binary = node.op_type == "Max" || node.op_type == "Min";
  if (binary && node.inputs.size() != 2) return Unsupported("", "other than two inputs");
  QTX_ASSIGN_OR_RETURN(const std::string operands, Operands(writer, node));
  const bool list = row.nnef == "add_n";
  if (list) QTX_RETURN_IF_ERROR(CheckOneShape(writer, node));
  return writer.Emit(node,
                     std::string(row.nnef) + (list ? "([" : "(") + operands + (list ? "])" : ")"));
}

// A copy, whose entry in graph.quant says what it is quantized to.
Result<void> Cast(Writer& writer, const Node& node, const OutRow&) {
  QTX_ASSIGN_OR_RETURN(const OutTensor x, writer.Input(node, 0));
  QTX_ASSIGN_OR_RETURN(const auto type, writer.TypeOf(node.outputs[0]));
  const auto real = [](format::ElementType t) {
    return t == format::ElementType::kFloat || format::IsQuantized(t);
  };
  if (node.op_type == "Identity" || (real(x.type) && real(type.elem_type)))
    return writer.Emit(node, "copy(" + x.id + ")");
  const char* name = type.elem_type == format::ElementType::kBool    ? "logical"
                     : type.elem_type == format::ElementType::kInt64 ? "integer"
                                                                     : "scalar";
  return writer.Emit(node, "cast<" + std::string(name) + ">(" + x.id + ")");
}

Result<void> Alpha(Writer& writer, const Node& node, const OutRow& row) {
  QTX_ASSIGN_OR_RETURN(const OutTensor x, writer.Input(node, 0));
  const float fallback = row.onnx == "LeakyRelu" ? 0.01F : row.onnx == "Selu" ? 1.67326319F : 1.0F;
  std::string text = std::string(row.nnef) + "(" + x.id +
                     ", alpha = " + FloatText(node.FloatOr("alpha", fallback));
  if (row.onnx == "Selu") text += ", lambda = " + FloatText(node.FloatOr("gamma", 1.05070102F));
  return writer.Emit(node, text + ")");
}

Result<void> Clip(Writer& writer, const Node& node, const OutRow&) {
  QTX_ASSIGN_OR_RETURN(const OutTensor x, writer.Input(node, 0));
  const bool low = Writer::Has(node, 1), high = Writer::Has(node, 2);
  std::string a, b;
  if (low) {
    QTX_ASSIGN_OR_RETURN(const OutTensor least, writer.Input(node, 1));
    a = ", " + least.id;
  }
  if (high) {
    QTX_ASSIGN_OR_RETURN(const OutTensor most, writer.Input(node, 2));
    b = ", " + most.id;
  }
  const char* op = low && high ? "clamp(" : low ? "max(" : high ? "min(" : "copy(";
  return writer.Emit(node, op + x.id + a + b + ")");
}

struct OutWindow {
  std::string text;  // ", padding = ..., stride = ..., dilation = ..."
  Ints size, strides, dilations, pads;
};

// `lead`: how many axes of batch and channels the lists begin with.
Result<OutWindow> OutWindowOf(const Node& node, const Ints& size, std::size_t lead) {
  const std::string automatic = node.StringOr("auto_pad", "NOTSET");
  if (automatic != "NOTSET" && automatic != "VALID")
    return Unsupported("", "auto_pad " + automatic);
  const std::size_t rank = size.size();
  OutWindow window{.size = size,
                   .strides = node.IntsOr("strides", Ints(rank, 1)),
                   .dilations = node.IntsOr("dilations", Ints(rank, 1)),
                   .pads = node.IntsOr("pads", Ints(2 * rank, 0))};
  const auto is_large = [](std::int64_t step) { return step > kMostNnefWindow; };
  for (const Ints* list : {&window.size, &window.strides, &window.dilations, &window.pads}) {
    if (std::ranges::any_of(*list, is_large))
      return Unsupported("", "a size, stride, dilation or padding of more than 2^24");
  }
  std::string pairs;
  for (std::size_t i = 0; i < lead; ++i) pairs += (i > 0 ? ", " : "") + std::string("(0, 0)");
  for (std::size_t i = 0; i < rank; ++i)
    pairs += (pairs.empty() ? "(" : ", (") + std::to_string(window.pads[i]) + ", " +
             std::to_string(window.pads[rank + i]) + ")";
  Ints strides = window.strides, dilations = window.dilations;
  strides.insert(strides.begin(), lead, 1);
  dilations.insert(dilations.begin(), lead, 1);
  window.text = ", padding = [" + pairs + "], stride = " + ListText(strides) +
                ", dilation = " + ListText(dilations);
  return window;
}

// conv, deconv.
Result<void> Conv(Writer& writer, const Node& node, const OutRow& row) {
  QTX_ASSIGN_OR_RETURN(const OutTensor x, writer.Input(node, 0));
  QTX_ASSIGN_OR_RETURN(const OutTensor w, writer.Input(node, 1));
  std::string bias = "0.0";
  if (Writer::Has(node, 2)) {
    QTX_ASSIGN_OR_RETURN(const OutTensor b, writer.Channels(node, 2));
    bias = b.id;
  }
  QTX_ASSIGN_OR_RETURN(const OutWindow window,
                       OutWindowOf(node, Ints(w.dims.begin() + 2, w.dims.end()), 0));
  std::string text = std::string(row.nnef) + "(" + x.id + ", " + w.id + ", " + bias +
                     ", border = 'constant'" + window.text;
  if (row.onnx == "ConvTranspose") {
    if (node.Find("output_shape") != nullptr) return Unsupported("", "output_shape");
    QTX_ASSIGN_OR_RETURN(const Dims dims, writer.DimsOf(node.outputs[0]));
    if (node.Find("output_padding") != nullptr) text += ", output_shape = " + ListText(dims);
  }
  return writer.Emit(node, text + ", groups = " + std::to_string(node.IntOr("group", 1)) + ")");
}

Result<void> Pool(Writer& writer, const Node& node, const OutRow& row) {
  QTX_RETURN_IF_ERROR(Only(node, "ceil_mode", 0));
  QTX_RETURN_IF_ERROR(Only(node, "storage_order", 0));
  if (node.outputs.size() != 1) return Unsupported("", "a second output");
  QTX_ASSIGN_OR_RETURN(const OutTensor x, writer.Input(node, 0));
  Ints size = node.IntsOr("kernel_shape", {});
  QTX_ASSIGN_OR_RETURN(const OutWindow window, OutWindowOf(node, size, 2));
  size.insert(size.begin(), 2, 1);
  const bool counts = row.onnx == "AveragePool" && node.IntOr("count_include_pad", 0) != 0;
  return writer.Emit(node, std::string(row.nnef) + "(" + x.id + ", size = " + ListText(size) +
                               ", border = '" + (counts ? "constant" : "ignore") + "'" +
                               window.text + ")");
}

Ints SpatialAxes(std::size_t rank) {
  Ints axes;
  for (std::size_t i = 2; i < rank; ++i) axes.push_back(static_cast<std::int64_t>(i));
  return axes;
}

Result<void> GlobalPool(Writer& writer, const Node& node, const OutRow& row) {
  QTX_ASSIGN_OR_RETURN(const OutTensor x, writer.Input(node, 0));
  return writer.Emit(node, std::string(row.nnef) + "(" + x.id +
                               ", axes = " + ListText(SpatialAxes(x.dims.size())) + ")");
}

Result<Ints> AxesOf(Writer& writer, const Node& node, std::size_t rank) {
  Ints axes = node.IntsOr("axes", {});
  if (Writer::Has(node, 1)) {
    QTX_ASSIGN_OR_RETURN(axes, writer.Ints(node, 1));
  }
  for (std::int64_t& axis : axes) axis += axis < 0 ? static_cast<std::int64_t>(rank) : 0;
  return axes;
}

Result<void> Reduce(Writer& writer, const Node& node, const OutRow& row) {
  QTX_ASSIGN_OR_RETURN(const OutTensor x, writer.Input(node, 0));
  QTX_ASSIGN_OR_RETURN(Ints axes, AxesOf(writer, node, x.dims.size()));
  if (row.onnx.starts_with("Arg")) {
    QTX_RETURN_IF_ERROR(Only(node, "select_last_index", 0));
    axes = {node.IntOr("axis", 0)};
    if (axes[0] < 0) axes[0] += static_cast<std::int64_t>(x.dims.size());
  }
  if (axes.empty()) {
    axes.resize(x.dims.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  const std::string text = std::string(row.nnef) + "(" + x.id + ", axes = " + ListText(axes) + ")";
  if (node.IntOr("keepdims", 1) != 0) return writer.Emit(node, text);
  Dims dims = x.dims;
  for (const std::int64_t axis : axes) dims[static_cast<std::size_t>(axis)] = 1;
  const OutTensor kept = writer.Inner(text, dims);
  return writer.Emit(node, "squeeze(" + kept.id + ", axes = " + ListText(axes) + ")");
}

Result<void> Softmax(Writer& writer, const Node& node, const OutRow&) {
  QTX_ASSIGN_OR_RETURN(const OutTensor x, writer.Input(node, 0));
  std::int64_t axis = node.IntOr("axis", -1);
  if (axis < 0) axis += static_cast<std::int64_t>(x.dims.size());
  return writer.Emit(node, "softmax(" + x.id + ", axes = " + ListText({axis}) + ")");
}

Result<void> MatMul(Writer& writer, const Node& node, const OutRow&) {
  QTX_ASSIGN_OR_RETURN(const Dims dims, writer.DimsOf(node.outputs[0]));
  QTX_ASSIGN_OR_RETURN(const OutTensor a, writer.Aligned(node, 0, dims.size()));
  QTX_ASSIGN_OR_RETURN(const OutTensor b, writer.Aligned(node, 1, dims.size()));
  if (a.dims.size() != dims.size() || b.dims.size() != dims.size())
    return Unsupported("", "a vector, which NNEF's matmul does not take");
  return writer.Emit(node, "matmul(" + a.id + ", " + b.id + ")");
}

Result<void> Gemm(Writer& writer, const Node& node, const OutRow&) {
  if (node.FloatOr("alpha", 1) != 1 || node.FloatOr("beta", 1) != 1)
    return Unsupported("", "alpha or beta other than 1");
  QTX_ASSIGN_OR_RETURN(OutTensor a, writer.Input(node, 0));
  QTX_ASSIGN_OR_RETURN(OutTensor b, writer.Input(node, 1));
  const bool trans_a = node.IntOr("transA", 0) != 0, trans_b = node.IntOr("transB", 0) != 0;
  if (!Writer::Has(node, 2)) {
    return writer.Emit(node, "matmul(" + a.id + ", " + b.id +
                                 ", transposeA = " + (trans_a ? "true" : "false") +
                                 ", transposeB = " + (trans_b ? "true" : "false") + ")");
  }
  QTX_ASSIGN_OR_RETURN(const OutTensor bias, writer.Channels(node, 2));
  const std::int64_t channels = b.dims[trans_b ? 0 : 1];
  if (bias.dims != Dims{1, channels})
    return Unsupported("", "a third input that is no bias of channels");
  // NNEF's linear has the second transposed, and sums product and bias at once.
  const auto transposed = [&writer](const OutTensor& x) {
    return writer.Inner("transpose(" + x.id + ", axes = [1, 0])", {x.dims[1], x.dims[0]});
  };
  if (trans_a) a = transposed(a);
  if (!trans_b) b = transposed(b);
  return writer.Emit(node, "linear(" + a.id + ", " + b.id + ", " + bias.id + ")");
}

Result<void> Reshape(Writer& writer, const Node& node, const OutRow&) {
  QTX_ASSIGN_OR_RETURN(const OutTensor x, writer.Input(node, 0));
  QTX_ASSIGN_OR_RETURN(const Dims dims, writer.DimsOf(node.outputs[0]));
  return writer.Emit(node, "reshape(" + x.id + ", shape = " + ListText(dims) + ")");
}

Result<void> Squeeze(Writer& writer, const Node& node, const OutRow& row) {
  QTX_ASSIGN_OR_RETURN(const OutTensor x, writer.Input(node, 0));
  QTX_ASSIGN_OR_RETURN(const Dims dims, writer.DimsOf(node.outputs[0]));
  QTX_ASSIGN_OR_RETURN(const Ints axes, AxesOf(writer, node, std::max(dims.size(), x.dims.size())));
  if (axes.empty()) return Reshape(writer, node, row);
  return writer.Emit(node, std::string(row.nnef) + "(" + x.id + ", axes = " + ListText(axes) + ")");
}

Result<void> Transpose(Writer& writer, const Node& node, const OutRow&) {
  QTX_ASSIGN_OR_RETURN(const OutTensor x, writer.Input(node, 0));
  Ints reversed(x.dims.size());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  return writer.Emit(
      node, "transpose(" + x.id + ", axes = " + ListText(node.IntsOr("perm", reversed)) + ")");
}

std::int64_t AxisOf(const Node& node, std::size_t rank, std::int64_t fallback = 0) {
  const std::int64_t axis = node.IntOr("axis", fallback);
  return axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
}

Result<void> Concat(Writer& writer, const Node& node, const OutRow&) {
  QTX_ASSIGN_OR_RETURN(const Dims dims, writer.DimsOf(node.outputs[0]));
  QTX_ASSIGN_OR_RETURN(const std::string operands, Operands(writer, node));
  return writer.Emit(
      node, "concat([" + operands + "], axis = " + std::to_string(AxisOf(node, dims.size())) + ")");
}

Result<void> Split(Writer& writer, const Node& node, const OutRow&) {
  QTX_ASSIGN_OR_RETURN(const OutTensor x, writer.Input(node, 0));
  const std::int64_t axis = AxisOf(node, x.dims.size());
  Ints sizes;
  std::int64_t unit = 0;
  for (const std::string& output : node.outputs) {
    QTX_ASSIGN_OR_RETURN(const Dims dims, writer.DimsOf(output));
    sizes.push_back(dims[static_cast<std::size_t>(axis)]);
    unit = std::gcd(unit, sizes.back());
  }
  if (unit == 0 || std::ranges::find(sizes, 0) != sizes.end())
    return Unsupported("", "an empty part");
  for (std::int64_t& size : sizes) size /= unit;
  return writer.EmitAll(node, "split(" + x.id + ", axis = " + std::to_string(axis) +
                                  ", ratios = " + ListText(sizes) + ")");
}

Result<void> Slice(Writer& writer, const Node& node, const OutRow&) {
  QTX_ASSIGN_OR_RETURN(const OutTensor x, writer.Input(node, 0));
  QTX_ASSIGN_OR_RETURN(Ints begins, writer.Ints(node, 1));
  QTX_ASSIGN_OR_RETURN(Ints ends, writer.Ints(node, 2));
  Ints axes(begins.size()), steps(begins.size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  if (Writer::Has(node, 3)) {
    QTX_ASSIGN_OR_RETURN(axes, writer.Ints(node, 3));
  }
  if (Writer::Has(node, 4)) {
    QTX_ASSIGN_OR_RETURN(steps, writer.Ints(node, 4));
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 0) axes[i] += static_cast<std::int64_t>(x.dims.size());
    const std::int64_t size = x.dims[static_cast<std::size_t>(axes[i])];
    const auto bound = [size](std::int64_t at) {
      return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size);
    };
    begins[i] = bound(begins[i]);
    ends[i] = bound(ends[i]);
    if (steps[i] < 1 || begins[i] >= ends[i]) return Unsupported("", "no elements, or backwards");
  }
  return writer.Emit(node, "slice(" + x.id + ", axes = " + ListText(axes) +
                               ", begin = " + ListText(begins) + ", end = " + ListText(ends) +
                               ", stride = " + ListText(steps) + ")");
}

Result<void> Pad(Writer& writer, const Node& node, const OutRow&) {
  QTX_ASSIGN_OR_RETURN(const OutTensor x, writer.Input(node, 0));
  QTX_ASSIGN_OR_RETURN(const Ints pads, writer.Ints(node, 1));
  const std::string mode = node.StringOr("mode", "constant");
  const bool known = mode == "constant" || mode == "reflect" || mode == "edge";
  if (!known || Writer::Has(node, 3) || pads.size() != 2 * x.dims.size())
    return Unsupported("", "mode " + mode + ", or axes");
  std::string pairs;
  for (std::size_t i = 0; i < x.dims.size(); ++i)
    pairs += (i > 0 ? ", (" : "(") + std::to_string(pads[i]) + ", " +
             std::to_string(pads[i + x.dims.size()]) + ")";
  std::string text = "pad(" + x.id + ", padding = [" + pairs + "], border = '" +
                     (mode == "edge" ? "replicate" : mode) + "'";
  if (Writer::Has(node, 2) && mode == "constant") {
    QTX_ASSIGN_OR_RETURN(const auto value, writer.graph().Constant(node.inputs[2]));
    if (!value || value->elem_type != format::ElementType::kFloat || value->bytes.size() != 4)
      return Unsupported("", "a value that is no FLOAT constant");
    if (!std::isfinite(value->As<float>()[0]))
      return Unsupported("", "an infinity or NaN as the value, which NNEF has no word for");
    text += ", value = " + FloatText(value->As<float>()[0]);
  }
  return writer.Emit(node, text + ")");
}

Result<void> Tile(Writer& writer, const Node& node, const OutRow&) {
  QTX_ASSIGN_OR_RETURN(const OutTensor x, writer.Input(node, 0));
  QTX_ASSIGN_OR_RETURN(const Ints repeats, writer.Ints(node, 1));
  return writer.Emit(node, "tile(" + x.id + ", repeats = " + ListText(repeats) + ")");
}

Result<void> Gather(Writer& writer, const Node& node, const OutRow&) {
  QTX_ASSIGN_OR_RETURN(const OutTensor x, writer.Input(node, 0));
  QTX_ASSIGN_OR_RETURN(const OutTensor indices, writer.Input(node, 1));
  return writer.Emit(node, "gather(" + x.id + ", " + indices.id +
                               ", axis = " + std::to_string(AxisOf(node, x.dims.size())) + ")");
}

Result<void> BatchNormalization(Writer& writer, const Node& node, const OutRow&) {
  QTX_RETURN_IF_ERROR(Only(node, "training_mode", 0));
  QTX_ASSIGN_OR_RETURN(const OutTensor x, writer.Input(node, 0));
  std::string text = "batch_normalization(" + x.id;
  for (const std::size_t i : {3U, 4U, 2U, 1U}) {  // mean, variance, offset, scale
    QTX_ASSIGN_OR_RETURN(const OutTensor channel, writer.Channels(node, i));
    text += ", " + channel.id;
  }
  return writer.Emit(node, text + ", epsilon = " + FloatText(node.FloatOr("epsilon", 1e-5F)) + ")");
}

Result<void> Lrn(Writer& writer, const Node& node, const OutRow&) {
  QTX_ASSIGN_OR_RETURN(const OutTensor x, writer.Input(node, 0));
  Ints size(x.dims.size(), 1);
  size[1] = node.IntOr("size", 1);
  return writer.Emit(node, "local_response_normalization(" + x.id + ", size = " + ListText(size) +
                               ", alpha = " + FloatText(node.FloatOr("alpha", 1e-4F)) +
                               ", beta = " + FloatText(node.FloatOr("beta", 0.75F)) +
                               ", bias = " + FloatText(node.FloatOr("bias", 1)) + ")");
}

// The operator for a mode of interpolation, up to its factor; "" for another.
std::string Upsampling(const Node& node) {
  const std::string mode = node.StringOr("mode", "nearest");
  const std::string where = node.StringOr("coordinate_transformation_mode", "half_pixel");
  const std::string nearest = node.StringOr("nearest_mode", "round_prefer_floor");
  if (mode == "nearest")
    return where == "asymmetric" && nearest == "floor" ? "nearest_upsample" : "";
  const bool known = mode == "linear" && (where == "half_pixel" || where == "align_corners");
  return known ? "multilinear_upsample" : "";
}

Result<void> Resize(Writer& writer, const Node& node, const OutRow&) {
  QTX_ASSIGN_OR_RETURN(const OutTensor x, writer.Input(node, 0));
  QTX_ASSIGN_OR_RETURN(const Dims dims, writer.DimsOf(node.outputs[0]));
  const std::string op = Upsampling(node);
  Ints factor;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    factor.push_back(x.dims[i] > 0 && dims[i] % x.dims[i] == 0 ? dims[i] / x.dims[i] : 0);
  }
  const bool whole = factor.size() > 2 && factor[0] == 1 && factor[1] == 1 &&
                     std::ranges::find(factor, 0) == factor.end();
  if (op.empty() || !whole || node.Find("axes") != nullptr || node.IntOr("antialias", 0) != 0)
    return Unsupported("", "other than by whole factors along the axes of space");
  factor.erase(factor.begin(), factor.begin() + 2);
  std::string text = op + "(" + x.id + ", factor = " + ListText(factor);
  if (op == "multilinear_upsample") {
    const bool aligned = node.StringOr("coordinate_transformation_mode", "") == "align_corners";
    text += std::string(", method = ") + (aligned ? "'aligned'" : "'symmetric'") +
            ", border = 'replicate'";
  }
  return writer.Emit(node, text + ")");
}

constexpr std::array kOutRows = {
    OutRow{"Abs", Elementwise, "abs"},
    OutRow{"Add", Elementwise, "add"},
    OutRow{"And", Elementwise, "and"},
    OutRow{"ArgMax", Reduce, "argmax_reduce"},
    OutRow{"ArgMin", Reduce, "argmin_reduce"},
    OutRow{"Atan", Elementwise, "atan"},
    OutRow{"AveragePool", Pool, "avg_pool"},
    OutRow{"BatchNormalization", BatchNormalization},
    OutRow{"Cast", Cast},
    OutRow{"Ceil", Elementwise, "ceil"},
    OutRow{"Clip", Clip},
    OutRow{"Concat", Concat},
    OutRow{"Conv", Conv, "conv"},
    OutRow{"ConvTranspose", Conv, "deconv"},
    OutRow{"Cos", Elementwise, "cos"},
    OutRow{"Div", Elementwise, "div"},
    OutRow{"Elu", Alpha, "elu"},
    OutRow{"Equal", Elementwise, "eq"},
    OutRow{"Exp", Elementwise, "exp"},
    OutRow{"Flatten", Reshape},
    OutRow{"Floor", Elementwise, "floor"},
    OutRow{"Gather", Gather},
    OutRow{"Gemm", Gemm},
    OutRow{"GlobalAveragePool", GlobalPool, "mean_reduce"},
    OutRow{"GlobalMaxPool", GlobalPool, "max_reduce"},
    OutRow{"Greater", Elementwise, "gt"},
    OutRow{"GreaterOrEqual", Elementwise, "ge"},
    OutRow{"Identity", Cast},
    OutRow{"LRN", Lrn},
    OutRow{"LeakyRelu", Alpha, "leaky_relu"},
    OutRow{"Less", Elementwise, "lt"},
    OutRow{"LessOrEqual", Elementwise, "le"},
    OutRow{"Log", Elementwise, "log"},
    OutRow{"MatMul", MatMul},
    OutRow{"Max", Elementwise, "max"},
    OutRow{"MaxPool", Pool, "max_pool"},
    OutRow{"Min", Elementwise, "min"},
    OutRow{"Mul", Elementwise, "mul"},
    OutRow{"Neg", Elementwise, "neg"},
    OutRow{"Not", Elementwise, "not"},
    OutRow{"Or", Elementwise, "or"},
    OutRow{"PRelu", Elementwise, "prelu"},
    OutRow{"Pad", Pad},
    OutRow{"Pow", Elementwise, "pow"},
    OutRow{"Reciprocal", Elementwise, "rcp"},
    OutRow{"ReduceMax", Reduce, "max_reduce"},
    OutRow{"ReduceMean", Reduce, "mean_reduce"},
    OutRow{"ReduceMin", Reduce, "min_reduce"},
    OutRow{"ReduceSum", Reduce, "sum_reduce"},
    OutRow{"Relu", Elementwise, "relu"},
    OutRow{"Reshape", Reshape},
    OutRow{"Resize", Resize},
    OutRow{"Selu", Alpha, "selu"},
    OutRow{"Sigmoid", Elementwise, "sigmoid"},
    OutRow{"Sign", Elementwise, "sign"},
    OutRow{"Sin", Elementwise, "sin"},
    OutRow{"Slice", Slice},
    OutRow{"Softmax", Softmax},
    OutRow{"Softplus", Elementwise, "softplus"},
    OutRow{"Split", Split},
    OutRow{"Sqrt", Elementwise, "sqrt"},
    OutRow{"Squeeze", Squeeze, "squeeze"},
    OutRow{"Sub", Elementwise, "sub"},
    OutRow{"Sum", Elementwise, "add_n"},
    OutRow{"Tanh", Elementwise, "tanh"},
    OutRow{"Tile", Tile},
    OutRow{"Transpose", Transpose},
    OutRow{"Unsqueeze", Squeeze, "unsqueeze"},
    OutRow{"Where", Elementwise, "select"},
};

}  // namespace

Result<void> WriteNode(Writer& writer, const Node& node) {
  const auto* row = std::ranges::find(kOutRows, node.op_type, &OutRow::onnx);
  if (row == kOutRows.end() || !format::IsOnnxDomain(node.domain) || node.outputs.empty())
    return Unsupported("", "the operator has no form in NNEF that is written here");
  for (const format::Attribute& attribute : node.attributes) {
    if (attribute.type == format::AttributeType::kFloat && !std::isfinite(attribute.f))
      return Unsupported("attribute '" + attribute.name + "'",
                         "an infinity or NaN, which NNEF has no word for");
  }
  return row->write(writer, node, *row);
}

}  // namespace qtx::convert::nnef
