#include "tflite/lstm.h"

#include <cmath>

#include "errors.h"
#include "tflite/ops.h"

namespace qtx::convert {
namespace {

using format::Dims;

// TFLite's gates are numbered i, f, c, o.
constexpr std::array<std::size_t, 4> kOnnxGates = {0, 3, 1, 2};
constexpr std::array<std::size_t, 3> kOnnxPeepholes = {0, 2, 1};

Result<LstmOptions> OptionsOf(const TfliteOperator& op) {
  LstmOptions options;
  if (const auto* sequence = op.options->builtin_options_as_UnidirectionalSequenceLSTMOptions()) {
    if (sequence->diagonal_recurrent_tensors())
      return Unsupported("diagonal_recurrent_tensors", "weights of a diagonal");
    options = {sequence->fused_activation_function(), sequence->cell_clip(), sequence->proj_clip(),
               sequence->time_major()};
  } else if (const auto* cell = op.options->builtin_options_as_LSTMOptions()) {
    if (cell->kernel_type() != schema::LSTMKernelType::FULL)
      return Unsupported("kernel_type", "the basic kernel of five inputs");
    options = {cell->fused_activation_function(), cell->cell_clip(), cell->proj_clip(), true};
  } else {
    return NoOptions();
  }
  using enum schema::ActivationFunctionType;
  if (options.activation != TANH && options.activation != RELU) {
    const std::string name = schema::EnumNameActivationFunctionType(options.activation);
    return Unsupported(
        "fused_activation_function",
        (name.empty() ? std::to_string(static_cast<int>(options.activation)) : name) +
            ", expected TANH or RELU");
  }
  for (const float clip : {options.cell_clip, options.projection_clip}) {
    if (clip >= 0 && std::isfinite(clip)) continue;
    return Error{ErrorCode::kInvalid, "clip",
                 format::HexFloat(clip) + ", expected a finite number of 0 or more"};
  }
  return options;
}

Result<void> CheckDims(const TfliteBuilder& builder, int index, const Dims& expected) {
  const TfliteTensor& tensor = builder.tensor(index);
  if (tensor.dims == expected) return {};
  return Error{
      ErrorCode::kInvalid, "tensor '" + tensor.name + "'",
      "shape " + format::ToString(tensor.dims) + ", expected " + format::ToString(expected)};
}

Result<void> ReadWeights(const TfliteBuilder& builder, const TfliteOperator& op, LstmLayer* layer) {
  const bool coupled = !builder.HasInput(op, LstmInput::kWeights);
  if (coupled) return Unsupported("input gate", "coupled to the forget gate");
  for (std::size_t gate = 0; gate < kOnnxGates.size(); ++gate) {
    const std::size_t from = kOnnxGates[gate];
    QTX_ASSIGN_OR_RETURN(layer->weights[gate], builder.Input(op, LstmInput::kWeights + from));
    QTX_ASSIGN_OR_RETURN(layer->recurrent[gate], builder.Input(op, LstmInput::kRecurrent + from));
    QTX_ASSIGN_OR_RETURN(layer->bias[gate], builder.Input(op, LstmInput::kBias + from));
  }
  const TfliteTensor& w = builder.tensor(layer->weights[0]);
  const TfliteTensor& r = builder.tensor(layer->recurrent[0]);
  if (w.dims.size() != 2 || r.dims.size() != 2) {
    return Unsupported("weights", "shapes " + format::ToString(w.dims) + " and " +
                                      format::ToString(r.dims) + ", expected rank 2");
  }
  layer->units = w.dims[0];
  layer->input = w.dims[1];
  for (std::size_t gate = 0; gate < kOnnxGates.size(); ++gate) {
    QTX_RETURN_IF_ERROR(CheckDims(builder, layer->weights[gate], {layer->units, layer->input}));
    QTX_RETURN_IF_ERROR(CheckDims(builder, layer->recurrent[gate], {layer->units, r.dims[1]}));
    QTX_RETURN_IF_ERROR(CheckDims(builder, layer->bias[gate], {layer->units}));
  }
  if (!layer->has_projection && r.dims[1] != layer->units) {
    return Error{ErrorCode::kInvalid, "recurrent weights",
                 "shape " + format::ToString(r.dims) + " without a projection"};
  }
  return {};
}

Result<void> ReadPeepholes(const TfliteBuilder& builder, const TfliteOperator& op,
                           LstmLayer* layer) {
  if (!builder.HasInput(op, LstmInput::kPeepholes + 2)) return {};
  for (std::size_t gate = 0; gate < kOnnxPeepholes.size(); ++gate) {
    QTX_ASSIGN_OR_RETURN(layer->peepholes[gate],
                         builder.Input(op, LstmInput::kPeepholes + kOnnxPeepholes[gate]));
    QTX_RETURN_IF_ERROR(CheckDims(builder, layer->peepholes[gate], {layer->units}));
  }
  return {};
}

Result<void> ReadSequence(TfliteBuilder& builder, const TfliteOperator& op, LstmLayer* layer) {
  QTX_ASSIGN_OR_RETURN(layer->x, builder.Input(op, LstmInput::kX));
  QTX_ASSIGN_OR_RETURN(layer->hidden_state, builder.Input(op, LstmInput::kHidden));
  QTX_ASSIGN_OR_RETURN(layer->cell_state, builder.Input(op, LstmInput::kCell));
  QTX_ASSIGN_OR_RETURN(layer->y, builder.Output(op));
  const Dims& x = builder.tensor(layer->x).dims;
  if ((x.size() != 2 && x.size() != 3) || x.back() != layer->input) {
    return Error{ErrorCode::kInvalid, "input[0]",
                 "shape " + format::ToString(x) + ", expected rank 2 or 3 of " +
                     std::to_string(layer->input) + " features"};
  }
  const bool batch_first = x.size() == 3 && !layer->options.time_major;
  layer->steps = x.size() == 2 ? 1 : x[batch_first ? 1 : 0];
  layer->batch = x.size() == 2 ? x[0] : x[batch_first ? 0 : 1];
  const std::int64_t outputs = builder.tensor(layer->recurrent[0]).dims[1];
  Dims y = x;
  y.back() = outputs;
  builder.InferShape(layer->y, y);
  QTX_RETURN_IF_ERROR(CheckDims(builder, layer->y, y));
  QTX_RETURN_IF_ERROR(CheckDims(builder, layer->hidden_state, {layer->batch, outputs}));
  return CheckDims(builder, layer->cell_state, {layer->batch, layer->units});
}

}  // namespace

Result<LstmLayer> LstmLayer::Make(TfliteBuilder& builder, const TfliteOperator& op) {
  LstmLayer layer;
  QTX_ASSIGN_OR_RETURN(layer.options, OptionsOf(op));
  layer.has_projection = builder.HasInput(op, LstmInput::kProjection);
  layer.has_normalization = builder.HasInput(op, LstmInput::kNormalization + 1);
  QTX_RETURN_IF_ERROR(ReadWeights(builder, op, &layer));
  QTX_RETURN_IF_ERROR(ReadPeepholes(builder, op, &layer));
  QTX_RETURN_IF_ERROR(ReadSequence(builder, op, &layer));
  return layer;
}

}  // namespace qtx::convert
