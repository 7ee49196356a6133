// UNIDIRECTIONAL_SEQUENCE_LSTM and LSTM as ONNX's LSTM.
#include <algorithm>
#include <span>

#include "errors.h"
#include "tflite/lstm.h"
#include "tflite/ops.h"
#include "tflite/window.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::Dims;

// Constants of the gates, one after the other, as one constant of one direction.
class Stack {
 public:
  /// Errors: kUnsupported for what is no constant, for several scales in one gate, and where the
  /// gates' types differ.
  static Result<Stack> Make(TfliteBuilder& builder, std::span<const int> parts);
  /// Zeros for as many rows again, in the same scales.
  void AppendZeros();
  format::Tensor Take(Dims dims) {
    tensor_.dims = std::move(dims);
    return std::move(tensor_);
  }

 private:
  Result<void> Append(TfliteBuilder& builder, int part);
  format::Tensor tensor_;
};

Result<Stack> Stack::Make(TfliteBuilder& builder, std::span<const int> parts) {
  Stack stack;
  for (const int part : parts) {
    auto appended = stack.Append(builder, part);
    if (!appended.has_value())
      return At("tensor '" + builder.tensor(part).name + "'", appended.error());
  }
  return stack;
}

// A constant, or what a DEQUANTIZE widens from one of FLOAT16.
Result<format::Tensor> RowsOf(TfliteBuilder& builder, int part) {
  const std::optional<int> half = builder.HalfOf(part);
  const TfliteTensor& source = builder.tensor(half.value_or(part));
  if (!source.constant()) return Unsupported("", "not a constant");
  QTX_ASSIGN_OR_RETURN(const format::TensorType type, builder.Type(half.value_or(part)));
  QTX_ASSIGN_OR_RETURN(format::Tensor rows, ConstantOf(source, type));
  if (!half) return rows;
  QTX_ASSIGN_OR_RETURN(format::Tensor wide,
                       format::MakeTensor(format::ElementType::kFloat, rows.dims));
  std::ranges::transform(format::StoredValues(rows), wide.As<float>().begin(),
                         [](double value) { return static_cast<float>(value); });
  return wide;
}

// One scale per row, equal within a gate.
Result<void> Stack::Append(TfliteBuilder& builder, int part) {
  const TfliteTensor& source = builder.tensor(part);
  QTX_ASSIGN_OR_RETURN(const format::Tensor rows, RowsOf(builder, part));
  if (format::BitWidth(rows.elem_type) < 8) return Unsupported("", "of less than 8 bits");
  if (tensor_.bytes.empty()) {
    tensor_.elem_type = rows.elem_type;
    if (rows.quantization) tensor_.quantization = format::Quantization{.axis = {1}};
  }
  if (rows.elem_type != tensor_.elem_type) return Unsupported("", "of another type than the rest");
  tensor_.bytes.insert(tensor_.bytes.end(), rows.bytes.begin(), rows.bytes.end());
  if (!rows.quantization) return {};
  const format::Quantization& q = *rows.quantization;
  if (q.scale.size() != 1 || !q.offset.empty()) return Unsupported("", "not one scale, offset 0");
  const auto count = static_cast<std::size_t>(source.dims[0]);
  tensor_.quantization->scale.insert(tensor_.quantization->scale.end(), count, q.scale[0]);
  tensor_.quantization->scheme = q.scheme;
  return {};
}

void Stack::AppendZeros() {
  tensor_.bytes.resize(tensor_.bytes.size() * 2);
  if (!tensor_.quantization) return;
  std::vector<float>& scale = tensor_.quantization->scale;
  scale.insert(scale.end(), scale.begin(),
               scale.begin() + static_cast<std::ptrdiff_t>(scale.size()));
}

// The clip of stored integers becomes the range of their type; TFLite truncates it.
Result<void> ExpressCellClip(TfliteBuilder& builder, const LstmLayer& layer,
                             format::TensorType* cell) {
  const float clip = layer.options.cell_clip;
  if (clip == 0) return {};
  if (!cell->quantization) {
    return builder.Lose("cell_clip", layer.cell_state, "cell_clip",
                        format::HexFloat(clip) + ", which ONNX's LSTM lacks");
  }
  const auto most = static_cast<float>(format::StorageRange(cell->elem_type).max);
  const auto bound = static_cast<std::int64_t>(std::min(clip / cell->quantization->scale[0], most));
  cell->quantization->quant_min = -bound;
  cell->quantization->quant_max = bound;
  builder.Note(builder.tensor(layer.cell_state).name, "cell_clip",
               format::HexFloat(clip) + " is the range of the stored values");
  return {};
}

struct States {
  TfliteBuilder::State hidden, cell;
};

Result<States> AddStates(TfliteBuilder& builder, const LstmLayer& layer) {
  QTX_ASSIGN_OR_RETURN(format::TensorType hidden, builder.StateType(layer.hidden_state));
  QTX_ASSIGN_OR_RETURN(format::TensorType cell, builder.StateType(layer.cell_state));
  QTX_RETURN_IF_ERROR(ExpressCellClip(builder, layer, &cell));
  hidden.shape = cell.shape = format::ToShape(Dims{1, layer.batch, layer.units});
  States states;
  QTX_ASSIGN_OR_RETURN(states.hidden, builder.AddState(layer.hidden_state, hidden));
  QTX_ASSIGN_OR_RETURN(states.cell, builder.AddState(layer.cell_state, cell));
  return states;
}

Result<std::string> SequenceOf(TfliteBuilder& builder, const TfliteOperator& op,
                               const LstmLayer& layer) {
  const TfliteTensor& x = builder.tensor(layer.x);
  QTX_ASSIGN_OR_RETURN(std::string name, builder.Use(layer.x, Layout::kOwn));
  if (x.dims.size() == 3 && layer.options.time_major) return name;
  QTX_ASSIGN_OR_RETURN(const format::TensorType own, builder.Type(layer.x));
  QTX_ASSIGN_OR_RETURN(format::TensorType type,
                       Reshaped(own, {layer.steps, layer.batch, layer.input}));
  if (x.dims.size() == 3) {
    Draft transpose{"Transpose", {name}, {Attribute::Ints("perm", {1, 0, 2})}};
    return builder.EmitInner(op, std::move(transpose), x.name + "/steps", std::move(type));
  }
  Draft reshape{"Reshape", {name}, {}};
  reshape.inputs.push_back(builder.AddConstant(
      x.name + "/shape", graph::IntsTensor(std::vector{layer.steps, layer.batch, layer.input})));
  return builder.EmitInner(op, std::move(reshape), x.name + "/steps", std::move(type));
}

// Y is [steps, 1, batch, units]; TFLite's output has the batch first, or no steps.
Result<void> EmitOutput(TfliteBuilder& builder, const TfliteOperator& op, const LstmLayer& layer,
                        std::string sequence) {
  const TfliteTensor& y = builder.tensor(layer.y);
  if (y.dims.size() == 3 && !layer.options.time_major) {
    QTX_ASSIGN_OR_RETURN(const format::TensorType own, builder.Type(layer.y));
    QTX_ASSIGN_OR_RETURN(format::TensorType type,
                         Reshaped(own, {layer.batch, layer.steps, 1, layer.units}));
    Draft transpose{"Transpose", {sequence}, {Attribute::Ints("perm", {2, 0, 1, 3})}};
    sequence = builder.EmitInner(op, std::move(transpose), y.name + "/batches", std::move(type));
  }
  Draft reshape{"Reshape", {sequence}, {}};
  reshape.inputs.push_back(builder.AddConstant(y.name + "/shape", graph::IntsTensor(y.dims)));
  return builder.Emit(op, std::move(reshape), layer.y, Layout::kOwn);
}

Result<std::vector<std::string>> Weights(TfliteBuilder& builder, const LstmLayer& layer,
                                         const std::string& name) {
  const std::int64_t rows = 4 * layer.units;
  QTX_ASSIGN_OR_RETURN(Stack w, Stack::Make(builder, layer.weights));
  QTX_ASSIGN_OR_RETURN(Stack r, Stack::Make(builder, layer.recurrent));
  QTX_ASSIGN_OR_RETURN(Stack b, Stack::Make(builder, layer.bias));
  b.AppendZeros();
  return std::vector<std::string>{builder.AddConstant(name + "/W", w.Take({1, rows, layer.input})),
                                  builder.AddConstant(name + "/R", r.Take({1, rows, layer.units})),
                                  builder.AddConstant(name + "/B", b.Take({1, 2 * rows}))};
}

}  // namespace

Result<void> ConvertLstm(TfliteBuilder& builder, const TfliteOperator& op) {
  QTX_ASSIGN_OR_RETURN(const LstmLayer layer, LstmLayer::Make(builder, op));
  if (layer.has_projection) return Unsupported("projection", "ONNX's LSTM has none");
  if (layer.has_normalization) return Unsupported("layer normalization", "ONNX's LSTM has none");
  for (std::size_t gate = 0; gate < layer.bias.size(); ++gate) {
    QTX_RETURN_IF_ERROR(
        ScaleBias(builder, {layer.x, layer.weights[gate], LstmInput::kBias}, layer.bias[gate]));
  }
  QTX_RETURN_IF_ERROR(NoteHybrid(builder, op));
  const std::string name = builder.tensor(layer.y).name;
  QTX_ASSIGN_OR_RETURN(const std::string x, SequenceOf(builder, op, layer));
  QTX_ASSIGN_OR_RETURN(const std::vector<std::string> weights, Weights(builder, layer, name));
  QTX_ASSIGN_OR_RETURN(const States states, AddStates(builder, layer));
  Draft lstm{"LSTM", {x}, {Attribute::Int("hidden_size", layer.units)}};
  lstm.inputs.insert(lstm.inputs.end(), weights.begin(), weights.end());
  lstm.inputs.insert(lstm.inputs.end(), {"", states.hidden.before, states.cell.before});
  if (layer.peepholes[0] >= 0) {
    QTX_ASSIGN_OR_RETURN(Stack p, Stack::Make(builder, layer.peepholes));
    lstm.inputs.push_back(builder.AddConstant(name + "/P", p.Take({1, 3 * layer.units})));
  }
  if (layer.options.activation == schema::ActivationFunctionType::RELU) {
    Attribute activations;
    activations.name = "activations";
    activations.type = format::AttributeType::kStrings;
    activations.strings = {"Sigmoid", "Relu", "Relu"};
    lstm.attributes.push_back(std::move(activations));
  }
  QTX_ASSIGN_OR_RETURN(const format::TensorType own, builder.Type(layer.y));
  QTX_ASSIGN_OR_RETURN(format::TensorType type,
                       Reshaped(own, {layer.steps, 1, layer.batch, layer.units}));
  const std::string sequence = builder.Inner(name + "/sequence", std::move(type));
  builder.Append(&op, std::move(lstm), {sequence, states.hidden.after, states.cell.after});
  return EmitOutput(builder, op, layer, sequence);
}

}  // namespace qtx::convert
