#include "ops/linear.h"

#include <algorithm>
#include <cmath>

namespace qtx::reference {
namespace {

using format::Dims;
using format::ElementType;
using Kind = ParameterShape::Kind;

bool Contains(std::span<const ElementType> types, ElementType type) {
  return std::ranges::find(types, type) != types.end();
}

std::string Names(std::span<const ElementType> types) {
  std::string names;
  for (const ElementType type : types) {
    names += (names.empty() ? "" : " or ") + std::string(format::Name(type));
  }
  return names;
}

// Every value is kept exactly: quantize_linear.C2.
Result<void> ReadScale(const Call& call, std::size_t i, std::span<const ElementType> types,
                       format::Quantization* q) {
  const format::Tensor& scale = *call.Input(i);
  if (!Contains(types, scale.elem_type)) {
    return Error{
        ErrorCode::kInvalid, InputName(call, i),
        "found type " + std::string(format::Name(scale.elem_type)) + ", expected " + Names(types)};
  }
  for (const double value : format::StoredValues(scale)) {
    const auto narrow = static_cast<float>(value);
    const std::string place = InputName(call, i) + "[" + std::to_string(q->scale.size()) + "]";
    if (!(narrow > 0) || !std::isfinite(narrow)) {
      return Error{ErrorCode::kInvalid, place, "a scale must be finite and greater than 0"};
    }
    if (static_cast<double>(narrow) != value) {
      return Error{ErrorCode::kInvalid, place, "an INT32 scale of more than 24 bits"};
    }
    q->scale.push_back(narrow);
  }
  return {};
}

// A vector of one element serves as a scalar, as the models of ONNX's own tests have it.
bool SameLayout(const Dims& scale, const Dims& zero) {
  const auto single = [](const Dims& dims) { return dims.empty() || dims == Dims{1}; };
  return scale == zero || (single(scale) && single(zero));
}

// Source: quantize_linear.C3, dequantize_linear.C3.
Result<void> ReadZeroPoint(const Call& call, std::size_t i, ElementType storage, const Dims* scale,
                           format::Quantization* q) {
  const format::Tensor& zero = *call.Input(i);
  const Dims& expected = scale != nullptr ? *scale : zero.dims;
  if (zero.elem_type != storage || !SameLayout(expected, zero.dims)) {
    return Error{ErrorCode::kInvalid, InputName(call, i),
                 "found " + std::string(format::Name(zero.elem_type)) +
                     format::ToString(zero.dims) + ", expected " +
                     std::string(format::Name(storage)) + format::ToString(expected)};
  }
  if (format::IsIntegerStorage(storage)) {
    q->offset = format::UnpackInt32(zero);
    return {};
  }
  for (const double value : format::StoredValues(zero)) {
    if (value != 0) return Error{ErrorCode::kInvalid, InputName(call, i), "must be 0"};
  }
  return {};
}

// Sizes are the tensor's, or 1 for all coordinates of an axis.  Source: q_linear_mat_mul.S3.
Result<void> SpreadOverMatrix(const Dims& found, const Dims& dims, format::Quantization* q) {
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (found[i] == 1) continue;
    if (found[i] != dims[i]) {
      return Error{ErrorCode::kInvalid, "",
                   "found shape " + format::ToString(found) + ", expected sizes of " +
                       format::ToString(dims) + " or 1"};
    }
    q->axis.push_back(static_cast<std::int64_t>(i));
  }
  return {};
}

Result<void> SetAxes(const Dims& found, const Dims& dims, const ParameterShape& shape,
                     format::Quantization* q) {
  const bool single = found.empty() || found == Dims{1};
  if (single && shape.kind != Kind::kBlocks) return {};
  if (shape.kind == Kind::kMatrix && found.size() == dims.size() && found.size() > 1) {
    return SpreadOverMatrix(found, dims, q);
  }
  if (shape.kind == Kind::kBlocks) {
    for (std::size_t i = 0; i < dims.size(); ++i) q->axis.push_back(static_cast<std::int64_t>(i));
    q->block_shape.assign(dims.size(), 1);
    q->block_shape[static_cast<std::size_t>(shape.axis)] = shape.block;
  } else if (shape.kind != Kind::kScalar) {
    q->axis = {shape.axis};
  }
  QTX_ASSIGN_OR_RETURN(const Dims expected, format::ParameterDims(*q, dims));
  if (found == expected) return {};
  return Error{
      ErrorCode::kInvalid, "",
      "found shape " + format::ToString(found) + ", expected " + format::ToString(expected)};
}

}  // namespace

Result<format::Quantization> ParametersAt(const Call& call, ParameterInputs inputs,
                                          ElementType storage, const Dims& dims,
                                          const ParameterShape& shape,
                                          std::span<const ElementType> types) {
  format::Quantization q;
  const format::Tensor* scale = call.Input(inputs.scale);
  const format::Tensor* zero = call.Input(inputs.zero_point);
  if (scale != nullptr) {
    QTX_RETURN_IF_ERROR(ReadScale(call, inputs.scale, types, &q));
  } else if (inputs.scale != kNoInput) {
    return Error{ErrorCode::kInvalid, "input[" + std::to_string(inputs.scale) + "]", "is required"};
  }
  const Dims* scale_dims = scale == nullptr ? nullptr : &scale->dims;
  if (zero != nullptr) {
    QTX_RETURN_IF_ERROR(ReadZeroPoint(call, inputs.zero_point, storage, scale_dims, &q));
  }
  if (scale == nullptr) {
    q.scale.assign(zero == nullptr ? 1 : static_cast<std::size_t>(format::ElementCount(*zero)), 1);
  }
  const format::Tensor* shaped = scale != nullptr ? scale : zero;
  if (shaped == nullptr) return q;
  auto fits = SetAxes(shaped->dims, dims, shape, &q);
  if (!fits.has_value()) {
    const std::size_t place = scale != nullptr ? inputs.scale : inputs.zero_point;
    return At(InputName(call, place), std::move(fits).error());
  }
  return q;
}

// Scalar: per tensor.  Rank 1: per axis.  The rank of x: blocks along the axis (ONNX opset 21).
Result<ParameterShape> LinearShape(const Call& call, std::size_t scale, const Dims& dims) {
  const std::int64_t block = call.node.IntOr("block_size", 0);
  if (block < 0) {
    return Error{ErrorCode::kInvalid, "attribute 'block_size'",
                 "found " + std::to_string(block) + ", expected 0 or more"};
  }
  const format::Tensor* given = call.Input(scale);
  if (given != nullptr && format::ElementCount(*given) == 1 && block == 0) return ParameterShape{};
  const auto rank = static_cast<std::int64_t>(dims.size());
  const auto axis = format::NormalizeAxis(call.node.IntOr("axis", 1), rank);
  if (!axis.has_value()) return At("attribute 'axis'", axis.error());
  return ParameterShape{block == 0 ? Kind::kAxis : Kind::kBlocks, *axis, block};
}

Result<void> ExtendedCall::CheckStorage(ElementType type, const std::string& place) const {
  if (Contains(storage_, type)) return {};
  return Error{ErrorCode::kInvalid, place,
               "found type " + std::string(format::Name(type)) + ", expected " + Names(storage_)};
}

Result<void> ExtendedCall::Add(std::size_t tensor, ParameterInputs parameters,
                               ParameterShape shape) {
  const format::Tensor* stored = call_->Input(tensor);
  if (stored == nullptr) {
    return Error{ErrorCode::kInvalid, "input[" + std::to_string(tensor) + "]", "is required"};
  }
  QTX_RETURN_IF_ERROR(CheckStorage(stored->elem_type, InputName(*call_, tensor)));
  QTX_ASSIGN_OR_RETURN(format::Quantization q, ParametersAt(*call_, parameters, stored->elem_type,
                                                            stored->dims, shape, scales_));
  tensors_.push_back(
      {*format::QuantizedOf(stored->elem_type), stored->dims, std::move(q), stored->bytes});
  inputs_.push_back(&tensors_.back());
  positions_.push_back(tensor);
  return {};
}

void ExtendedCall::AddPlain(std::size_t tensor) {
  inputs_.push_back(call_->Input(tensor));
  positions_.push_back(tensor);
}

Result<void> ExtendedCall::SetOutput(ParameterInputs parameters) {
  const format::Tensor* zero = call_->Input(parameters.zero_point);
  const ElementType declared = call_->outputs[0].elem_type;
  const ElementType storage = zero == nullptr ? declared : zero->elem_type;
  QTX_RETURN_IF_ERROR(CheckStorage(storage, "output[0]"));
  if (storage != declared) {
    return Error{ErrorCode::kInvalid, "output[0]",
                 "found type " + std::string(format::Name(declared)) + ", expected " +
                     std::string(format::Name(storage)) + " as its zero point has"};
  }
  QTX_ASSIGN_OR_RETURN(format::Quantization q,
                       ParametersAt(*call_, parameters, storage, {}, {}, scales_));
  output_ = OutputType{*format::QuantizedOf(storage), std::move(q)};
  return {};
}

Result<void> ExtendedCall::CheckOneType() const {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const ElementType type = tensors_[i].elem_type;
    if (type == output_->elem_type) continue;
    return Error{ErrorCode::kInvalid, InputName(*call_, positions_[i]),
                 "found type " + std::string(format::Name(format::StorageOf(type))) +
                     ", expected the output's " +
                     std::string(format::Name(format::StorageOf(output_->elem_type)))};
  }
  return {};
}

Result<format::Tensor> ExtendedCall::Run(Result<format::Tensor> (*run)(const Call&),
                                         std::optional<std::int64_t> opset) const {
  const Call inner{.node = call_->node,
                   .arithmetic = call_->arithmetic,
                   .opset = opset.value_or(call_->opset),
                   .inputs = inputs_,
                   .outputs = output_ ? std::span(&*output_, 1) : call_->outputs.first(1),
                   .counters = call_->counters,
                   .positions = positions_};
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

Result<ExtendedCall> UnaryCall(const Call& call) {
  ExtendedCall unary(call);
  QTX_RETURN_IF_ERROR(unary.Add(0, {1, 2}));
  QTX_RETURN_IF_ERROR(unary.SetOutput({3, 4}));
  QTX_RETURN_IF_ERROR(unary.CheckOneType());
  return unary;
}

Result<void> CheckBias(const Call& call, std::size_t i) {
  const format::Tensor* bias = call.Input(i);
  if (bias == nullptr || bias->elem_type == ElementType::kInt32) return {};
  return Error{ErrorCode::kInvalid, InputName(call, i),
               "found type " + std::string(format::Name(bias->elem_type)) + ", expected INT32"};
}

Result<void> CheckInt32Output(const Call& call) {
  const ElementType type = call.outputs[0].elem_type;
  if (type == ElementType::kInt32) return {};
  return Error{ErrorCode::kInvalid, "output[0]",
               "found type " + std::string(format::Name(type)) + ", expected INT32"};
}

Result<void> CheckChannelsFirst(const format::Node& node) {
  const std::int64_t last = node.IntOr("channels_last", 0);
  if (last == 0) return {};
  return Error{ErrorCode::kInvalid, "attribute 'channels_last'",
               "found " + std::to_string(last) + ", expected 0"};
}

ElementType TypeInt32(const format::Node&, std::span<const ElementType>, std::size_t) {
  return ElementType::kInt32;
}

}  // namespace qtx::reference
