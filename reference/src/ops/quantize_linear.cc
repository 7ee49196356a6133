#include "ops/linear.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::AttributeType;
using format::ElementType;

constexpr std::int64_t kNone = 0;  // an attribute that names no type

Result<void> CheckQuantizeLinearAttributes(const format::Node& node) {
  QTX_RETURN_IF_ERROR(CheckSaturate(node));
  const auto precision = format::ElementTypeFromCode(node.IntOr("precision", kNone));
  if (precision == ElementType::kUndefined || precision == ElementType::kFloat ||
      precision == ElementType::kFloat16 || precision == ElementType::kBfloat16 ||
      precision == ElementType::kDouble) {
    return {};
  }
  return Error{ErrorCode::kInvalid, "attribute 'precision'",
               "expected the code of a float type of 16 bits or more"};
}

// The type of the result: the zero point's, which output_dtype must then name, or output_dtype, or
// UINT8.  Source: quantize_linear.S3.
Result<ElementType> StorageFor(const Call& call) {
  const std::int64_t named = call.node.IntOr("output_dtype", kNone);
  const format::Tensor* zero = call.Input(2);
  if (zero == nullptr) {
    const auto type = format::ElementTypeFromCode(named == kNone ? 2 : named);
    return type.value_or(ElementType::kUndefined);
  }
  if (named == kNone || named == static_cast<std::int64_t>(zero->elem_type)) return zero->elem_type;
  return Error{ErrorCode::kInvalid, "attribute 'output_dtype'",
               "found " + std::to_string(named) + ", expected the zero point's type " +
                   std::string(format::Name(zero->elem_type))};
}

Result<Operand> FloatOrIntegerAt(const Call& call) {
  const ElementType type = call.inputs[0]->elem_type;
  if ((!IsReal(type) && type != ElementType::kInt32) || format::IsQuantized(type)) {
    return Error{ErrorCode::kInvalid, InputName(call, 0),
                 "found type " + std::string(format::Name(type)) +
                     ", expected FLOAT, FLOAT16, BFLOAT16 or INT32"};
  }
  return Operand::Make(*call.inputs[0]);
}

// INT32 is dequantized only.
bool IsTarget(ElementType storage) {
  return format::QuantizedOf(storage) && storage != ElementType::kInt32 &&
         storage != ElementType::kBipolar1;
}

// Source: quantize_linear.S1 to .S6.
Result<format::Tensor> QuantizeLinear(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, FloatOrIntegerAt(call));
  QTX_ASSIGN_OR_RETURN(const ElementType storage, StorageFor(call));
  if (!IsTarget(storage) || storage != call.outputs[0].elem_type) {
    return Error{ErrorCode::kInvalid, "output[0]",
                 "found type " + std::string(format::Name(call.outputs[0].elem_type)) +
                     ", expected " + std::string(format::Name(storage)) + ", of 16 bits at most"};
  }
  const format::Dims& dims = x.tensor().dims;
  QTX_ASSIGN_OR_RETURN(const ParameterShape shape, LinearShape(call, 1, dims));
  QTX_ASSIGN_OR_RETURN(format::Quantization parameters,
                       ParametersAt(call, {1, 2}, storage, dims, shape, kScaleTypes));
  // A float8 result is no quantized type: NaN stays NaN, and `saturate` counts.
  const bool is_float = format::IsSmallFloat(storage);
  const OutputType type{is_float ? storage : *format::QuantizedOf(storage),
                        std::move(parameters),
                        {.saturate = call.node.IntOr("saturate", 1) == 1}};
  Call typed = call;
  typed.outputs = {&type, 1};
  QTX_ASSIGN_OR_RETURN(format::Tensor result, ConvertAll(typed, x));
  result.elem_type = storage;  // the parameters stay inputs: the result is a plain integer tensor
  result.quantization.reset();
  return result;
}

constexpr AttributeRule kQuantizeLinearAttributes[] = {
    {"axis", AttributeType::kInt},         {"block_size", AttributeType::kInt},
    {"output_dtype", AttributeType::kInt}, {"precision", AttributeType::kInt},
    {"saturate", AttributeType::kInt},
};

ElementType InferQuantizeLinearType(const format::Node& node, std::span<const ElementType> inputs,
                                    std::size_t) {
  if (inputs.size() > 2 && inputs[2] != ElementType::kUndefined) return inputs[2];
  const auto named = format::ElementTypeFromCode(node.IntOr("output_dtype", kNone));
  return named.value_or(ElementType::kUndefined) != ElementType::kUndefined ? *named
                                                                            : ElementType::kUint8;
}

constexpr Operator Entry(std::string_view domain) {
  return {.op_type = "QuantizeLinear",
          .domain = domain,
          .min_inputs = 2,
          .max_inputs = 3,
          .attributes = kQuantizeLinearAttributes,
          .check = CheckQuantizeLinearAttributes,
          .infer = InferQuantizeLinearType,
          .run = QuantizeLinear};
}

}  // namespace

const Operator kQuantizeLinear = Entry("");
const Operator kMicrosoftQuantizeLinear = Entry(kMicrosoft);

}  // namespace qtx::reference::ops
