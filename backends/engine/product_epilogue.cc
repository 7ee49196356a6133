#include "engine/product_epilogue.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "engine/weights.h"
#include "qtx/format/accumulator.h"

namespace qtx::backend::engine {
namespace {

using format::ElementType;
using format::Tensor;
using Kind = Epilogue::Kind;

bool HasOffset(const Tensor& tensor) {
  return std::ranges::any_of(tensor.quantization->offset, [](std::int32_t o) { return o != 0; });
}

bool OneScale(const Tensor& tensor) {
  return tensor.quantization.has_value() && tensor.quantization->axis.empty() &&
         tensor.quantization->scale.size() == 1;
}

// True for quantized integers whose offsets are within the range of the storage, so that
// differences fit 33 bits.
bool HoldsIntegers(const Tensor& tensor) {
  if (!tensor.quantization.has_value() || !format::IsIntegerStorage(tensor.elem_type)) return false;
  const format::IntegerRange range = format::StorageRange(tensor.elem_type);
  return std::ranges::all_of(tensor.quantization->offset, [range](std::int32_t offset) {
    return range.min <= offset && offset <= range.max;
  });
}

bool OneScaleAChannel(const Tensor& w, std::int64_t axis) {
  if (OneScale(w)) return true;
  const format::Quantization& q = *w.quantization;
  return q.axis == std::vector<std::int64_t>{axis} &&
         (q.block_shape.empty() || q.block_shape[0] == 1);
}

// Sums of products are integers: the condition of float32.S4.
bool SumsIntegers(const Tensor& x, const Tensor& w, const Tensor* bias, const ProductRoles& roles) {
  if (roles.alpha != 1 || (bias != nullptr && roles.beta != 1)) return false;
  const bool whole_bias = bias == nullptr || (bias->quantization.has_value() &&
                                              format::IsIntegerStorage(bias->elem_type));
  return whole_bias && HoldsIntegers(x) && OneScale(x) && HoldsIntegers(w) &&
         OneScaleAChannel(w, roles.channel_axis);
}

enum class Kernel { kConv, kDepthwiseConv, kFullyConnected, kBatchMatMul };

// Source: spec/arithmetic/tflite.md, its first paragraph.
Kernel KernelOf(const NodePlan& node, const Tensor& x, const Tensor& w) {
  if (ComesFromTflite(node.node(), "DEPTHWISE_CONV_2D")) return Kernel::kDepthwiseConv;
  if (ComesFromTflite(node.node(), "CONV_2D")) return Kernel::kConv;
  if (ComesFromTflite(node.node(), "FULLY_CONNECTED")) return Kernel::kFullyConnected;
  if (ComesFromTflite(node.node(), "BATCH_MATMUL")) return Kernel::kBatchMatMul;
  if (node.node().op_type == "MatMul") {
    const bool matrix = node.IsInitializer(1) && w.dims.size() == 2;
    return matrix ? Kernel::kFullyConnected : Kernel::kBatchMatMul;
  }
  if (node.node().op_type != "Conv") return Kernel::kFullyConnected;
  const std::int64_t group = node.Int("group");
  const bool depthwise = group > 1 && x.dims.size() > 1 && x.dims[1] == group;
  return depthwise ? Kernel::kDepthwiseConv : Kernel::kConv;
}

// tflite.S12: int16 by int8, in BATCH_MATMUL by int16 too, without offsets.
Epilogue WideEpilogue(Arithmetic arithmetic, const Tensor& x, const Tensor& w, const Tensor& y,
                      Kernel kernel, bool has_bias) {
  const bool batched = kernel == Kernel::kBatchMatMul;
  const bool weights =
      w.elem_type == ElementType::kInt8Q || (batched && w.elem_type == x.elem_type);
  if (!weights || HasOffset(x) || HasOffset(w) || HasOffset(y)) return {};
  if (kernel != Kernel::kFullyConnected) return {Kind::kWide, batched};
  if (has_bias) return {Kind::kBinary64};
  const bool twice = arithmetic == Arithmetic::kTfliteDouble;  // tflite_double.S1
  return {twice ? Kind::kTwice : Kind::kOnce, OneScale(w)};
}

// tflite.S2 to S4 have the types of 8 bits.
Epilogue TfliteEpilogue(const NodePlan& node, const Tensor& x, const Tensor& w, const Tensor& y,
                        bool has_bias) {
  const Arithmetic arithmetic = node.arithmetic();
  if (y.elem_type != x.elem_type || !OneScale(y)) return {};
  const Kernel kernel = KernelOf(node, x, w);
  const bool batched = kernel == Kernel::kBatchMatMul;
  if (batched && !OneScale(w)) return {};
  if (x.elem_type == ElementType::kInt16Q) {
    return WideEpilogue(arithmetic, x, w, y, kernel, has_bias);
  }
  const bool is_unsigned = x.elem_type == ElementType::kUint8Q;
  const bool four_bits = w.elem_type == ElementType::kInt4Q && !batched;
  if (is_unsigned && (batched || w.elem_type != x.elem_type || !OneScale(w))) return {};
  if (!is_unsigned &&
      (x.elem_type != ElementType::kInt8Q || (w.elem_type != x.elem_type && !four_bits))) {
    return {};
  }
  const bool builtin_twice = is_unsigned || batched || kernel == Kernel::kDepthwiseConv;
  const bool twice = arithmetic == Arithmetic::kTfliteDouble ||
                     (arithmetic == Arithmetic::kTflite && builtin_twice);
  const bool dense = batched || kernel == Kernel::kFullyConnected;
  return {twice ? Kind::kTwice : Kind::kOnce, is_unsigned || (dense && OneScale(w))};
}

// The bias in units of binary32(x_scale * w_scale): float32.S5. Where that is 0 the factor is, too.
// TFLite's are those of the exact product: tflite.S4.
Result<std::int64_t> BiasInUnits(const Channel& channel, Epilogue epilogue) {
  const bool narrow = epilogue.kind == Kind::kFloat32;
  const double unit =
      narrow ? static_cast<double>(static_cast<float>(channel.scale)) : channel.scale;
  const bool as_stored =
      narrow ? channel.bias_scale == unit
             : format::IsUnitOfProducts(static_cast<float>(channel.bias_scale), unit);
  if (as_stored) return static_cast<std::int64_t>(channel.bias);
  if (unit == 0) return 0;
  const Term term{channel.bias, channel.bias_scale};
  if (!narrow) {
    constexpr format::IntegerRange kInt32{-(std::int64_t{1} << 31), (std::int64_t{1} << 31) - 1};
    return RoundHalfEven({{&term, 1}, unit, 1}, kInt32);
  }
  constexpr std::int64_t kLimit = std::int64_t{1} << 51;  // of RoundHalfEven
  const std::int64_t rounded = RoundHalfEven({{&term, 1}, unit, 1}, {-kLimit, kLimit});
  if (std::abs(rounded) < kLimit) return rounded;
  return Error{ErrorCode::kUnsupported, "", "a bias of 2^51 units of the accumulator or more"};
}

}  // namespace

Result<std::optional<Epilogue>> EpilogueOf(const NodePlan& node, const ProductRoles& roles,
                                           const Tensor& y) {
  if (node.arithmetic() == Arithmetic::kExact) return std::optional(Epilogue{});
  QTX_ASSIGN_OR_RETURN(const Tensor* x, node.TypeOf(roles.x));
  QTX_ASSIGN_OR_RETURN(const Tensor* w, node.TypeOf(roles.w));
  const Tensor* bias = nullptr;
  if (node.HasInput(roles.bias)) {
    QTX_ASSIGN_OR_RETURN(bias, node.TypeOf(roles.bias));
  }
  const bool integers = SumsIntegers(*x, *w, bias, roles);
  if (node.arithmetic() != Arithmetic::kFloat32) {
    return std::optional(integers ? TfliteEpilogue(node, *x, *w, y, bias != nullptr) : Epilogue{});
  }
  // One bit has no rounding of its own: a sign of binary32.
  const bool result = y.elem_type == ElementType::kFloat ||
                      (y.quantization.has_value() && format::IsIntegerStorage(y.elem_type) &&
                       y.elem_type != ElementType::kBipolar1Q);
  if (!integers || !result) return std::optional<Epilogue>();
  return std::optional(Epilogue{Kind::kFloat32});
}

Result<std::int64_t> IntegerBias(const Channel& channel, Epilogue epilogue) {
  if (channel.bias_scale == 0) return static_cast<std::int64_t>(channel.bias);
  return BiasInUnits(channel, epilogue);
}

Result<std::vector<std::int32_t>> TakeIntegerBias(std::vector<Channel>& channels,
                                                  Epilogue epilogue) {
  if (epilogue.is_exact()) return TakeIntegerBias(channels);
  std::vector<std::int32_t> addend;
  for (Channel& channel : channels) {
    QTX_ASSIGN_OR_RETURN(const std::int64_t bias, IntegerBias(channel, epilogue));
    channel.bias = static_cast<double>(bias);
    const bool taken = std::fabs(channel.bias) < kLargestAddend;
    addend.push_back(taken ? static_cast<std::int32_t>(channel.bias) : 0);
    if (taken) channel.bias = 0;
  }
  return addend;
}

}  // namespace qtx::backend::engine
