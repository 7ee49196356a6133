#include "tflite/origin.h"

namespace qtx::convert {
namespace {

using format::Attribute;

void AddPadding(schema::Padding padding, std::vector<Attribute>& to) {
  to.push_back(Attribute::String("padding", padding == schema::Padding::SAME ? "SAME" : "VALID"));
}

void AddActivation(schema::ActivationFunctionType activation, std::vector<Attribute>& to) {
  if (activation == schema::ActivationFunctionType::NONE) return;
  to.push_back(Attribute::String("fused_activation_function",
                                 schema::EnumNameActivationFunctionType(activation)));
}

// Of one table of options, what it has of padding and activation.
template <typename Options>
void AddOptions(const Options* options, std::vector<Attribute>& to) {
  if (options == nullptr) return;
  if constexpr (requires { options->padding(); }) AddPadding(options->padding(), to);
  if constexpr (requires { options->fused_activation_function(); }) {
    AddActivation(options->fused_activation_function(), to);
  }
  if constexpr (requires { options->pot_scale_int16(); }) {
    if (!options->pot_scale_int16()) to.push_back(Attribute::Int("pot_scale_int16", 0));
  }
  if constexpr (requires { options->asymmetric_quantize_inputs(); }) {
    if (options->asymmetric_quantize_inputs()) {
      to.push_back(Attribute::Int("asymmetric_quantize_inputs", 1));
    }
  }
  if constexpr (requires { options->keep_dims(); }) {
    to.push_back(Attribute::Int("keep_dims", options->keep_dims() ? 1 : 0));
  }
  if constexpr (requires { options->cell_clip(); }) {
    to.push_back(Attribute::Float("cell_clip", options->cell_clip()));
    to.push_back(Attribute::Float("proj_clip", options->proj_clip()));
  }
  if constexpr (requires { options->time_major(); }) {
    to.push_back(Attribute::Int("time_major", options->time_major() ? 1 : 0));
  }
}

}  // namespace

format::Origin OriginOf(const TfliteOperator& op) {
  format::Origin origin;
  origin.group = std::to_string(op.index);
  origin.framework = "tflite";
  origin.op_type = op.name;
  const schema::Operator& options = *op.options;
  AddOptions(options.builtin_options_as_Conv2DOptions(), origin.attributes);
  AddOptions(options.builtin_options_as_DepthwiseConv2DOptions(), origin.attributes);
  AddOptions(options.builtin_options_as_Pool2DOptions(), origin.attributes);
  AddOptions(options.builtin_options_as_FullyConnectedOptions(), origin.attributes);
  AddOptions(options.builtin_options_as_ConcatenationOptions(), origin.attributes);
  AddOptions(options.builtin_options_as_AddOptions(), origin.attributes);
  AddOptions(options.builtin_options_as_SubOptions(), origin.attributes);
  AddOptions(options.builtin_options_as_MulOptions(), origin.attributes);
  AddOptions(options.builtin_options_as_DivOptions(), origin.attributes);
  AddOptions(options.builtin_options_as_TransposeConvOptions(), origin.attributes);
  AddOptions(options.builtin_options_as_ReducerOptions(), origin.attributes);
  AddOptions(options.builtin_options_as_LSTMOptions(), origin.attributes);
  AddOptions(options.builtin_options_as_UnidirectionalSequenceLSTMOptions(), origin.attributes);
  return origin;
}

}  // namespace qtx::convert
