#include "engine/arithmetic.h"

#include <algorithm>
#include <array>

#include "engine/ops/hybrid.h"
#include "engine/plan.h"

namespace qtx::backend::engine {
namespace {

using format::ElementType;
using format::Tensor;

constexpr std::array<std::string_view, 5> kNames = {"exact", "float32", "tflite", "tflite-double",
                                                    "tflite-single"};

using Names = std::span<const std::string_view>;

bool Contains(Names names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// Operators that only copy or compare elements. They compute something only if types differ.
constexpr std::array<std::string_view, 19> kMoves = {
    "Concat",   "Constant", "DepthToSpace", "Expand",    "Flatten",  "Gather", "GatherND",
    "Identity", "MaxPool",  "Pad",          "Reshape",   "Shape",    "Slice",  "SpaceToDepth",
    "Split",    "Squeeze",  "Tile",         "Transpose", "Unsqueeze"};
// Those of kMoves that convert between types in binary32.
constexpr std::array<std::string_view, 9> kConvertingMoves = {"Concat",  "Flatten",   "Identity",
                                                              "MaxPool", "Pad",       "Reshape",
                                                              "Squeeze", "Transpose", "Unsqueeze"};
// Operators that every arithmetic of the engine defines.
constexpr std::array<std::string_view, 13> kComputed = {
    "Add",  "AveragePool",       "Cast",   "Clip", "Conv", "DequantizeLinear",
    "Gemm", "GlobalAveragePool", "MatMul", "Mul",  "Relu", "Softmax",
    "Sub"};

bool IsReal(ElementType type) {
  return type == ElementType::kFloat || type == ElementType::kFloat16 ||
         type == ElementType::kBfloat16 || format::IsQuantized(type);
}

// The type of output 0: as declared, else that of input 0.
std::optional<ElementType> ResultType(const NodePlan& plan) {
  if (const auto declared = plan.DeclaredElementType()) return declared;
  if (!plan.HasInput(0)) return std::nullopt;
  const auto x = plan.TypeOf(0);
  return x.has_value() ? std::optional((*x)->elem_type) : std::nullopt;
}

bool SameType(const Tensor& a, const Tensor& b) {
  if (a.elem_type != b.elem_type) return false;
  if (!a.quantization.has_value() || !b.quantization.has_value()) {
    return a.quantization.has_value() == b.quantization.has_value();
  }
  return a.quantization->scale == b.quantization->scale &&
         a.quantization->offset == b.quantization->offset &&
         a.quantization->axis == b.quantization->axis &&
         a.quantization->block_shape == b.quantization->block_shape;
}

// True if all inputs of reals have the type of the result, so that stored values are copied.
bool OnlyMoves(const NodePlan& plan) {
  const auto y = plan.OutputParameters();
  if (!y.has_value()) return false;
  for (std::size_t i = 0; i < plan.node().inputs.size(); ++i) {
    if (!plan.HasInput(i)) continue;
    const auto x = plan.TypeOf(i);
    if (!x.has_value()) return false;
    if (!IsReal((*x)->elem_type)) continue;
    const bool per_axis = (*x)->quantization.has_value() && !(*x)->quantization->axis.empty();
    if (per_axis || !SameType(**x, *y)) return false;
  }
  return true;
}

// True for operators whose result is plain integers, quantized with parameters that are inputs.
bool QuantizesToIntegers(std::string_view op_type) {
  return op_type == "QuantizeLinear" || op_type == "DynamicQuantizeLinear" || op_type == "QGemm" ||
         op_type.starts_with("QLinear");
}

bool HasTypes(const NodePlan& plan, std::size_t x, std::size_t scale) {
  const auto first = plan.TypeOf(x);
  const auto second = plan.TypeOf(scale);
  return first.has_value() && second.has_value() && (*first)->elem_type == ElementType::kFloat &&
         (*second)->elem_type == ElementType::kFloat;
}

bool FromQuantized(const NodePlan& plan) {
  const auto x = plan.TypeOf(0);
  return x.has_value() && format::IsQuantized((*x)->elem_type);
}

bool HasFloat(const NodePlan& plan, std::size_t input) {
  const auto x = plan.TypeOf(input);
  return x.has_value() && (*x)->elem_type == ElementType::kFloat;
}

// True if all inputs and the result are FLOAT.
bool OnlyFloats(const NodePlan& plan) {
  for (std::size_t i = 0; i < plan.node().inputs.size(); ++i) {
    if (plan.HasInput(i) && !HasFloat(plan, i)) return false;
  }
  return ResultType(plan) == ElementType::kFloat;
}

// Where the arithmetic is defined as exact for FLOAT: one operation is rounded once (float32.S3),
// and TFLite's kernels of kComputed are those of integers (tflite.S11) but for the hybrid ones.
bool IsExactOnFloats(const NodePlan& plan, Arithmetic asked) {
  constexpr std::array<std::string_view, 3> kSingle = {"Add", "Mul", "Sub"};
  constexpr std::array<std::string_view, 3> kProducts = {"Conv", "Gemm", "MatMul"};
  const std::string_view op_type = plan.node().op_type;
  if (!IsTflite(asked)) return Contains(kSingle, op_type) && OnlyFloats(plan);
  if (Contains(kProducts, op_type)) return HasFloat(plan, 0) && !IsHybrid(plan);
  return OnlyFloats(plan);
}

}  // namespace

Names ArithmeticNames() { return kNames; }

std::optional<Arithmetic> FindArithmetic(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Arithmetic>(found - kNames.begin());
}

std::string_view NameOf(Arithmetic arithmetic) {
  return kNames[static_cast<std::size_t>(arithmetic)];
}

bool ComesFromTflite(const format::Node& node, std::string_view op_type) {
  return node.origin.has_value() && node.origin->framework == "tflite" &&
         node.origin->op_type == op_type;
}

std::optional<Arithmetic> ArithmeticFor(const NodePlan& plan, Arithmetic asked) {
  if (asked == Arithmetic::kExact) return asked;
  const std::string_view op_type = plan.node().op_type;
  const auto result = ResultType(plan);
  if (op_type == "Cast" && result && format::IsSmallFloat(*result) && FromQuantized(plan)) {
    return std::nullopt;  // the code nearest to the binary32 (cast.S9)
  }
  if (result.has_value() && !IsReal(*result) && !QuantizesToIntegers(op_type)) {
    return Arithmetic::kExact;  // exact.S10, cast.S8
  }
  if (Contains(kMoves, op_type)) {
    if (IsTflite(asked) || OnlyMoves(plan)) return Arithmetic::kExact;
    return Contains(kConvertingMoves, op_type) ? std::optional(asked) : std::nullopt;
  }
  if (op_type == "QuantizeLinear") {
    return HasTypes(plan, 0, 1) ? std::optional(asked) : std::nullopt;
  }
  if (!Contains(kComputed, op_type)) return std::nullopt;
  if (IsExactOnFloats(plan, asked)) return Arithmetic::kExact;
  // FLOAT16 and BFLOAT16 results are defined in binary32 or exactly, depending on the operator. The
  // engine does not compute them.
  const bool half = result == ElementType::kFloat16 || result == ElementType::kBfloat16;
  return half ? std::nullopt : std::optional(asked);
}

}  // namespace qtx::backend::engine
