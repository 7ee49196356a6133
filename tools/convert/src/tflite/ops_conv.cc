// CONV_2D, DEPTHWISE_CONV_2D and TRANSPOSE_CONV.
#include "errors.h"
#include "tflite/ops.h"
#include "tflite/window.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::Dims;

template <typename Options>
Window WindowOf(const Options& options, std::int64_t height, std::int64_t width) {
  return {{height, width},
          {options.stride_h(), options.stride_w()},
          {options.dilation_h_factor(), options.dilation_w_factor()},
          options.padding()};
}

struct Operands {
  int x = 0, w = 0, y = 0;
};

Result<void> CheckRank4(const TfliteBuilder& builder, const Operands& operands) {
  for (const int index : {operands.x, operands.w, operands.y}) {
    const TfliteTensor& tensor = builder.tensor(index);
    if (tensor.dims.size() == 4) continue;
    return Invalid("tensor '" + tensor.name + "'",
                   "rank " + std::to_string(tensor.dims.size()) + ", expected 4");
  }
  return {};
}

Result<Operands> OperandsOf(const TfliteBuilder& builder, const TfliteOperator& op) {
  Operands operands;
  QTX_ASSIGN_OR_RETURN(operands.x, builder.Input(op, 0));
  QTX_ASSIGN_OR_RETURN(operands.w, builder.Input(op, 1));
  QTX_ASSIGN_OR_RETURN(operands.y, builder.Output(op));
  QTX_RETURN_IF_ERROR(CheckRank4(builder, operands));
  return operands;
}

// How a kind of convolution maps to ONNX's Conv.
struct ConvForm {
  Window window;
  std::int64_t group = 1;
  const Permutation& perm;  // brings the weights to OIHW
  schema::ActivationFunctionType activation;
};

// Shared by both kinds, given the weights' dimensions.
Result<void> EmitConv(TfliteBuilder& builder, const TfliteOperator& op, const Operands& operands,
                      const ConvForm& form) {
  const Dims& x = builder.tensor(operands.x).dims;
  const Dims& y = builder.tensor(operands.y).dims;
  const std::int64_t channels = Permute(builder.tensor(operands.w).dims, form.perm)[0];
  if (y[0] != x[0] || y[3] != channels) {
    return Invalid("output", "shape " + format::ToString(y) + ", expected [" +
                                 std::to_string(x[0]) + ",H,W," + std::to_string(channels) + "]");
  }
  Draft draft;
  draft.op_type = "Conv";
  QTX_ASSIGN_OR_RETURN(draft.attributes, WindowAttributes(form.window, x, y));
  if (form.group != 1) draft.attributes.push_back(Attribute::Int("group", form.group));
  QTX_ASSIGN_OR_RETURN(const std::string x_name, builder.Use(operands.x, Layout::kFirst));
  QTX_ASSIGN_OR_RETURN(const std::string w_name, builder.UsePermuted(op, operands.w, form.perm));
  QTX_ASSIGN_OR_RETURN(const std::string bias,
                       UseBias(builder, op, {operands.x, operands.w, 2}, channels));
  QTX_RETURN_IF_ERROR(NoteHybrid(builder, op));
  draft.inputs = {x_name, w_name};
  if (!bias.empty()) draft.inputs.push_back(bias);
  return builder.Emit(op, std::move(draft), operands.y, Layout::kFirst, form.activation);
}

}  // namespace

Result<void> ConvertConv2d(TfliteBuilder& builder, const TfliteOperator& op) {
  const auto* options = op.options->builtin_options_as_Conv2DOptions();
  if (options == nullptr) return NoOptions();
  QTX_ASSIGN_OR_RETURN(const Operands operands, OperandsOf(builder, op));
  const Dims& x = builder.tensor(operands.x).dims;
  const Dims& w = builder.tensor(operands.w).dims;  // [O,H,W,I]
  if (x[3] % w[3] != 0 || w[0] % (x[3] / w[3]) != 0) {
    return Invalid("weights", "shape " + format::ToString(w) + " does not fit " +
                                  std::to_string(x[3]) + " input channels");
  }
  return EmitConv(builder, op, operands,
                  {.window = WindowOf(*options, w[1], w[2]),
                   .group = x[3] / w[3],
                   .perm = NhwcToNchw(),
                   .activation = options->fused_activation_function()});
}

Result<void> ConvertDepthwiseConv2d(TfliteBuilder& builder, const TfliteOperator& op) {
  const auto* options = op.options->builtin_options_as_DepthwiseConv2DOptions();
  if (options == nullptr) return NoOptions();
  QTX_ASSIGN_OR_RETURN(const Operands operands, OperandsOf(builder, op));
  const Dims& x = builder.tensor(operands.x).dims;
  const Dims& w = builder.tensor(operands.w).dims;  // [1,H,W,O]
  // Output channel o reads input channel o / (O / C), which is ONNX's numbering of groups too.
  if (w[0] != 1 || w[3] % x[3] != 0) {
    return Invalid("weights", "shape " + format::ToString(w) + " does not fit " +
                                  std::to_string(x[3]) + " input channels");
  }
  return EmitConv(builder, op, operands,
                  {.window = WindowOf(*options, w[1], w[2]),
                   .group = x[3],
                   .perm = DepthwiseToOihw(),
                   .activation = options->fused_activation_function()});
}

Result<void> ConvertTransposeConv(TfliteBuilder& builder, const TfliteOperator& op) {
  const auto* options = op.options->builtin_options_as_TransposeConvOptions();
  if (options == nullptr) return NoOptions();
  // Input 0 is the shape of the output, which the output's own type states.
  Operands operands;
  QTX_ASSIGN_OR_RETURN(operands.w, builder.Input(op, 1));
  QTX_ASSIGN_OR_RETURN(operands.x, builder.Input(op, 2));
  QTX_ASSIGN_OR_RETURN(operands.y, builder.Output(op));
  QTX_RETURN_IF_ERROR(CheckRank4(builder, operands));
  const Dims& x = builder.tensor(operands.x).dims;
  const Dims& w = builder.tensor(operands.w).dims;  // [O,H,W,I]
  const Dims& y = builder.tensor(operands.y).dims;
  if (w[3] != x[3] || y[0] != x[0] || y[3] != w[0]) {
    return Invalid("weights", "shape " + format::ToString(w) + " for input " + format::ToString(x) +
                                  " and output " + format::ToString(y));
  }
  const Window window{
      {w[1], w[2]}, {options->stride_h(), options->stride_w()}, {1, 1}, options->padding()};
  Draft draft{"ConvTranspose", {}, {}};
  QTX_ASSIGN_OR_RETURN(draft.attributes, TransposedWindowAttributes(window, x, y));
  QTX_ASSIGN_OR_RETURN(const std::string x_name, builder.Use(operands.x, Layout::kFirst));
  QTX_ASSIGN_OR_RETURN(const std::string w_name,
                       builder.UsePermuted(op, operands.w, DepthwiseToOihw()));  // to IOHW
  QTX_ASSIGN_OR_RETURN(const std::string bias,
                       UseBias(builder, op, {operands.x, operands.w, 3}, w[0]));
  draft.inputs = {x_name, w_name};
  if (!bias.empty()) draft.inputs.push_back(bias);
  return builder.Emit(op, std::move(draft), operands.y, Layout::kFirst,
                      options->fused_activation_function());
}

}  // namespace qtx::convert
