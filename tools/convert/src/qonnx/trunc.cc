#include "qonnx/trunc.h"

#include <cmath>

#include "errors.h"

namespace qtx::convert {
namespace {

using format::ElementType;
using format::Node;

constexpr std::int64_t kMaxBits = 22;

Result<float> ScalarInput(const GraphIndex& index, const Node& node, std::size_t position,
                          const char* name) {
  QTX_ASSIGN_OR_RETURN(const format::Tensor tensor, ConstantInput(index, node, position, name));
  if (tensor.elem_type != ElementType::kFloat || format::ElementCount(tensor) != 1)
    return Unsupported(name, "expected one FLOAT");
  return tensor.As<float>()[0];
}

Result<float> ScaleInput(const GraphIndex& index, const Node& node, std::size_t position,
                         const char* name) {
  QTX_ASSIGN_OR_RETURN(const float scale, ScalarInput(index, node, position, name));
  if (std::isfinite(scale) && scale > 0) return scale;
  return Error{ErrorCode::kInvalid, name,
               "found " + format::HexFloat(scale) + ", expected a finite value above 0"};
}

// Full-range integers: QONNX does not clamp either.
QonnxQuantizer Whole(float scale) {
  QonnxQuantizer quantizer{.elem_type = ElementType::kInt32Q, .bits = 32};
  quantizer.quantization.scale = {scale};
  return quantizer;
}

// The number of dropped bits; sets the output scale of `form`.
Result<std::int64_t> ReadVersion1(const GraphIndex& index, const Node& node, TruncForm& form) {
  QTX_ASSIGN_OR_RETURN(const auto in_bits, IntegerInput(index, node, 3, "input bit width"));
  QTX_ASSIGN_OR_RETURN(const auto out_bits, IntegerInput(index, node, 4, "output bit width"));
  const std::int64_t shift = in_bits - out_bits;
  if (in_bits > kMaxBits || out_bits < 1 || shift < 0)
    return Unsupported("bit widths", "found " + std::to_string(in_bits) + " to " +
                                         std::to_string(out_bits) + ", expected 1 to 22, less");
  form.to = Whole(form.from.quantization.scale[0]);
  form.factor = std::ldexp(1.0F, static_cast<int>(-shift));
  return shift;
}

Result<std::int64_t> ReadVersion2(const GraphIndex& index, const Node& node, TruncForm& form) {
  QTX_ASSIGN_OR_RETURN(const auto in_bits, IntegerInput(index, node, 3, "input bit width"));
  QTX_ASSIGN_OR_RETURN(const float out_scale, ScaleInput(index, node, 4, "output scale"));
  const float scale = form.from.quantization.scale[0];
  int exponent = 0;
  const bool apart = std::frexp(out_scale / scale, &exponent) == 0.5F;
  const std::int64_t shift = exponent - 1;
  if (in_bits > kMaxBits || !apart || shift < 0 || shift > kMaxBits ||
      std::ldexp(scale, static_cast<int>(shift)) != out_scale) {
    return Unsupported("output scale", "found " + format::HexFloat(out_scale) + ", expected " +
                                           format::HexFloat(scale) +
                                           " times a power of two, of integers of at most 22 bits");
  }
  Node quant = node;  // as the Quant of the output
  quant.op_type = "Quant";
  quant.attributes = {format::Attribute::Int("signed", node.IntOr("signed", 1)),
                      format::Attribute::Int("narrow", node.IntOr("narrow", 0))};
  quant.inputs = {node.inputs[0], node.inputs[4], node.inputs[2], node.inputs[5]};
  QTX_ASSIGN_OR_RETURN(form.to, ReadQonnxQuantizer(index, quant, ElementType::kUndefined));
  return shift;
}

}  // namespace

Result<TruncForm> ReadTrunc(const GraphIndex& index, const Node& node) {
  if (node.inputs.size() < 5 || node.inputs.size() > 6 || node.outputs.size() != 1)
    return Error{ErrorCode::kInvalid, "inputs and outputs", "expected 5 or 6 inputs, one output"};
  TruncForm form;
  QTX_ASSIGN_OR_RETURN(const float scale, ScaleInput(index, node, 1, "scale"));
  QTX_ASSIGN_OR_RETURN(const float zero_point, ScalarInput(index, node, 2, "zero point"));
  if (zero_point != 0) return Unsupported("zero point", "found " + format::HexFloat(zero_point));
  form.from = Whole(scale);
  QTX_ASSIGN_OR_RETURN(const std::int64_t shift, node.inputs.size() == 5
                                                     ? ReadVersion1(index, node, form)
                                                     : ReadVersion2(index, node, form));
  const std::string name = node.StringOr("rounding_mode", "FLOOR");
  QTX_ASSIGN_OR_RETURN(const QonnxRounding rounding, RoundingNamed(name));
  if (shift == 0) form.factor.reset();
  if (rounding == QonnxRounding::kHalfEven || shift == 0) return form;
  if (rounding != QonnxRounding::kFloor && rounding != QonnxRounding::kCeil)
    return Unsupported("rounding_mode", "'" + name + "' of a shift");
  const float half = scale * ((std::ldexp(1.0F, static_cast<int>(shift)) - 1) / 2);
  form.shifted = rounding == QonnxRounding::kFloor ? -half : half;
  return form;
}

}  // namespace qtx::convert
