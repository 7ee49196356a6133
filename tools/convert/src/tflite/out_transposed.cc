// ConvTranspose.
#include <algorithm>

#include "errors.h"
#include "qtx/format/attributes.h"
#include "qtx/format/window.h"
#include "tflite/rules.h"
#include "tflite/tensor_out.h"
#include "tflite/window.h"
#include "tflite/window_out.h"

namespace qtx::convert {
namespace {

using format::Dims;
using schema::BuiltinOperator;

struct Upsampling {
  std::array<std::int64_t, 2> strides{}, output{};
  schema::Padding padding = schema::Padding::VALID;
};

// TFLite places the windows as the convolution of the output would have them, so the pads before
// the first are those of that convolution, and the output's size is given.
Result<Upsampling> UpsamplingOf(const format::Node& node, const Dims& x, const Dims& w) {
  QTX_ASSIGN_OR_RETURN(const auto axes, format::TransposedWindowAxes(node, std::span(x).subspan(2),
                                                                     std::span(w).subspan(2)));
  if (format::Attributes(node).Int("group") != 1) return Unsupported("groups");
  Upsampling result;
  bool same = true, none = true;
  for (std::size_t i = 0; i < 2; ++i) {
    const format::WindowAxis& axis = axes[i];
    if (axis.dilation != 1) return Unsupported("dilations");
    const std::int64_t most = std::max({axis.kernel, axis.stride, axis.pad_begin});
    if (most > kMaxSpan) return Unsupported("a window or stride of " + std::to_string(most));
    result.strides[i] = axis.stride;
    result.output[i] = axis.output;
    const std::int64_t back = (axis.output + axis.stride - 1) / axis.stride;
    same &= axis.pad_begin ==
            std::max<std::int64_t>((back - 1) * axis.stride + axis.kernel - axis.output, 0) / 2;
    none &= axis.pad_begin == 0;
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
  QTX_ASSIGN_OR_RETURN(const Kernel kernel, KernelForLayer(writer, layer));
  schema::TransposeConvOptionsT options;
  QTX_ASSIGN_OR_RETURN(options.fused_activation_function, ActivationFor(writer, job, kernel));
  options.padding = up.padding;
  options.stride_h = static_cast<std::int32_t>(up.strides[0]);
  options.stride_w = static_cast<std::int32_t>(up.strides[1]);
  const Permutation perm = Inverse(DepthwiseToOihw());  // [O,H,W,I]
  QTX_ASSIGN_OR_RETURN(const int weights, UseWeights(writer, layer, perm, kernel));
  QTX_ASSIGN_OR_RETURN(const int input, UseFor(writer, kernel, layer.x, Order::kNhwc));
  QTX_ASSIGN_OR_RETURN(const int bias, UseBias(writer, layer, kernel));
  const int shape =
      writer.AddInt32s(job.output + "/shape", {x[0], up.output[0], up.output[1], w[1]});
  Call call{BuiltinOperator::TRANSPOSE_CONV, {shape, weights, input}, {}};
  if (bias >= 0) call.inputs.push_back(bias);
  call.options.Set(std::move(options));
  QTX_ASSIGN_OR_RETURN(const format::TensorType as, TypeFrom(writer, job, kernel));
  const Dims dims = {x[0], w[1], up.output[0], up.output[1]};
  return writer.Emit(std::move(call), {job.output, Order::kNhwc, dims}, as);
}

}  // namespace qtx::convert
