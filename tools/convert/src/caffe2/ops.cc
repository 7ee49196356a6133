#include "caffe2/ops.h"

#include <algorithm>
#include <array>

#include "caffe2/value_info.h"

namespace qtx::convert {
namespace {

using Converter = Result<void> (*)(Caffe2Builder&, const Caffe2Operator&);

struct Row {
  std::string_view type;
  Converter convert;
};

// Sorted.
constexpr std::array kOperators = {
    Row{"Add", ConvertCaffe2Sum},
    Row{"AveragePool", ConvertCaffe2Pool},
    Row{"ChannelShuffle", ConvertCaffe2Shuffle},
    Row{"Concat", ConvertCaffe2Concat},
    Row{"Conv", ConvertCaffe2Conv},
    Row{"ConvRelu", ConvertCaffe2Conv},
    Row{"Copy", ConvertCaffe2Copy},
    Row{"EnsureCPUOutput", ConvertCaffe2Copy},
    Row{"FC", ConvertCaffe2Fc},
    Row{"Flatten", ConvertCaffe2Flatten},
    Row{"Int8Add", ConvertCaffe2Sum},
    Row{"Int8AddRelu", ConvertCaffe2Sum},
    Row{"Int8AveragePool", ConvertCaffe2Pool},
    Row{"Int8AveragePoolRelu", ConvertCaffe2Pool},
    Row{"Int8ChannelShuffle", ConvertCaffe2Shuffle},
    Row{"Int8Concat", ConvertCaffe2Concat},
    Row{"Int8Conv", ConvertCaffe2Conv},
    Row{"Int8ConvRelu", ConvertCaffe2Conv},
    Row{"Int8Dequantize", ConvertCaffe2Cast},
    Row{"Int8FC", ConvertCaffe2Fc},
    Row{"Int8FCRelu", ConvertCaffe2Fc},
    Row{"Int8Flatten", ConvertCaffe2Flatten},
    Row{"Int8LeakyRelu", ConvertCaffe2Unary},
    Row{"Int8MaxPool", ConvertCaffe2Pool},
    Row{"Int8MaxPoolRelu", ConvertCaffe2Pool},
    Row{"Int8Quantize", ConvertCaffe2Cast},
    Row{"Int8Relu", ConvertCaffe2Unary},
    Row{"Int8Reshape", ConvertCaffe2Reshape},
    Row{"Int8ResizeNearest", ConvertCaffe2Resize},
    Row{"Int8Sigmoid", ConvertCaffe2Unary},
    Row{"Int8Slice", ConvertCaffe2Slice},
    Row{"Int8Softmax", ConvertCaffe2Softmax},
    Row{"Int8Sum", ConvertCaffe2Sum},
    Row{"Int8SumRelu", ConvertCaffe2Sum},
    Row{"Int8Transpose", ConvertCaffe2Transpose},
    Row{"LeakyRelu", ConvertCaffe2Unary},
    Row{"MaxPool", ConvertCaffe2Pool},
    Row{"NCHW2NHWC", ConvertCaffe2Order},
    Row{"NHWC2NCHW", ConvertCaffe2Order},
    Row{"Relu", ConvertCaffe2Unary},
    Row{"Reshape", ConvertCaffe2Reshape},
    Row{"ResizeNearest", ConvertCaffe2Resize},
    Row{"Sigmoid", ConvertCaffe2Unary},
    Row{"Slice", ConvertCaffe2Slice},
    Row{"Softmax", ConvertCaffe2Softmax},
    Row{"StopGradient", ConvertCaffe2Copy},
    Row{"Sum", ConvertCaffe2Sum},
    Row{"Tanh", ConvertCaffe2Unary},
    Row{"Transpose", ConvertCaffe2Transpose},
};

}  // namespace

Result<void> ConvertCaffe2Operator(Caffe2Builder& builder, const Caffe2Operator& op) {
  const auto* row = std::ranges::lower_bound(kOperators, std::string_view(op.type), {}, &Row::type);
  if (row == kOperators.end() || row->type != op.type) {
    const bool embedding = op.type.find("Rowwise") != std::string::npos;
    return Error{ErrorCode::kUnsupported, op.Place(),
                 embedding ? "a lookup in a row-wise quantized table that sums runs of rows; no "
                             "operator of the extended form does"
                           : "the extended form has no such operator"};
  }
  auto converted = row->convert(builder, op);
  if (!converted.has_value()) return At(op.Place(), converted.error());
  return {};
}

Result<std::string> Caffe2Input(const Caffe2Operator& op, std::size_t position) {
  if (position < op.inputs.size() && !op.inputs[position].empty()) return op.inputs[position];
  return Error{ErrorCode::kInvalid, "input[" + std::to_string(position) + "]", "missing"};
}

Result<format::TensorType> Caffe2OutputType(const Caffe2Operator& op) {
  format::TensorType type;
  type.elem_type = format::ElementType::kInt8Q;
  QTX_ASSIGN_OR_RETURN(type.quantization,
                       Caffe2Quantization(op.FloatOr("Y_scale", 1), op.IntOr("Y_zero_point", 0)));
  return type;
}

Result<format::TensorType> Caffe2ResultType(Caffe2Builder& builder, const Caffe2Operator& op) {
  QTX_ASSIGN_OR_RETURN(const std::string x, Caffe2Input(op, 0));
  if (!IsInt8(op)) {
    format::TensorType type = builder.Type(x);
    if (type.quantization)
      return Error{ErrorCode::kUnsupported, "blob '" + x + "'",
                   "quantized input of an operator on FLOAT"};
    return type;
  }
  QTX_ASSIGN_OR_RETURN(const format::TensorType from, builder.QuantizedType(x));
  // Defaults to the parameters of the input.
  if (op.Find("Y_scale") == nullptr && op.Find("Y_zero_point") == nullptr) {
    format::TensorType same = from;
    same.quantization->quant_min.reset();
    return same;
  }
  QTX_ASSIGN_OR_RETURN(format::TensorType type, Caffe2OutputType(op));
  type.shape = from.shape;
  return type;
}

}  // namespace qtx::convert
