#include "arithmetic/tflite_kernels.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "arithmetic/image_resize.h"

namespace qtx::reference {
namespace {

struct Entry {
  std::string_view op_type;
  Result<std::optional<format::Tensor>> (*run)(const Call&);
};

// FULLY_CONNECTED.
Result<std::optional<format::Tensor>> RunConnected(const Call& call) {
  QTX_ASSIGN_OR_RETURN(std::optional<format::Tensor> y, RunLiteRtHybrid(call));
  return y ? std::move(y) : RunTfliteHybrid(call);
}

constexpr std::array kKernels = {
    Entry{"Cast", RunLiteRtQuantize},
    Entry{"Clip", RunTfliteRelu},
    Entry{"Conv", RunLiteRtHybrid},
    Entry{"Exp", RunLiteRtTable},
    Entry{"Gelu", RunLiteRtTable},
    Entry{"Gemm", RunConnected},
    Entry{"HardSwish", RunLiteRtSwish},
    Entry{"LeakyRelu", RunTfliteLeakyRelu},
    Entry{"LpNormalization", RunLiteRtNorm},
    Entry{"MatMul", RunLiteRtHybrid},
    Entry{"Pow", RunTfliteRsqrt},
    Entry{"Relu", RunTfliteRelu},
    Entry{"Resize", RunResizeKernel},
    Entry{"Sigmoid", RunTfliteTable},
    Entry{"Tanh", RunTfliteTable},
};

}  // namespace

Result<std::optional<format::Tensor>> RunTfliteKernel(const Call& call) {
  const auto* entry = std::ranges::find(kKernels, call.node.op_type, &Entry::op_type);
  if (entry == kKernels.end() || !call.node.domain.empty()) {
    return std::optional<format::Tensor>();
  }
  return entry->run(call);
}

std::int64_t StoredHalfAway(float steps, std::int64_t element, const Output& y) {
  constexpr QuantizeRecipe kHalfAway{.tie = TieRule::kHalfAway};
  return QuantizedQuotient(steps, y.offset(element), kHalfAway, y.min(), y.max());
}

std::int64_t MultiplyTwice(std::int64_t value, FixedMultiplier multiplier) {
  return MultiplyFixed(value, multiplier, RequantizeRecipe::Rounds::kTwice, TieRule::kHalfUp);
}

std::int64_t MultiplyInKernel(const Arithmetic& arithmetic, std::int64_t value,
                              FixedMultiplier multiplier) {
  const RequantizeRecipe& recipe = arithmetic.activation;
  return MultiplyFixed(value, multiplier, recipe.rounds, recipe.tie);
}

}  // namespace qtx::reference
