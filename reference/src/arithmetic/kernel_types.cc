#include "arithmetic/kernel_types.h"

#include <algorithm>
#include <cmath>

#include "qtx/format/accumulator.h"
#include "qtx/format/attributes.h"
#include "qtx/format/levels.h"

namespace qtx::reference {
namespace {

using format::ElementType;

bool HasWideKernels(const Arithmetic& arithmetic) {
  return arithmetic.wide_requantize.multiplier != RequantizeRecipe::Multiplier::kNone;
}

bool IsPowerOfTwo(float scale) {
  int exponent = 0;
  return std::frexp(scale, &exponent) == 0.5F;
}

bool HasTanh(const format::Node& node) {
  return node.op_type == "Gelu" && format::Attributes(node).String("approximate") == "tanh";
}

bool AreWords(const std::array<ValueType, 3>& types) {
  return std::ranges::all_of(types, [](const ValueType& type) {
    return type.elem_type == ElementType::kInt16Q && !HasOffset(type);
  });
}

// ADD and SUB of scales that are all powers of two have another kernel, unless the file says
// otherwise: tflite.S12.
bool Shifts(const format::Node& node, const std::array<ValueType, 3>& types) {
  return OriginInt(node, "pot_scale_int16", 1) != 0 &&
         std::ranges::all_of(types, [](const ValueType& type) {
           return IsPowerOfTwo(type.quantization->scale[0]);
         });
}

}  // namespace

bool StandsFor(const format::Node& node, std::string_view kernel) {
  return node.origin && node.origin->framework == "tflite" && node.origin->op_type == kernel;
}

bool HasHalfReals(const ValueType& type) {
  return type.quantization != nullptr && format::IsHalf(type.quantization->real_type);
}

bool HasOneScale(const ValueType& type) {
  return type.quantization != nullptr && type.quantization->axis.empty() &&
         type.quantization->scale.size() == 1 && format::HasIntegerForm(*type.quantization) &&
         !HasHalfReals(type);
}

bool MapsAlike(const ValueType& a, const ValueType& b) {
  return a.quantization->scale[0] == b.quantization->scale[0] &&
         format::OffsetAt(*a.quantization, 0) == format::OffsetAt(*b.quantization, 0);
}

bool HasOffset(const ValueType& type) {
  return std::ranges::any_of(type.quantization->offset, [](std::int32_t o) { return o != 0; });
}

bool Is8Bit(const ValueType& type) {
  return type.elem_type == ElementType::kInt8Q || type.elem_type == ElementType::kUint8Q;
}

std::int64_t OriginInt(const format::Node& node, std::string_view name, std::int64_t otherwise) {
  if (!node.origin || node.origin->framework != "tflite") return otherwise;
  const auto found = std::ranges::find(node.origin->attributes, name, &format::Attribute::name);
  const bool has =
      found != node.origin->attributes.end() && found->type == format::AttributeType::kInt;
  return has ? found->i : otherwise;
}

bool HasBinaryKernel(const Arithmetic& arithmetic, const format::Node& node,
                     const std::array<ValueType, 3>& types) {
  if (!std::ranges::all_of(types, HasOneScale)) return false;
  if (std::ranges::all_of(types, Is8Bit)) return true;
  const bool sums = node.op_type == "Add" || node.op_type == "Sub";
  return AreWords(types) && HasWideKernels(arithmetic) && !(sums && Shifts(node, types));
}

bool HasShiftedSum(const Arithmetic& arithmetic, const format::Node& node,
                   const std::array<ValueType, 3>& types, bool one_shape) {
  if (!HasWideKernels(arithmetic) || !std::ranges::all_of(types, HasOneScale) || !AreWords(types)) {
    return false;
  }
  const auto scale = [&types](std::size_t i) { return types[i].quantization->scale[0]; };
  return ((StandsFor(node, "ADD") && one_shape) || StandsFor(node, "SUB")) && Shifts(node, types) &&
         std::max(scale(0), scale(1)) == scale(2);
}

bool HasAverageKernel(const Arithmetic& arithmetic, const ValueType& x, const ValueType& y) {
  if (x.elem_type != y.elem_type || !HasOneScale(x) || !HasOneScale(y)) return false;
  const bool wide =
      x.elem_type == ElementType::kInt16Q && !HasOffset(x) && HasWideKernels(arithmetic);
  return (wide || Is8Bit(x)) && MapsAlike(x, y);
}

bool HasMeanKernel(const Arithmetic& arithmetic, const format::Node& node, const ValueType& x,
                   const ValueType& y) {
  const bool is_mean =
      !node.origin || node.origin->framework != "tflite" || StandsFor(node, "MEAN");
  return arithmetic.litert != Arithmetic::LiteRt::kNone && is_mean && HasUnaryKernel(x, y, true);
}

bool HasSumKernel(const Arithmetic& arithmetic, const format::Node& node, const ValueType& x,
                  const ValueType& y) {
  const bool is_sum = !node.origin || node.origin->framework != "tflite" || StandsFor(node, "SUM");
  return arithmetic.litert == Arithmetic::LiteRt::kBuiltin && is_sum && HasUnaryKernel(x, y, true);
}

bool HasSoftmaxKernel(const ValueType& x, const ValueType& y) {
  return Is8Bit(x) && x.elem_type == y.elem_type && HasOneScale(x) && HasOneScale(y);
}

bool HasUnaryKernel(const ValueType& x, const ValueType& y, bool wide) {
  if (x.elem_type != y.elem_type || !HasOneScale(x) || !HasOneScale(y)) return false;
  if (Is8Bit(x)) return true;
  return wide && x.elem_type == ElementType::kInt16Q && !HasOffset(x) && !HasOffset(y);
}

bool HasWordKernel(const Arithmetic& arithmetic, const ValueType& x, const ValueType& y) {
  return arithmetic.litert != Arithmetic::LiteRt::kNone && x.elem_type == ElementType::kInt16Q &&
         HasUnaryKernel(x, y, true) && y.quantization->scale[0] == 0x1p-15F;
}

bool HasTableKernel(const Arithmetic& arithmetic, const format::Node& node, const ValueType& x,
                    const ValueType& y) {
  if (arithmetic.litert == Arithmetic::LiteRt::kNone || !HasUnaryKernel(x, y, true)) return false;
  // Beyond these scales tables of 16 bits overflow; of GELU by tanh they hang on libm's last bit.
  return Is8Bit(x) || (x.quantization->scale[0] <= 0x1p-9F &&
                       y.quantization->scale[0] >= 0x1p-30F && !HasTanh(node));
}

bool HasNormKernel(const Arithmetic& arithmetic, const format::Node& node, const ValueType& x,
                   const ValueType& y) {
  return arithmetic.litert != Arithmetic::LiteRt::kNone && StandsFor(node, "L2_NORMALIZATION") &&
         HasUnaryKernel(x, y, false) && y.quantization->scale[0] == 0x1p-7F &&
         format::OffsetAt(*y.quantization, 0) == (y.elem_type == ElementType::kInt8Q ? 0 : 128);
}

bool HasDivKernel(const Arithmetic& arithmetic, const format::Node& node,
                  const std::array<ValueType, 3>& types) {
  const auto& [a, b, y] = types;
  const bool is_div = !node.origin || node.origin->framework != "tflite" || StandsFor(node, "DIV");
  if (arithmetic.litert == Arithmetic::LiteRt::kNone || !is_div || a.elem_type != b.elem_type ||
      a.elem_type != y.elem_type || !std::ranges::all_of(types, HasOneScale) ||
      !(Is8Bit(a) || AreWords(types))) {
    return false;
  }
  const auto scale = [&types](std::size_t i) { return types[i].quantization->scale[0]; };
  const float factor = scale(0) / (scale(1) * scale(2));
  return factor >= 0x1p-15F && factor < 0x1p13F;  // whose shifts are those of 64 bits
}

bool HasLogSoftmaxKernel(const Arithmetic& arithmetic, const ValueType& x, const ValueType& y) {
  return arithmetic.litert != Arithmetic::LiteRt::kNone && HasSoftmaxKernel(x, y) &&
         y.quantization->scale[0] == 0x1p-4F &&
         format::OffsetAt(*y.quantization, 0) == (y.elem_type == ElementType::kInt8Q ? 127 : 255);
}

bool HasHybridKernel(const format::Node& node, const ValueType& x, const ValueType& w,
                     const ValueType* bias, const ValueType& y) {
  const bool types = x.elem_type == ElementType::kFloat && w.elem_type == ElementType::kInt8Q &&
                     y.elem_type == ElementType::kFloat &&
                     (bias == nullptr || bias->elem_type == ElementType::kFloat);
  if (!types || !HasOneScale(w) || HasOffset(w)) return false;
  if (node.op_type != "Gemm" || !StandsFor(node, "FULLY_CONNECTED")) return false;
  const format::Attributes attributes(node);
  return attributes.Int("transA") == 0 && attributes.Int("transB") == 1 &&
         !format::IsScaledGemm(node);
}

bool HasXnnpackRatio(float ratio) { return ratio >= 0x1p-10F && ratio < 0x1p8F; }

bool HasXnnpackFactor(float factor) {
  return std::abs(factor) >= 0x1p-8F && factor <= 0x1p7F && factor >= 0x1p-8F - 0x1p7F;
}

bool IsBatchMatMul(const format::Node& node, bool constant_matrix) {
  if (StandsFor(node, "BATCH_MATMUL")) return true;
  if (StandsFor(node, "FULLY_CONNECTED")) return false;
  return node.op_type.ends_with("MatMul") && !constant_matrix;  // QLinearMatMul, too
}

// int8 by int8 or int4, uint8 by uint8, and int16 by int8 without offsets; the output as x, one
// scale for x and y. ConvTranspose has int16 alone, in some arithmetics 8 bits; BATCH_MATMUL one
// scale for w, and int8 by int8, int16 by int8 or int16.
bool HasProductKernel(const Arithmetic& arithmetic, const format::Node& node, bool batched,
                      const std::array<ValueType, 3>& types) {
  const auto& [x, w, y] = types;
  if (y.elem_type != x.elem_type || !HasOneScale(y)) return false;
  if (batched && !HasOneScale(w)) return false;
  const bool weights = w.elem_type == ElementType::kInt8Q;
  if (x.elem_type == ElementType::kInt16Q) {
    return (weights || (batched && w.elem_type == x.elem_type)) && !HasOffset(x) && !HasOffset(w) &&
           !HasOffset(y) && HasWideKernels(arithmetic);
  }
  if (node.op_type == "ConvTranspose" &&
      (!arithmetic.transposes_bytes || format::Attributes(node).Int("group") != 1)) {
    return false;
  }
  if (x.elem_type == ElementType::kUint8Q) {
    return w.elem_type == x.elem_type && HasOneScale(w) && !batched;
  }
  return x.elem_type == ElementType::kInt8Q &&
         (weights || (w.elem_type == ElementType::kInt4Q && !batched));
}

}  // namespace qtx::reference
