#include "tflite/ops.h"

#include <algorithm>
#include <array>

namespace qtx::convert {
namespace {

struct Entry {
  schema::BuiltinOperator code;
  Result<void> (*convert)(TfliteBuilder&, const TfliteOperator&);
};

using enum schema::BuiltinOperator;
constexpr std::array kOperators = {
    Entry{ABS, ConvertUnary},
    Entry{ADD, ConvertBinary},
    Entry{ADD_N, ConvertSum},
    Entry{ARG_MAX, ConvertArg},
    Entry{ARG_MIN, ConvertArg},
    Entry{AVERAGE_POOL_2D, ConvertPool2d},
    Entry{BATCH_MATMUL, ConvertBatchMatMul},
    Entry{BATCH_TO_SPACE_ND, ConvertBatchToSpace},
    Entry{BROADCAST_TO, ConvertBroadcastTo},
    Entry{CAST, ConvertCast},
    Entry{CEIL, ConvertUnary},
    Entry{CONCATENATION, ConvertConcatenation},
    Entry{CONV_2D, ConvertConv2d},
    Entry{COS, ConvertUnary},
    Entry{CUMSUM, ConvertCumsum},
    Entry{CUSTOM, ConvertCustom},
    Entry{DEPTHWISE_CONV_2D, ConvertDepthwiseConv2d},
    Entry{DEPTH_TO_SPACE, ConvertBlocks},
    Entry{DEQUANTIZE, ConvertRequantize},
    Entry{DIV, ConvertBinary},
    Entry{ELU, ConvertUnary},
    Entry{EMBEDDING_LOOKUP, ConvertGather},
    Entry{EQUAL, ConvertBinary},
    Entry{EXP, ConvertUnary},
    Entry{EXPAND_DIMS, ConvertReshape},
    Entry{FILL, ConvertFill},
    Entry{FLOOR, ConvertUnary},
    Entry{FLOOR_DIV, ConvertFloorDiv},
    Entry{FLOOR_MOD, ConvertFloorMod},
    Entry{FULLY_CONNECTED, ConvertFullyConnected},
    Entry{GATHER, ConvertGather},
    Entry{GATHER_ND, ConvertGatherNd},
    Entry{GELU, ConvertUnary},
    Entry{GREATER, ConvertBinary},
    Entry{GREATER_EQUAL, ConvertBinary},
    Entry{HARD_SWISH, ConvertUnary},
    Entry{L2_NORMALIZATION, ConvertL2Normalization},
    Entry{LEAKY_RELU, ConvertUnary},
    Entry{LESS, ConvertBinary},
    Entry{LESS_EQUAL, ConvertBinary},
    Entry{LOG, ConvertUnary},
    Entry{LOGICAL_AND, ConvertBinary},
    Entry{LOGICAL_NOT, ConvertUnary},
    Entry{LOGICAL_OR, ConvertBinary},
    Entry{LOGISTIC, ConvertUnary},
    Entry{LOG_SOFTMAX, ConvertSoftmax},
    Entry{LSTM, ConvertLstm},
    Entry{MAXIMUM, ConvertBinary},
    Entry{MAX_POOL_2D, ConvertPool2d},
    Entry{MEAN, ConvertMean},
    Entry{MINIMUM, ConvertBinary},
    Entry{MIRROR_PAD, ConvertPad},
    Entry{MUL, ConvertBinary},
    Entry{NEG, ConvertUnary},
    Entry{NOT_EQUAL, ConvertNotEqual},
    Entry{ONE_HOT, ConvertOneHot},
    Entry{PACK, ConvertPack},
    Entry{PAD, ConvertPad},
    Entry{PADV2, ConvertPad},
    Entry{POW, ConvertBinary},
    Entry{PRELU, ConvertBinary},
    Entry{QUANTIZE, ConvertRequantize},
    Entry{REDUCE_ALL, ConvertReduceBool},
    Entry{REDUCE_ANY, ConvertReduceBool},
    Entry{REDUCE_MAX, ConvertReduce},
    Entry{REDUCE_MIN, ConvertReduce},
    Entry{REDUCE_PROD, ConvertReduce},
    Entry{RELU, ConvertActivation},
    Entry{RELU6, ConvertActivation},
    Entry{RELU_0_TO_1, ConvertActivation},
    Entry{RELU_N1_TO_1, ConvertActivation},
    Entry{RESHAPE, ConvertReshape},
    Entry{RESIZE_BILINEAR, ConvertResize},
    Entry{RESIZE_NEAREST_NEIGHBOR, ConvertResize},
    Entry{REVERSE_SEQUENCE, ConvertReverseSequence},
    Entry{REVERSE_V2, ConvertReverse},
    Entry{ROUND, ConvertUnary},
    Entry{RSQRT, ConvertPower},
    Entry{SCATTER_ND, ConvertScatterNd},
    Entry{SELECT, ConvertSelect},
    Entry{SELECT_V2, ConvertSelect},
    Entry{SHAPE, ConvertShape},
    Entry{SIGN, ConvertUnary},
    Entry{SIN, ConvertUnary},
    Entry{SLICE, ConvertSlice},
    Entry{SOFTMAX, ConvertSoftmax},
    Entry{SPACE_TO_BATCH_ND, ConvertSpaceToBatch},
    Entry{SPACE_TO_DEPTH, ConvertBlocks},
    Entry{SPLIT, ConvertSplit},
    Entry{SPLIT_V, ConvertSplit},
    Entry{SQRT, ConvertUnary},
    Entry{SQUARE, ConvertPower},
    Entry{SQUARED_DIFFERENCE, ConvertSquaredDifference},
    Entry{SQUEEZE, ConvertReshape},
    Entry{STRIDED_SLICE, ConvertStridedSlice},
    Entry{SUB, ConvertBinary},
    Entry{SUM, ConvertReduce},
    Entry{TANH, ConvertUnary},
    Entry{TILE, ConvertTile},
    Entry{TOPK_V2, ConvertTopK},
    Entry{TRANSPOSE, ConvertTranspose},
    Entry{TRANSPOSE_CONV, ConvertTransposeConv},
    Entry{UNIDIRECTIONAL_SEQUENCE_LSTM, ConvertLstm},
    Entry{UNPACK, ConvertUnpack},
    Entry{ZEROS_LIKE, ConvertFill},
};

// Operators that run another subgraph, or keep values that no tensor holds.
bool IsControlFlow(schema::BuiltinOperator code) {
  return code == WHILE || code == IF || code == CALL || code == CALL_ONCE || code == VAR_HANDLE ||
         code == READ_VARIABLE || code == ASSIGN_VARIABLE;
}

}  // namespace

Result<void> ConvertOperator(TfliteBuilder& builder, const TfliteOperator& op) {
  const auto* entry = std::find_if(kOperators.begin(), kOperators.end(),
                                   [&](const Entry& e) { return e.code == op.code; });
  if (entry == kOperators.end()) {
    const std::string output =
        op.outputs.empty() ? "" : "'" + builder.tensor(op.outputs[0]).name + "'";
    return Error{ErrorCode::kUnsupported, op.Place(),
                 (IsControlFlow(op.code) ? "control flow and resources are not converted; output "
                                         : "no such operator in the extended form; output ") +
                     output};
  }
  auto converted = entry->convert(builder, op);
  if (!converted.has_value()) return At(op.Place(), converted.error());
  return {};
}

Layout CommonLayout(const TfliteBuilder& builder, std::span<const int> tensors) {
  bool nchw = false;
  for (const int index : tensors) {
    if (builder.tensor(index).dims.size() != 4) return Layout::kOwn;
    nchw |= builder.Preferred(index) == Layout::kFirst;
  }
  return nchw ? Layout::kFirst : Layout::kOwn;
}

format::Tensor Int64Scalar(std::int64_t value) {
  format::Tensor tensor = graph::IntsTensor({&value, 1});
  tensor.dims.clear();
  return tensor;
}

Result<std::vector<std::int64_t>> ConstantInput(const TfliteBuilder& builder,
                                                const TfliteOperator& op, std::size_t position) {
  QTX_ASSIGN_OR_RETURN(const int index, builder.Input(op, position));
  auto values = IntegersOf(builder.tensor(index));
  if (!values.has_value()) return At("input '" + builder.tensor(index).name + "'", values.error());
  return values;
}

Error NoOptions() { return {ErrorCode::kInvalid, "options", "missing"}; }

Error BadOutput(const TfliteTensor& x, const TfliteTensor& y) {
  return {ErrorCode::kInvalid, "output",
          "shape " + format::ToString(y.dims) + " for input " + format::ToString(x.dims)};
}

Result<format::TensorType> Reshaped(const format::TensorType& like, const format::Dims& shape) {
  if (like.quantization && !like.quantization->axis.empty()) {
    return Error{ErrorCode::kUnsupported, "input[0]",
                 "per-axis parameters across a change of shape"};
  }
  format::TensorType type = like;
  type.shape = format::ToShape(shape);
  type.statistics.reset();
  return type;
}

}  // namespace qtx::convert
