#include "ops/linear.h"

namespace qtx::reference {
namespace {

using format::Dims;
using Kind = ParameterShape::Kind;

// Every value is kept exactly: quantize_linear.C2.
std::vector<float> ScalesOf(const format::Tensor& scale) {
  std::vector<float> scales;
  for (const double value : format::StoredValues(scale)) {
    scales.push_back(static_cast<float>(value));
  }
  return scales;
}

// Where the values of a tensor of shape `found` belong in one of shape `dims`.
void SetAxes(const Dims& found, const Dims& dims, const ParameterShape& shape,
             format::Quantization* q) {
  const bool single = found.empty() || found == Dims{1};
  if (single && shape.kind != Kind::kBlocks) return;
  if (shape.kind == Kind::kMatrix && found.size() == dims.size() && found.size() > 1) {
    // Sizes are the tensor's, or 1 for all coordinates of an axis.  Source: q_linear_mat_mul.S3.
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (found[i] != 1) q->axis.push_back(static_cast<std::int64_t>(i));
    }
  } else if (shape.kind == Kind::kBlocks) {
    for (std::size_t i = 0; i < dims.size(); ++i) q->axis.push_back(static_cast<std::int64_t>(i));
    q->block_shape.assign(dims.size(), 1);
    q->block_shape[static_cast<std::size_t>(shape.axis)] = shape.block;
  } else if (shape.kind != Kind::kScalar) {
    q->axis = {shape.axis};
  }
}

}  // namespace

format::Quantization ParametersAt(const Call& call, ParameterInputs inputs, const Dims& dims,
                                  const ParameterShape& shape) {
  format::Quantization q;
  const format::Tensor* scale = call.Input(inputs.scale);
  const format::Tensor* zero = call.Input(inputs.zero_point);
  if (zero != nullptr && format::IsIntegerStorage(zero->elem_type)) {
    q.offset = format::UnpackInt32(*zero);  // that of a small float is 0
  }
  if (scale != nullptr) {
    q.scale = ScalesOf(*scale);
  } else {
    q.scale.assign(zero == nullptr ? 1 : static_cast<std::size_t>(format::ElementCount(*zero)), 1);
  }
  const format::Tensor* shaped = scale != nullptr ? scale : zero;
  if (shaped != nullptr) SetAxes(shaped->dims, dims, shape, &q);
  return q;
}

// Scalar: per tensor.  Rank 1: per axis.  The rank of x: blocks along the axis (ONNX opset 21).
ParameterShape LinearShape(const Call& call, std::size_t scale, const Dims& dims) {
  const std::int64_t block = call.Int("block_size");
  if (block == 0 && format::ElementCount(*call.inputs[scale]) == 1) return {};
  const auto axis = static_cast<std::int64_t>(AxisOf(call, dims.size()));
  return {block == 0 ? Kind::kAxis : Kind::kBlocks, axis, block};
}

void ExtendedCall::Add(std::size_t tensor, ParameterInputs parameters, ParameterShape shape) {
  const format::Tensor& stored = *call_->inputs[tensor];
  tensors_.push_back({*format::QuantizedOf(stored.elem_type), stored.dims,
                      ParametersAt(*call_, parameters, stored.dims, shape), stored.bytes});
  inputs_.push_back(&tensors_.back());
  positions_.push_back(tensor);
}

void ExtendedCall::AddPlain(std::size_t tensor) {
  inputs_.push_back(call_->Input(tensor));
  positions_.push_back(tensor);
}

void ExtendedCall::SetOutput(ParameterInputs parameters) {
  output_ = OutputType{*format::QuantizedOf(call_->outputs[0].elem_type),
                       ParametersAt(*call_, parameters, {}, {})};
}

Result<format::Tensor> ExtendedCall::Run(Result<format::Tensor> (*run)(const Call&),
                                         std::optional<std::int64_t> opset) const {
  Call inner = *call_;
  inner.opset = opset.value_or(call_->opset);
  inner.inputs = inputs_;
  inner.outputs = output_ ? std::span(&*output_, 1) : call_->outputs.first(1);
  inner.positions = positions_;
  QTX_ASSIGN_OR_RETURN(format::Tensor result, run(inner));
  // The parameters stay inputs: the result is a plain tensor.
  if (output_) result.elem_type = format::StorageOf(result.elem_type);
  result.quantization.reset();
  return result;
}

ParameterShape RowsOf(const Call& call, std::size_t tensor) {
  const auto rank = static_cast<std::int64_t>(call.inputs[tensor]->dims.size());
  return rank < 2 ? ParameterShape{} : ParameterShape{Kind::kMatrix, rank - 2};
}

ParameterShape ColumnsOf(const Call& call, std::size_t tensor) {
  const auto rank = static_cast<std::int64_t>(call.inputs[tensor]->dims.size());
  return rank < 2 ? ParameterShape{} : ParameterShape{Kind::kMatrix, rank - 1};
}

ExtendedCall UnaryCall(const Call& call) {
  ExtendedCall unary(call);
  unary.Add(0, {1, 2});
  unary.SetOutput({3, 4});
  return unary;
}

ExtendedCall BinaryCall(const Call& call) {
  ExtendedCall binary(call);
  binary.Add(0, {1, 2});
  binary.Add(3, {4, 5});
  binary.SetOutput({6, 7});
  return binary;
}

}  // namespace qtx::reference
