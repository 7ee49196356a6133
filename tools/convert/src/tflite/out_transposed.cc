// ConvTranspose.
#include <algorithm>

#include "errors.h"
#include "qtx/format/attributes.h"
#include "tflite/rules.h"
#include "tflite/tensor_out.h"
#include "tflite/window_out.h"

namespace qtx::convert {
namespace {

using format::Dims;
using schema::BuiltinOperator;

constexpr std::int64_t kMax = 1 << 16;

struct Upsampling {
  std::array<std::int64_t, 2> strides{}, output{};
  schema::Padding padding = schema::Padding::VALID;
};

bool InRange(const std::vector<std::int64_t>& values, std::size_t count, std::int64_t low) {
  return values.size() == count && std::ranges::all_of(values, [low](std::int64_t value) {
           return value >= low && value <= kMax;
         });
}

// TFLite places the windows as the convolution of the output would have them, so the pads before
// the first are those of that convolution, and the output's size is given.
Result<Upsampling> UpsamplingOf(const format::Node& node, const Dims& x, const Dims& w) {
  const auto strides = node.IntsOr("strides", {1, 1}), pads = node.IntsOr("pads", {0, 0, 0, 0});
  const auto beyond = node.IntsOr("output_padding", {0, 0});
  const bool plain = node.IntsOr("dilations", {1, 1}) == std::vector<std::int64_t>{1, 1} &&
                     format::IntOf(node, "group") == 1 && node.Find("output_shape") == nullptr &&
                     format::StringOf(node, "auto_pad") == "NOTSET";
  if (!plain || !InRange(strides, 2, 1) || !InRange(pads, 4, 0) || !InRange(beyond, 2, 0)) {
    return Unsupported("dilations, groups, auto_pad, output_shape, or sizes out of range");
  }
  Upsampling result;
  bool same = true, none = true;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t kernel = w[i + 2], stride = strides[i];
    if (kernel < 1 || kernel > kMax || x[i + 2] < 1) return Unsupported("kernel size");
    result.strides[i] = stride;
    const std::int64_t y = stride * (x[i + 2] - 1) + beyond[i] + kernel - pads[i] - pads[i + 2];
    if (y < 1) return Unsupported("an empty result");
    result.output[i] = y;
    const std::int64_t back = (y + stride - 1) / stride;
    same &= pads[i] == std::max<std::int64_t>((back - 1) * stride + kernel - y, 0) / 2;
    none &= pads[i] == 0;
  }
  if (!same && !none) return Unsupported("pads other than none and those of SAME");
  result.padding = none ? schema::Padding::VALID : schema::Padding::SAME;
  return result;
}

}  // namespace

Result<void> WriteConvTranspose(TfliteWriter& writer, const Job& job) {
  QTX_ASSIGN_OR_RETURN(const Dims x, writer.Dims(job.Input(0)));
  QTX_ASSIGN_OR_RETURN(const Dims w, writer.Dims(job.Input(1)));  // [I,O,H,W]
  if (x.size() != 4 || w.size() != 4 || w[0] != x[1]) {
    return Unsupported("weights " + format::ToString(w) + " for x " + format::ToString(x));
  }
  QTX_ASSIGN_OR_RETURN(const Upsampling up, UpsamplingOf(job.node, x, w));
  const Layer layer{job.Input(0), job.Input(1), job.Input(2), job.output, 1, w[1]};
  QTX_RETURN_IF_ERROR(CheckLayer(writer, layer));
  schema::TransposeConvOptionsT options;
  QTX_ASSIGN_OR_RETURN(options.fused_activation_function, FusedInto(writer, job));
  options.padding = up.padding;
  options.stride_h = static_cast<std::int32_t>(up.strides[0]);
  options.stride_w = static_cast<std::int32_t>(up.strides[1]);
  if (!writer.IsConstant(layer.w)) return Unsupported("weights are not constant");
  QTX_ASSIGN_OR_RETURN(const format::Tensor constant, writer.Constant(layer.w));
  QTX_ASSIGN_OR_RETURN(
      const int weights,
      writer.AddConstant(layer.w, Permute(constant, Inverse(DepthwiseToOihw()))));  // [O,H,W,I]
  QTX_ASSIGN_OR_RETURN(const int input, writer.Use(layer.x, Order::kNhwc));
  QTX_ASSIGN_OR_RETURN(const int bias, UseBias(writer, layer));
  const int shape =
      writer.AddInt32s(job.output + "/shape", {x[0], up.output[0], up.output[1], w[1]});
  Call call{BuiltinOperator::TRANSPOSE_CONV, {shape, weights, input}, {}};
  if (bias >= 0) call.inputs.push_back(bias);
  call.options.Set(std::move(options));
  QTX_ASSIGN_OR_RETURN(const format::TensorType y, writer.Type(job.output));
  const Dims dims = {x[0], w[1], up.output[0], up.output[1]};
  return writer.Emit(std::move(call), {job.output, Order::kNhwc, dims}, y);
}

}  // namespace qtx::convert
