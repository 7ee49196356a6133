#include "stablehlo/out.h"

#include <algorithm>
#include <array>

#include "errors.h"

namespace qtx::convert {
namespace {

constexpr std::array kOutRows = {
    OutRow{"Abs", WriteUnary, "stablehlo.abs"},
    OutRow{"Add", WriteElementwise, "stablehlo.add"},
    OutRow{"And", WriteElementwise, "", "stablehlo.and"},
    OutRow{"AveragePool", WritePool, "stablehlo.add"},
    OutRow{"BitwiseAnd", WriteElementwise, "stablehlo.and"},
    OutRow{"BitwiseNot", WriteUnary, "stablehlo.not"},
    OutRow{"BitwiseOr", WriteElementwise, "stablehlo.or"},
    OutRow{"BitwiseXor", WriteElementwise, "stablehlo.xor"},
    OutRow{"Cast", WriteCast},
    OutRow{"Ceil", WriteUnary, "stablehlo.ceil"},
    OutRow{"Clip", WriteClip},
    OutRow{"Concat", WriteConcat},
    OutRow{"Conv", WriteConv},
    OutRow{"Cos", WriteUnary, "stablehlo.cosine"},
    OutRow{"Div", WriteElementwise, "stablehlo.divide"},
    OutRow{"Equal", WriteCompare, "EQ"},
    OutRow{"Erf", WriteReal, "chlo.erf"},
    OutRow{"Exp", WriteUnary, "stablehlo.exponential"},
    OutRow{"Expand", WriteExpand},
    OutRow{"Flatten", WriteReshape},
    OutRow{"Floor", WriteUnary, "stablehlo.floor"},
    OutRow{"Gather", WriteGather},
    OutRow{"Gemm", WriteGemm},
    OutRow{"GlobalAveragePool", WriteGlobalPool, "stablehlo.add"},
    OutRow{"GlobalMaxPool", WriteGlobalPool, "stablehlo.maximum"},
    OutRow{"Greater", WriteCompare, "GT"},
    OutRow{"GreaterOrEqual", WriteCompare, "GE"},
    OutRow{"Identity", WriteCast},
    OutRow{"Less", WriteCompare, "LT"},
    OutRow{"LessOrEqual", WriteCompare, "LE"},
    OutRow{"Log", WriteUnary, "stablehlo.log"},
    OutRow{"MatMul", WriteMatMul},
    OutRow{"Max", WriteElementwise, "stablehlo.maximum"},
    OutRow{"MaxPool", WritePool, "stablehlo.maximum"},
    OutRow{"Min", WriteElementwise, "stablehlo.minimum"},
    OutRow{"Mod", WriteMod, "stablehlo.remainder"},
    OutRow{"Mul", WriteElementwise, "stablehlo.multiply"},
    OutRow{"Neg", WriteUnary, "stablehlo.negate"},
    OutRow{"Not", WriteUnary, "", "stablehlo.not"},
    OutRow{"Or", WriteElementwise, "", "stablehlo.or"},
    OutRow{"Pad", WritePad},
    OutRow{"Pow", WriteElementwise, "stablehlo.power"},
    OutRow{"Reciprocal", WriteReal, "stablehlo.divide"},
    OutRow{"ReduceMax", WriteReduce, "stablehlo.maximum"},
    OutRow{"ReduceMean", WriteReduce, "stablehlo.add"},
    OutRow{"ReduceMin", WriteReduce, "stablehlo.minimum"},
    OutRow{"ReduceProd", WriteReduce, "stablehlo.multiply"},
    OutRow{"ReduceSum", WriteReduce, "stablehlo.add"},
    OutRow{"Relu", WriteRelu},
    OutRow{"Reshape", WriteReshape},
    OutRow{"Round", WriteUnary, "stablehlo.round_nearest_even"},
    OutRow{"Sigmoid", WriteUnary, "stablehlo.logistic"},
    OutRow{"Sign", WriteUnary, "stablehlo.sign"},
    OutRow{"Sin", WriteUnary, "stablehlo.sine"},
    OutRow{"Slice", WriteSlice},
    OutRow{"Softmax", WriteSoftmax},
    OutRow{"Split", WriteSplit},
    OutRow{"Sqrt", WriteUnary, "stablehlo.sqrt"},
    OutRow{"Squeeze", WriteReshape},
    OutRow{"Sub", WriteElementwise, "stablehlo.subtract"},
    OutRow{"Tan", WriteUnary, "stablehlo.tan"},
    OutRow{"Tanh", WriteUnary, "stablehlo.tanh"},
    OutRow{"Transpose", WriteTranspose},
    OutRow{"Unsqueeze", WriteReshape},
    OutRow{"Where", WriteWhere},
    OutRow{"Xor", WriteElementwise, "", "stablehlo.xor"},
};

// What two values must have in common for one operator to take both.
bool SameStorage(const HloType& a, const HloType& b) {
  if (!a.quantization || !b.quantization || a.elem_type != b.elem_type) return false;
  return format::StoredRange(a.elem_type, *a.quantization) ==
             format::StoredRange(b.elem_type, *b.quantization) &&
         format::RealTypeOf(*a.quantization) == format::RealTypeOf(*b.quantization);
}

}  // namespace

bool AgreeInStorage(const std::vector<HloValue>& operands, const HloType& result) {
  const auto axis_of = [](const HloType& type) { return type.quantization->axis; };
  return result.quantization && IsPerTensorOrAxis(result) &&
         std::ranges::all_of(operands, [&](const HloValue& operand) {
           return SameStorage(operand.type, result) && IsPerTensorOrAxis(operand.type) &&
                  axis_of(operand.type) == axis_of(result);
         });
}

format::ElementType ComputedType(const HloType& result) { return RealsOf(result).elem_type; }

Result<HloValue> Compute(StablehloWriter& writer, std::string_view op,
                         std::vector<HloValue> operands, const HloType& result) {
  const bool quantized =
      result.quantization || std::ranges::any_of(operands, [](const HloValue& operand) {
        return operand.type.quantization.has_value();
      });
  if (!quantized || AgreeInStorage(operands, result)) return writer.Op(op, operands, result);
  for (HloValue& operand : operands) {
    QTX_ASSIGN_OR_RETURN(operand, writer.Reals(operand, ComputedType(result)));
  }
  QTX_ASSIGN_OR_RETURN(HloValue real, writer.Op(op, operands, RealsOf(result)));
  return writer.Cast(std::move(real), result);
}

Result<void> WriteStablehloNode(StablehloWriter& writer, const format::Node& node) {
  const auto* row = std::ranges::find(kOutRows, node.op_type, &OutRow::onnx);
  if (row == kOutRows.end() || !format::IsOnnxDomain(node.domain) || node.outputs.empty())
    return Unsupported("", "the operator has no form in StableHLO that is written here");
  return row->write(writer, node, *row);
}

}  // namespace qtx::convert
