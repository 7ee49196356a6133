#include "tflite_ops.h"

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
    Entry{ADD, ConvertBinary},
    Entry{AVERAGE_POOL_2D, ConvertPool2d},
    Entry{CONCATENATION, ConvertConcatenation},
    Entry{CONV_2D, ConvertConv2d},
    Entry{DEPTHWISE_CONV_2D, ConvertDepthwiseConv2d},
    Entry{DEQUANTIZE, ConvertCast},
    Entry{EXPAND_DIMS, ConvertReshape},
    Entry{FULLY_CONNECTED, ConvertFullyConnected},
    Entry{MAX_POOL_2D, ConvertPool2d},
    Entry{MEAN, ConvertMean},
    Entry{MUL, ConvertBinary},
    Entry{PAD, ConvertPad},
    Entry{QUANTIZE, ConvertCast},
    Entry{RELU, ConvertActivation},
    Entry{RELU6, ConvertActivation},
    Entry{RELU_N1_TO_1, ConvertActivation},
    Entry{RESHAPE, ConvertReshape},
    Entry{SOFTMAX, ConvertSoftmax},
    Entry{SQUEEZE, ConvertReshape},
    Entry{SUB, ConvertBinary},
    Entry{TRANSPOSE, ConvertTranspose},
};

}  // namespace

Result<void> ConvertOperator(TfliteBuilder& builder, const TfliteOperator& op) {
  const auto* entry = std::find_if(kOperators.begin(), kOperators.end(),
                                   [&](const Entry& e) { return e.code == op.code; });
  if (entry == kOperators.end()) {
    const std::string output =
        op.outputs.empty() ? "" : "'" + builder.tensor(op.outputs[0]).name + "'";
    return Error{ErrorCode::kUnsupported, op.Place(),
                 "no such operator in the extended form; output " + output};
  }
  auto converted = entry->convert(builder, op);
  if (!converted.has_value()) return At(op.Place(), converted.error());
  return {};
}

Layout CommonLayout(const TfliteBuilder& builder, std::span<const int> tensors) {
  bool nchw = false;
  for (const int index : tensors) {
    if (builder.tensor(index).dims.size() != 4) return Layout::kOwn;
    nchw |= builder.Preferred(index) == Layout::kNchw;
  }
  return nchw ? Layout::kNchw : Layout::kOwn;
}

format::Tensor Int64Vector(std::span<const std::int64_t> values) {
  const std::span<const std::byte> bytes = std::as_bytes(values);
  return {format::ElementType::kInt64,
          {static_cast<std::int64_t>(values.size())},
          std::nullopt,
          {bytes.begin(), bytes.end()}};
}

}  // namespace qtx::convert
