#include "linear.h"

#include <cmath>

namespace qtx::backend::faulty {
namespace {

bool Single(const Dims& dims) { return dims.empty() || dims == Dims{1}; }

// The axes of the parameters.  Errors: kUnsupported if they do not fit.
Result<void> SetAxes(const Call& call, const Dims& found, const Dims& dims, const Layout& layout,
                     format::Quantization& q) {
  using Kind = Layout::Kind;
  if (layout.kind != Kind::kBlocks && Single(found)) return {};
  if (layout.kind == Kind::kMatrix && found.size() == dims.size() && found.size() > 1) {
    for (std::size_t d = 0; d < dims.size(); ++d) {
      if (found[d] != 1 && found[d] != dims[d]) return Declined(call, "parameters of this shape");
      if (found[d] != 1) q.axis.push_back(static_cast<std::int64_t>(d));
    }
    return {};
  }
  if (layout.kind == Kind::kBlocks) {
    for (std::size_t d = 0; d < dims.size(); ++d) q.axis.push_back(static_cast<std::int64_t>(d));
    q.block_shape.assign(dims.size(), 1);
    q.block_shape[At(layout.axis)] = layout.block;
  } else if (layout.kind != Kind::kScalar) {
    q.axis = {layout.axis};
  }
  QTX_ASSIGN_OR_RETURN(const Dims expected, format::ParameterDims(q, dims));
  if (expected != found) return Declined(call, "parameters of this shape");
  return {};
}

Result<void> ReadScales(const Call& call, std::size_t i, format::Quantization& q) {
  const Tensor& scale = *call.inputs[i];
  const bool narrow =
      scale.elem_type == ElementType::kFloat16 || scale.elem_type == ElementType::kBfloat16;
  if (scale.elem_type != ElementType::kFloat && !narrow) return Declined(call, "such scales");
  for (const double value : format::StoredValues(scale)) {
    if (!(value > 0) || !std::isfinite(value)) return Declined(call, "a scale that is not > 0");
    q.scale.push_back(static_cast<float>(value));
  }
  return {};
}

}  // namespace

Result<Layout> LayoutOf(const Call& call, std::size_t scale, const Dims& dims) {
  if (!call.Has(scale)) return Declined(call, "no scale");
  Layout layout;
  layout.block = call.Int("block_size");
  layout.kind = layout.block != 0 ? Layout::Kind::kBlocks : Layout::Kind::kAxis;
  if (Single(call.inputs[scale]->dims) && layout.block == 0) return Layout{};
  const std::int64_t given = call.Is(Fault::kAxisAttributeIgnored) ? 1 : call.Int("axis");
  QTX_ASSIGN_OR_RETURN(const std::size_t axis, AxisOf(call, given, dims.size()));
  layout.axis = static_cast<std::int64_t>(axis);
  if (layout.block < 0) return Declined(call, "this block_size");
  return layout;
}

Result<OutputType> ParametersAt(const Call& call, std::size_t scale, std::size_t zero_point,
                                ElementType storage, const Dims& dims, const Layout& layout) {
  const auto quantized = format::QuantizedOf(storage);
  if (!quantized || !format::IsIntegerStorage(storage)) return Declined(call, "such a storage");
  OutputType type{.elem_type = *quantized, .quantization = format::Quantization{}};
  format::Quantization& q = *type.quantization;
  const Tensor* zero = call.Has(zero_point) ? call.inputs[zero_point] : nullptr;
  const Tensor* scales = call.Has(scale) ? call.inputs[scale] : nullptr;
  if (scales != nullptr) QTX_RETURN_IF_ERROR(ReadScales(call, scale, q));
  if (zero != nullptr) {
    const bool alike = scales == nullptr || zero->dims == scales->dims ||
                       (Single(zero->dims) && Single(scales->dims));
    if (zero->elem_type != storage || !alike) return Declined(call, "this zero point");
    q.offset = format::UnpackInt32(*zero);
  }
  if (scales != nullptr || zero != nullptr) {
    const Dims& found = scales != nullptr ? scales->dims : zero->dims;
    QTX_RETURN_IF_ERROR(SetAxes(call, found, dims, layout, q));
  }
  if (scales == nullptr) q.scale.assign(zero == nullptr ? 1 : q.offset.size(), 1.0F);
  return type;
}

Tensor AsQuantized(Tensor tensor, const OutputType& type) {
  tensor.elem_type = type.elem_type;
  tensor.quantization = type.quantization;
  return tensor;
}
Tensor AsPlain(Tensor tensor) {
  tensor.elem_type = format::StorageOf(tensor.elem_type);
  tensor.quantization.reset();
  return tensor;
}

namespace {

// The positions of a tensor and its parameters among the inputs.
struct Operand {
  std::size_t tensor, scale, zero_point;
  Layout layout;
};

bool IsByte(ElementType type) { return type == ElementType::kInt8 || type == ElementType::kUint8; }

Layout RowsOf(const Dims& dims) {
  const auto rank = static_cast<std::int64_t>(dims.size());
  return rank < 2 ? Layout{} : Layout{Layout::Kind::kMatrix, rank - 2};
}
Layout ColumnsOf(const Dims& dims) {
  const auto rank = static_cast<std::int64_t>(dims.size());
  return rank < 2 ? Layout{} : Layout{Layout::Kind::kMatrix, rank - 1};
}
Layout FiltersOf() { return {Layout::Kind::kAxis, 0}; }

Result<Tensor> QuantizedInput(const Call& call, const Operand& operand) {
  if (!call.Has(operand.tensor) || !IsByte(call.inputs[operand.tensor]->elem_type)) {
    return Declined(call, "other types than INT8 and UINT8");
  }
  const Tensor& tensor = *call.inputs[operand.tensor];
  QTX_ASSIGN_OR_RETURN(const OutputType type,
                       ParametersAt(call, operand.scale, operand.zero_point, tensor.elem_type,
                                    tensor.dims, operand.layout));
  return AsQuantized(tensor, type);
}

// Runs `op` on the two operands as quantized tensors and the bias as it is.
Outputs RunOn(const Call& call, const Operand& a, const Operand& b, std::size_t bias,
              const OutputType& output, Outputs (*op)(const Call&)) {
  QTX_ASSIGN_OR_RETURN(const Tensor x, QuantizedInput(call, a));
  QTX_ASSIGN_OR_RETURN(const Tensor w, QuantizedInput(call, b));
  Call extended = call;
  extended.inputs = {&x, &w};
  if (call.Has(bias)) extended.inputs.push_back(call.inputs[bias]);
  extended.outputs = {output};
  extended.outputs[0].dims = call.outputs[0].dims;
  QTX_ASSIGN_OR_RETURN(auto outputs, op(extended));
  outputs[0] = AsPlain(std::move(outputs[0]));
  return outputs;
}

// The parameters of the result, at inputs 6 and 7.
Result<OutputType> LinearOutput(const Call& call) {
  if (!call.Has(6) || !call.Has(7) || !Single(call.inputs[6]->dims)) {
    return Declined(call, "parameters of the result");
  }
  const ElementType storage = call.inputs[7]->elem_type;
  if (!IsByte(storage) || call.outputs[0].elem_type != storage) {
    return Declined(call, "this type of result");
  }
  return ParametersAt(call, 6, 7, storage, {}, Layout{});
}

}  // namespace

Outputs MatMulInteger(const Call& call) {
  const OutputType output{.elem_type = ElementType::kInt32};
  if (call.outputs[0].elem_type != output.elem_type) return Declined(call, "this type of result");
  return RunOn(call, {0, kNone, 2, RowsOf(call.inputs[0]->dims)},
               {1, kNone, 3, ColumnsOf(call.inputs[1]->dims)}, kNone, output, MatMul);
}

Outputs ConvInteger(const Call& call) {
  const OutputType output{.elem_type = ElementType::kInt32};
  if (call.outputs[0].elem_type != output.elem_type) return Declined(call, "this type of result");
  return RunOn(call, {0, kNone, 2, Layout{}}, {1, kNone, 3, FiltersOf()}, kNone, output,
               Convolution);
}

Outputs QLinearMatMul(const Call& call) {
  if (!call.Has(3)) return Declined(call, "too few inputs");
  QTX_ASSIGN_OR_RETURN(const OutputType output, LinearOutput(call));
  return RunOn(call, {0, 1, 2, RowsOf(call.inputs[0]->dims)},
               {3, 4, 5, ColumnsOf(call.inputs[3]->dims)}, kNone, output, MatMul);
}

Outputs QLinearConv(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const OutputType output, LinearOutput(call));
  if (call.Has(8) && call.inputs[8]->elem_type != ElementType::kInt32) {
    return Declined(call, "a bias of this type");
  }
  return RunOn(call, {0, 1, 2, Layout{}}, {3, 4, 5, FiltersOf()}, 8, output, Convolution);
}

}  // namespace qtx::backend::faulty
