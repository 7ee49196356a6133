// Source: LiteRT 2.3.0, each operator and type run and compared with ONNX's reference.
#include "tflite/plain_types.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "errors.h"

namespace qtx::convert {
namespace {

using enum schema::BuiltinOperator;
constexpr std::uint32_t PlainBit(schema::TensorType type) {
  return std::uint32_t{1} << static_cast<std::uint32_t>(type);
}
constexpr std::uint32_t kPlainBool = PlainBit(schema::TensorType::BOOL);
constexpr std::uint32_t kPlainF16 = PlainBit(schema::TensorType::FLOAT16);
constexpr std::uint32_t kPlainF64 = PlainBit(schema::TensorType::FLOAT64);
constexpr std::uint32_t kPlainI8 = PlainBit(schema::TensorType::INT8);
constexpr std::uint32_t kPlainU8 = PlainBit(schema::TensorType::UINT8);
constexpr std::uint32_t kPlainI16 = PlainBit(schema::TensorType::INT16);
constexpr std::uint32_t kPlainI32 = PlainBit(schema::TensorType::INT32);
constexpr std::uint32_t kPlainU32 = PlainBit(schema::TensorType::UINT32);
constexpr std::uint32_t kPlainI64 = PlainBit(schema::TensorType::INT64);

// Beside FLOAT32; an operator without a row takes every type.
struct PlainRow {
  schema::BuiltinOperator code;
  std::uint32_t types;
};
constexpr std::uint32_t kPlainMoved =
    kPlainI8 | kPlainU8 | kPlainI16 | kPlainI32 | kPlainI64 | kPlainF16 | kPlainBool;
constexpr std::uint32_t kPlainCompared = kPlainI16 | kPlainI32 | kPlainI64 | kPlainF16;
constexpr std::uint32_t kPlainGreatest =
    kPlainI8 | kPlainU8 | kPlainI16 | kPlainI32 | kPlainI64 | kPlainF16;
constexpr std::uint32_t kPlainReduced = kPlainI8 | kPlainU8 | kPlainI32 | kPlainI64 | kPlainF16;
constexpr std::uint32_t kPlainSummed = kPlainI32 | kPlainI64 | kPlainF16;
constexpr std::array kPlainRows = {
    PlainRow{ABS, kPlainI16 | kPlainI32 | kPlainF16},
    PlainRow{ADD, kPlainI16 | kPlainI32 | kPlainI64 | kPlainF16},
    PlainRow{AVERAGE_POOL_2D, kPlainF16},
    PlainRow{CEIL, kPlainF16},
    PlainRow{CONCATENATION, kPlainI8 | kPlainU8 | kPlainI16 | kPlainI32 | kPlainU32 | kPlainI64 |
                                kPlainF16 | kPlainBool},
    PlainRow{COS, kPlainF16},
    PlainRow{DEPTH_TO_SPACE, kPlainReduced},
    PlainRow{DIV, kPlainI32 | kPlainF16},
    PlainRow{ELU, kPlainF16},
    PlainRow{EQUAL, kPlainI16 | kPlainI32 | kPlainI64 | kPlainF16 | kPlainBool},
    PlainRow{EXP, kPlainF16},
    PlainRow{FLOOR, kPlainF16},
    PlainRow{GATHER, kPlainMoved},
    PlainRow{GELU, kPlainF16},
    PlainRow{GREATER, kPlainCompared},
    PlainRow{GREATER_EQUAL, kPlainCompared},
    PlainRow{HARD_SWISH, kPlainF16},
    PlainRow{LEAKY_RELU, kPlainF16},
    PlainRow{LESS, kPlainCompared},
    PlainRow{LESS_EQUAL, kPlainCompared},
    PlainRow{LOG, kPlainF16},
    PlainRow{LOGISTIC, kPlainF16},
    PlainRow{MAXIMUM, kPlainGreatest},
    PlainRow{MAX_POOL_2D, kPlainI8 | kPlainU8},
    PlainRow{MEAN, kPlainSummed},
    PlainRow{MINIMUM, kPlainGreatest},
    PlainRow{MUL, kPlainI16 | kPlainI32 | kPlainU32 | kPlainI64 | kPlainF16},
    PlainRow{NEG, kPlainI8 | kPlainI16 | kPlainI32 | kPlainI64 | kPlainF16},
    PlainRow{PAD, kPlainMoved},
    PlainRow{PADV2, kPlainMoved},
    PlainRow{POW, kPlainI32},
    PlainRow{PRELU, 0},
    PlainRow{REDUCE_MAX, kPlainReduced},
    PlainRow{REDUCE_MIN, kPlainReduced},
    PlainRow{REDUCE_PROD, kPlainI32 | kPlainI64},
    PlainRow{RELU, kPlainF16},
    PlainRow{RELU6, kPlainF16},
    PlainRow{RELU_N1_TO_1, kPlainF16},
    PlainRow{ROUND, kPlainF16},
    PlainRow{SIGN, kPlainI32 | kPlainF64},
    PlainRow{SIN, kPlainF16},
    PlainRow{SPACE_TO_DEPTH, kPlainI8 | kPlainU8 | kPlainI32 | kPlainI64},
    PlainRow{SQRT, kPlainF16},
    PlainRow{SUB, kPlainI32 | kPlainI64 | kPlainF16},
    PlainRow{SUM, kPlainSummed},
    PlainRow{TANH, kPlainF16},
};

bool PlainHasScales(const schema::TensorT& tensor) {
  return tensor.quantization != nullptr && !tensor.quantization->scale.empty();
}

}  // namespace

Result<void> CheckPlainTypes(const schema::SubGraphT& graph, const Call& call) {
  const auto* row = std::ranges::find(kPlainRows, call.code, &PlainRow::code);
  if (row == kPlainRows.end() || call.inputs.empty() || call.inputs[0] < 0) return {};
  const auto tensor = [&](std::size_t i) -> const schema::TensorT& {
    return *graph.tensors[static_cast<std::size_t>(call.inputs[i])];
  };
  const schema::TensorType type = tensor(0).type;
  const std::string name = schema::EnumNameBuiltinOperator(call.code);
  if (!PlainHasScales(tensor(0)) && type != schema::TensorType::FLOAT32 &&
      (row->types & PlainBit(type)) == 0) {
    return Unsupported("LiteRT's " + name + " takes no " + schema::EnumNameTensorType(type) +
                       " without scales");
  }
  if (call.code != POW || tensor(1).type == type) return {};
  return Unsupported("LiteRT's POW takes no exponent of type " +
                     std::string(schema::EnumNameTensorType(tensor(1).type)) + " beside " +
                     schema::EnumNameTensorType(type));
}

}  // namespace qtx::convert
