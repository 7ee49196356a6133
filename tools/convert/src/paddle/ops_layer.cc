// Layers with windows, and normalisation.  Source: paddle/phi/kernels (conv, pool, batch_norm,
// interpolate, pad3d) and the attributes in paddle/fluid/operators.
#include <algorithm>

#include "paddle/ops.h"

namespace qtx::convert::paddle {
namespace {

using A = format::Attribute;

Result<void> RequireNchw(const Op& op, std::string_view attribute) {
  const std::string layout = op.String(attribute, "NCHW");
  if (layout == "NCHW" || layout == "AnyLayout" || layout == "NCDHW") return {};
  return Unsupported(op, std::string(attribute) + " " + layout + ", not NCHW");
}

// Paddle: [h, w] or [top, bottom, left, right]. ONNX: [top, left, bottom, right].
Result<void> AddPads(const Op& op, std::vector<A>& attributes) {
  const std::string algorithm = op.String("padding_algorithm", "EXPLICIT");
  if (algorithm == "SAME") {
    const auto dilations = op.Ints("dilations");
    if (std::ranges::any_of(dilations, [](std::int64_t d) { return d != 1; }))
      return Unsupported(op, "padding SAME with dilations");  // Paddle sets them to 1
    attributes.push_back(A::String("auto_pad", "SAME_UPPER"));
    return {};
  }
  if (algorithm == "VALID") return {};
  const auto p = op.Ints("paddings");
  if (p.empty()) return {};
  if (p.size() != 2 && p.size() != 4) return Invalid(op, "expected 2 or 4 paddings");
  attributes.push_back(A::Ints("pads", p.size() == 2 ? std::vector{p[0], p[1], p[0], p[1]}
                                                     : std::vector{p[0], p[2], p[1], p[3]}));
  return {};
}

Result<void> RefuseFusions(const Builder& builder, const Op& op) {
  QTX_RETURN_IF_ERROR(RequireNchw(op, "data_format"));
  QTX_RETURN_IF_ERROR(RefuseSet(op, "fuse_relu"));
  QTX_RETURN_IF_ERROR(RefuseSet(op, "fuse_brelu"));
  QTX_RETURN_IF_ERROR(RefuseInput(builder, op, "ResidualData"));
  if (op.String("fuse_activation", "").empty()) return {};
  return Unsupported(op, "a fused activation");
}

Result<void> Conv(Builder& builder, const Op& op) {
  QTX_RETURN_IF_ERROR(RefuseFusions(builder, op));
  const bool transposed = op.type.ends_with("_transpose");
  std::vector<A> attributes = {A::Int("group", op.Int("groups", 1))};
  for (const char* name : {"strides", "dilations"}) {
    if (op.Find(name) != nullptr) attributes.push_back(A::Ints(name, op.Ints(name)));
  }
  QTX_RETURN_IF_ERROR(AddPads(op, attributes));
  if (transposed) {
    QTX_RETURN_IF_ERROR(RefuseSet(op, "output_size"));
    if (!op.Ints("output_padding").empty())
      attributes.push_back(A::Ints("output_padding", op.Ints("output_padding")));
  }
  QTX_ASSIGN_OR_RETURN(const std::string x, builder.In(op, "Input"));
  QTX_ASSIGN_OR_RETURN(auto w, WholeWeights(builder, op, "Input", "Filter", "Output"));
  if (!w) {
    QTX_ASSIGN_OR_RETURN(w, builder.In(op, "Filter"));
  }
  std::vector<std::string> inputs = {x, *w};
  if (builder.Has(op, "Bias")) {
    QTX_ASSIGN_OR_RETURN(std::string bias, builder.In(op, "Bias"));
    inputs.push_back(std::move(bias));
  }
  QTX_ASSIGN_OR_RETURN(const std::string y, builder.Out(op, "Output"));
  builder.Node(transposed ? "ConvTranspose" : "Conv", inputs, {y}, std::move(attributes));
  return {};
}

// The window of an adaptive pool whose output divides its input.
Result<std::vector<std::int64_t>> AdaptiveWindow(const Builder& builder, const Op& op) {
  QTX_ASSIGN_OR_RETURN(const Var x, builder.Declared(op, "X"));
  const auto size = op.Ints("ksize");
  if (x.shape.size() != 4 || size.size() != 2)
    return Invalid(op, "expected a tensor of rank 4 and 2 sizes");
  std::vector<std::int64_t> window;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto dim = x.shape[i + 2].value;
    if (!dim || size[i] < 1 || *dim % size[i] != 0)
      return Unsupported(op, "an adaptive pool whose windows differ");
    window.push_back(*dim / size[i]);
  }
  return window;
}

Result<void> Pool(Builder& builder, const Op& op) {
  QTX_RETURN_IF_ERROR(RequireNchw(op, "data_format"));
  const std::string kind = op.String("pooling_type", "");
  if (kind != "max" && kind != "avg") return Unsupported(op, "pooling_type '" + kind + "'");
  const bool max = kind == "max";
  auto window = op.Ints("ksize");
  const bool adaptive = op.Bool("adaptive", false);
  const bool ones = window == std::vector<std::int64_t>{1, 1};
  if (op.Bool("global_pooling", false) || (adaptive && ones))
    return Unary(builder, op, max ? "GlobalMaxPool" : "GlobalAveragePool");
  std::vector<A> attributes;
  if (adaptive) {
    QTX_ASSIGN_OR_RETURN(window, AdaptiveWindow(builder, op));
    attributes.push_back(A::Ints("strides", window));
  } else {
    QTX_RETURN_IF_ERROR(AddPads(op, attributes));
    if (!op.Ints("strides").empty()) attributes.push_back(A::Ints("strides", op.Ints("strides")));
    if (op.Bool("ceil_mode", false)) attributes.push_back(A::Int("ceil_mode", 1));
    // exclusive: padding does not count.
    if (!max && !op.Bool("exclusive", true)) attributes.push_back(A::Int("count_include_pad", 1));
  }
  attributes.push_back(A::Ints("kernel_shape", window));
  return Unary(builder, op, max ? "MaxPool" : "AveragePool", std::move(attributes));
}

Result<void> BatchNorm(Builder& builder, const Op& op) {
  QTX_RETURN_IF_ERROR(RequireNchw(op, "data_layout"));
  if (!op.Bool("is_test", false) && !op.Bool("use_global_stats", false))
    return Unsupported(op, "training mode, which computes mean and variance of the input");
  std::vector<std::string> inputs;
  for (const char* parameter : {"X", "Scale", "Bias", "Mean", "Variance"}) {
    QTX_ASSIGN_OR_RETURN(std::string input, builder.In(op, parameter));
    inputs.push_back(std::move(input));
  }
  QTX_ASSIGN_OR_RETURN(const std::string y, builder.Out(op, "Y"));
  builder.Node("BatchNormalization", inputs, {y},
               {A::Float("epsilon", op.Float("epsilon", 1e-5F))});
  return {};
}

// Source: paddle/phi/kernels/cpu/interpolate_kernel.cc: nearest takes floor(i * ratio), or with
// align_corners floor(i * ratio + 1/2); bilinear (i + 1/2) * ratio - 1/2 when align_mode is 0.
std::vector<A> ResizeAttributes(const Op& op) {
  const bool nearest = op.type.starts_with("nearest");
  const bool corners = op.Bool("align_corners", true);
  std::vector<A> attributes = {A::String("mode", nearest ? "nearest" : "linear"),
                               A::Ints("axes", {2, 3})};
  const bool asymmetric = nearest || op.Int("align_mode", 1) == 1;
  attributes.push_back(
      A::String("coordinate_transformation_mode",
                corners ? "align_corners" : (asymmetric ? "asymmetric" : "half_pixel")));
  if (nearest)
    attributes.push_back(A::String("nearest_mode", corners ? "round_prefer_ceil" : "floor"));
  return attributes;
}

Result<void> Interpolate(Builder& builder, const Op& op) {
  QTX_RETURN_IF_ERROR(RequireNchw(op, "data_layout"));
  for (const char* parameter : {"OutSize", "SizeTensor", "Scale"})
    QTX_RETURN_IF_ERROR(RefuseInput(builder, op, parameter));
  QTX_ASSIGN_OR_RETURN(const std::string x, builder.In(op, "X"));
  QTX_ASSIGN_OR_RETURN(const std::string y, builder.Out(op, "Out"));
  const Attribute* scale = op.Find("scale");
  std::vector<float> scales = scale == nullptr ? std::vector<float>() : scale->floats;
  const bool scaled = !scales.empty() && scales[0] > 0;
  if (scaled) {
    scales.resize(2, scales[0]);
    const std::string name =
        builder.Constant(y + "/scales", TensorOf(format::ElementType::kFloat, {2}, scales.data()));
    builder.Node("Resize", {x, "", name}, {y}, ResizeAttributes(op));
    return {};
  }
  const std::int64_t h = op.Int("out_h", -1), w = op.Int("out_w", -1);
  if (h < 1 || w < 1) return Invalid(op, "has neither scale nor out_h and out_w");
  builder.Node("Resize", {x, "", "", builder.Ints(y + "/sizes", {h, w})}, {y},
               ResizeAttributes(op));
  return {};
}

Result<void> PadWith(Builder& builder, const Op& op, const std::vector<std::int64_t>& pads,
                     float value) {
  const std::string mode = op.String("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "replicate" && mode != "edge")
    return Unsupported(op, "mode '" + mode + "'");
  QTX_ASSIGN_OR_RETURN(const std::string x, builder.In(op, "X"));
  QTX_ASSIGN_OR_RETURN(const std::string y, builder.Out(op, "Out"));
  std::vector<std::string> inputs = {x, builder.Ints(y + "/pads", pads)};
  if (mode == "constant") inputs.push_back(builder.Scalar(y + "/value", value));
  builder.Node("Pad", inputs, {y}, {A::String("mode", mode == "replicate" ? "edge" : mode)});
  return {};
}

// paddings: left, right, top, bottom, front, back.
Result<void> Pad3d(Builder& builder, const Op& op) {
  QTX_RETURN_IF_ERROR(RequireNchw(op, "data_format"));
  QTX_RETURN_IF_ERROR(RefuseInput(builder, op, "Paddings"));
  const auto p = op.Ints("paddings");
  if (p.size() != 6) return Invalid(op, "expected 6 paddings");
  return PadWith(builder, op, {0, 0, p[4], p[2], p[0], 0, 0, p[5], p[3], p[1]},
                 op.Float("value", 0));
}

// paddings: top, bottom, left, right.
Result<void> Pad2d(Builder& builder, const Op& op) {
  QTX_RETURN_IF_ERROR(RequireNchw(op, "data_format"));
  QTX_RETURN_IF_ERROR(RefuseInput(builder, op, "Paddings"));
  const auto p = op.Ints("paddings");
  if (p.size() != 4) return Invalid(op, "expected 4 paddings");
  return PadWith(builder, op, {0, 0, p[0], p[2], 0, 0, p[1], p[3]}, op.Float("pad_value", 0));
}

Result<void> MaxOrMeanPool(Builder& builder, const Op& op) {
  // The mean of integers is not an integer; only the maximum is.
  if (op.String("pooling_type", "") == "max") return Pool(builder, op);
  QTX_ASSIGN_OR_RETURN(const std::string x, builder.In(op, "X"));
  if (builder.units().contains(x)) return Unsupported(op, "a mean of integers that stay integers");
  return Pool(builder, op);
}

constexpr Operator kLayerOperators[] = {
    {"conv2d", Conv, Operator::Whole::kTaken},
    {"depthwise_conv2d", Conv, Operator::Whole::kTaken},
    {"conv2d_transpose", Conv},
    {"depthwise_conv2d_transpose", Conv},
    {"pool2d", MaxOrMeanPool, Operator::Whole::kCarried},
    {"batch_norm", BatchNorm},
    {"nearest_interp", Interpolate, Operator::Whole::kRefused},
    {"nearest_interp_v2", Interpolate, Operator::Whole::kRefused},
    {"bilinear_interp", Interpolate},
    {"bilinear_interp_v2", Interpolate},
    {"pad2d", Pad2d},
    {"pad3d", Pad3d},
};

}  // namespace

std::span<const Operator> LayerOperators() { return kLayerOperators; }

}  // namespace qtx::convert::paddle
