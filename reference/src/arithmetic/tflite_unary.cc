// RELU, RELU6, LEAKY_RELU, LOGISTIC and TANH of 8 bits, RSQRT.
#include <mpfr.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "arithmetic/kernel_types.h"
#include "arithmetic/tflite_kernels.h"
#include "arithmetic/tflite_words.h"
#include "qtx/format/mpfr_cache.h"

namespace qtx::reference {
namespace {

using std::int64_t;

float Logistic32(float x) { return 1.0F / (1.0F + Exp32(-x)); }

bool HasKernel(const Call& call, bool wide) {
  const format::Tensor* x = call.Input(0);
  return x != nullptr && !call.outputs.empty() && HasUnaryKernel(*x, call.outputs[0], wide);
}

template <typename Function>
Result<std::optional<format::Tensor>> PutAll(const Call& call, Function stored_of) {
  QTX_ASSIGN_OR_RETURN(const Operand x, Operand::Make(*call.Input(0)));
  QTX_ASSIGN_OR_RETURN(Output y, Output::Make(call, x.tensor().dims));
  const int64_t count = format::ElementCount(x.tensor());
  for (int64_t i = 0; i < count; ++i) y.PutStored(i, stored_of(x, i, y));
  return std::optional(y.Take());
}

std::optional<WordSigmoid> WordOf(const Call& call, bool logistic) {
  const format::Tensor* x = call.Input(0);
  if (x == nullptr || !HasWordKernel(call.arithmetic, *x, call.outputs[0])) return std::nullopt;
  using Function = WordSigmoid::Function;
  return WordSigmoid::Make(call.arithmetic, logistic ? Function::kLogistic : Function::kTanh,
                           x->quantization->scale[0]);
}

// The node stands for TFLite's RSQRT: x to the power -1/2.
bool IsRsqrt(const Call& call) {
  const format::Tensor* exponent = call.Input(1);
  return StandsFor(call.node, "RSQRT") && exponent != nullptr &&
         exponent->elem_type == format::ElementType::kFloat &&
         format::ElementCount(*exponent) == 1 && exponent->As<float>()[0] == -0.5F;
}

bool IsFloat(const format::Tensor* tensor, float value) {
  return tensor != nullptr && tensor->elem_type == format::ElementType::kFloat &&
         tensor->As<float>()[0] == value;
}

// definitions.S11: the Clip stands for TFLite's RELU6.
bool IsRelu6(const Call& call) {
  return StandsFor(call.node, "RELU6") && IsFloat(call.Input(1), 0) && IsFloat(call.Input(2), 6);
}

// A product of two fixed-point numbers with a and b integer bits, which has a + b of them.
int64_t Product(int64_t a, int64_t b) {
  return std::min<int64_t>(RoundShift(a * b, 31, TieRule::kHalfUp),
                           std::numeric_limits<std::int32_t>::max());
}

// value * 2^bits in 32 bits, saturated.
int64_t Shifted(int64_t value, int bits) {
  return std::clamp<int64_t>(value * (int64_t{1} << bits), std::numeric_limits<std::int32_t>::min(),
                             std::numeric_limits<std::int32_t>::max());
}

}  // namespace

// 1 / sqrt(value) by five steps of Newton's method in 3 integer bits from the guess 1: tflite.S16.
FixedMultiplier InverseRoot(int64_t value) {
  if (value <= 1) return {std::numeric_limits<std::int32_t>::max(), 0};
  // value in [2^27, 2^29), a power of four away.
  const int zeros = std::countl_zero(static_cast<std::uint32_t>(value));
  const int pairs = (zeros - 1) / 2 - 1;
  const int64_t input = (value << (2 * pairs)) >> 1;
  const int64_t half = RoundShift(input, 1, TieRule::kHalfAway);
  constexpr int64_t kThreeHalves = (int64_t{1} << 28) + (int64_t{1} << 27);
  int64_t x = int64_t{1} << 28;
  for (int step = 0; step < 5; ++step) {
    const int64_t cube = Shifted(Product(Product(x, x), x), 6);
    x = Shifted(Product(kThreeHalves, x) - Product(half, cube), 3);
  }
  constexpr int64_t kHalfRootOfTwo = 1518500250;  // of 2^31
  return {static_cast<std::int32_t>(Product(x, kHalfRootOfTwo)), pairs - 11};
}

// MPFR rounds correctly to as many bits as the result has.
float Tanh32(float x) {
  mpfr_t value;
  format::OwnMpfrCache();
  mpfr_init2(value, 24);
  mpfr_set_flt(value, x, MPFR_RNDN);
  mpfr_tanh(value, value, MPFR_RNDN);
  const float result = mpfr_get_flt(value, MPFR_RNDN);
  mpfr_clear(value);
  return result;
}

// Source: LiteRT f674577 kernels/internal/common.h LUTPopulateInt8, kernels/activations.cc
// SigmoidPrepare and TanhPrepare.
Result<std::optional<format::Tensor>> RunTfliteTable(const Call& call) {
  const bool logistic = call.node.op_type == "Sigmoid";
  if (const auto word = WordOf(call, logistic)) {
    return PutAll(call, [&word](const Operand& x, int64_t i, const Output&) {
      return (*word)(x.integer(i));
    });
  }
  if (!HasKernel(call, false)) return std::optional<format::Tensor>();
  return PutAll(call, [logistic](const Operand& x, int64_t i, const Output& y) {
    const float real = x.scale(i) * static_cast<float>(x.integer(i));
    const float value = logistic ? Logistic32(real) : Tanh32(real);
    return StoredHalfAway(value * (1.0F / y.scale(i)), i, y);
  });
}

// Source: LiteRT f674577 kernels/activations.cc ReluPrepare, QuantizedReluX.
Result<std::optional<format::Tensor>> RunTfliteRelu(const Call& call) {
  const bool bounded = call.node.op_type == "Clip";
  if ((bounded && !IsRelu6(call)) || !HasKernel(call, true)) return std::optional<format::Tensor>();
  const float x_scale = call.Input(0)->quantization->scale[0];
  const float y_scale = call.outputs[0].quantization->scale[0];
  const FixedMultiplier factor = ToFixed(static_cast<double>(x_scale / y_scale));
  return PutAll(call, [&](const Operand& x, int64_t i, const Output& y) {
    const int64_t steps =
        std::max<int64_t>(MultiplyInKernel(call.arithmetic, x.integer(i), factor), 0);
    const int64_t stored = steps + y.offset(i);
    return bounded ? std::min(stored, StoredHalfAway(6.0F / y_scale, i, y)) : stored;
  });
}

// Source: LiteRT f674577 kernels/activations.cc LeakyReluPrepare, kernels/internal/reference/
// leaky_relu.h.
Result<std::optional<format::Tensor>> RunTfliteLeakyRelu(const Call& call) {
  if (!HasKernel(call, true)) return std::optional<format::Tensor>();
  const float alpha = call.Float("alpha");
  const float x_scale = call.Input(0)->quantization->scale[0];
  const float y_scale = call.outputs[0].quantization->scale[0];
  const FixedMultiplier identity = ToFixed(static_cast<double>(x_scale / y_scale));
  const FixedMultiplier slope = ToFixed(static_cast<double>(x_scale * std::abs(alpha) / y_scale));
  return PutAll(call, [&](const Operand& x, int64_t i, const Output& y) {
    const int64_t value = x.integer(i);
    if (value >= 0) return MultiplyInKernel(call.arithmetic, value, identity) + y.offset(i);
    const int64_t scaled = MultiplyInKernel(call.arithmetic, value, slope);
    return (alpha < 0 ? -scaled : scaled) + y.offset(i);
  });
}

// Source: LiteRT f674577 kernels/elementwise.cc RsqrtEvalQuantizedInt8, kernels/internal/common.h
// GetInvSqrtQuantizedMultiplierExp.
Result<std::optional<format::Tensor>> RunTfliteRsqrt(const Call& call) {
  if (!IsRsqrt(call) || !HasKernel(call, false) ||
      call.outputs[0].elem_type != format::ElementType::kInt8Q) {
    return std::optional<format::Tensor>();
  }
  constexpr int kBits = 20;  // that keep the inverse root from being a fraction
  const float x_scale = call.Input(0)->quantization->scale[0];
  const float y_scale = call.outputs[0].quantization->scale[0];
  FixedMultiplier factor = ToFixed(1.0 / static_cast<double>(std::sqrt(x_scale) * y_scale));
  factor.shift -= kBits;
  return PutAll(call, [&](const Operand& x, int64_t i, const Output& y) {
    const int64_t value = x.integer(i);
    if (value <= 0) return y.max();
    FixedMultiplier root = InverseRoot(value);
    root.shift += kBits;
    const int64_t inverse = MultiplyInKernel(call.arithmetic, 1, root);
    return MultiplyInKernel(call.arithmetic, inverse, factor) + y.offset(i);
  });
}

}  // namespace qtx::reference
