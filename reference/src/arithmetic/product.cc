#include "arithmetic/product.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "arithmetic/kernel_types.h"

namespace qtx::reference {
namespace {

using format::ElementType;

enum class Kernel { kConv, kDepthwiseConv, kFullyConnected, kBatchMatMul, kTransposeConv };

// The TFLite kernel a node stands for: its origin, or else its own form
// (spec/arithmetic/tflite.md).
Kernel KernelOf(const Call& call, const ProductOperands& operands) {
  const format::Node& node = call.node;
  const format::Dims& x = operands.x->tensor().dims;
  if (StandsFor(node, "DEPTHWISE_CONV_2D")) return Kernel::kDepthwiseConv;
  if (StandsFor(node, "CONV_2D")) return Kernel::kConv;
  if (StandsFor(node, "FULLY_CONNECTED")) return Kernel::kFullyConnected;
  const bool matrix = call.IsInitializer(1) && operands.w->tensor().dims.size() == 2;
  if (IsBatchMatMul(node, matrix)) return Kernel::kBatchMatMul;
  if (node.op_type == "ConvTranspose") return Kernel::kTransposeConv;
  if (!node.op_type.ends_with("Conv")) return Kernel::kFullyConnected;  // also QLinearConv
  const std::int64_t group = call.Int("group");
  const bool depthwise = group > 1 && x.size() > 1 && x[1] == group;
  return depthwise ? Kernel::kDepthwiseConv : Kernel::kConv;
}

// Storage of at most `bits` bits with every offset in its range: |stored - offset| < 2^bits.
bool IntegerOfAtMost(int bits, const Operand& operand) {
  const format::Tensor& tensor = operand.tensor();
  if (!operand.is_integer() || !tensor.quantization) return false;
  if (format::BitWidth(tensor.elem_type) > bits) return false;
  const format::IntegerRange range = format::StorageRange(tensor.elem_type);
  return std::ranges::all_of(tensor.quantization->offset, [range](std::int32_t offset) {
    return offset >= range.min && offset <= range.max;
  });
}

// In units of the accumulator.
bool IsPlain(const Operand* bias) {
  return bias != nullptr && bias->tensor().elem_type == ElementType::kInt32;
}

// One scale, or one for each output channel and nothing finer.
bool ScalesPerChannel(const Operand& w, std::int64_t channel_axis) {
  if (w.per_tensor()) return true;
  const format::Quantization& q = *w.tensor().quantization;
  return q.axis.size() == 1 && q.axis[0] == channel_axis &&
         (q.block_shape.empty() || q.block_shape[0] == 1);
}

// Operands of at most `bits` bits whose products are added as integers: float32.S4.
bool HasIntegerAccumulator(int bits, const ProductOperands& operands) {
  if (operands.alpha != 1 || (operands.bias != nullptr && operands.beta != 1)) return false;
  if (!IntegerOfAtMost(bits, *operands.x) || !operands.x->per_tensor()) return false;
  if (operands.bias != nullptr && !IsPlain(operands.bias) &&
      !(operands.bias->is_integer() && operands.bias->tensor().quantization)) {
    return false;
  }
  return IntegerOfAtMost(bits, *operands.w) &&
         ScalesPerChannel(*operands.w, operands.w_channel_axis);
}

// A FLOAT result of integers, in every arithmetic that has them in binary32: float32.S4, or the
// first two lines of onednn.S2. It has no factor to refuse.
RequantizeRecipe ToFloat(RequantizeRecipe recipe) {
  if (recipe.multiplier != RequantizeRecipe::Multiplier::kTwoSteps) {
    recipe.multiplier = RequantizeRecipe::Multiplier::kFloat;
  }
  recipe.factor = {Width::kFloat32, Width::kFloat32};
  recipe.product = Width::kFloat32;
  recipe.exponents = {};
  return recipe;
}

const RequantizeRecipe& RecipeOf(const ProductRecipes& recipes, Kernel kernel) {
  switch (kernel) {
    case Kernel::kDepthwiseConv:
      return recipes.depthwise;
    case Kernel::kFullyConnected:
      return recipes.connected;
    case Kernel::kBatchMatMul:
      return recipes.batched;
    case Kernel::kTransposeConv:
      return recipes.transposed;
    case Kernel::kConv:
      break;
  }
  return recipes.conv;
}

// tflite.S2 to tflite.S4, tflite.S12; in other arithmetics every kernel has the same recipe.
RequantizeRecipe KernelRecipe(const Arithmetic& row, Kernel kernel,
                              const ProductOperands& operands) {
  const ElementType x = operands.x->tensor().elem_type;
  if (x == ElementType::kUint8Q) return RecipeOf(row.unsigned_products, kernel);
  const bool dense = kernel == Kernel::kFullyConnected;
  const bool wide = row.domain == Domain::kStored && x == ElementType::kInt16Q;
  // tflite_float64.S1: without a bias, too.
  const bool always = row.products.connected.multiplier == RequantizeRecipe::Multiplier::kFloat;
  if (wide && dense && (operands.bias != nullptr || always)) return row.wide_biased_requantize;
  const bool batched = kernel == Kernel::kBatchMatMul;
  RequantizeRecipe recipe = wide && !dense ? row.wide_requantize : RecipeOf(row.products, kernel);
  const bool fixed = recipe.multiplier == RequantizeRecipe::Multiplier::kMantissa;
  if (fixed && operands.w->per_tensor() && (dense || batched)) {
    recipe.factor.scales = row.scalar_scales;
  }
  return recipe;
}

// quantization.S13.
bool AnyHasHalfReals(const ProductOperands& operands, const Output& output) {
  return operands.x->has_half_reals() || operands.w->has_half_reals() ||
         (operands.bias != nullptr && operands.bias->has_half_reals()) ||
         HasHalfReals(output.tensor());
}

RequantizeRecipe RecipeFor(const Call& call, const ProductOperands& operands,
                           const Output& output) {
  const Arithmetic& row = call.arithmetic;
  if (output.is_plain() || AnyHasHalfReals(operands, output)) return {};  // exact.S10
  const Kernel kernel = KernelOf(call, operands);
  const bool kernel_exists =
      operands.factor == 1 &&
      HasProductKernel(row, call.node, kernel == Kernel::kBatchMatMul,
                       {operands.x->tensor(), operands.w->tensor(), output.tensor()});
  if (row.domain == Domain::kStored && !kernel_exists) return {};
  if (!output.tensor().quantization) {
    if (DomainFor(row, output) != Domain::kFloat32) return {};
    const bool is_unsigned = operands.x->tensor().elem_type == ElementType::kUint8Q;
    return ToFloat(is_unsigned ? row.unsigned_products.conv : row.products.conv);
  }
  return KernelRecipe(row, kernel, operands);
}

// Pairs are unsigned by signed, as the processor's instruction has it, the weights without an
// offset.
RequantizeRecipe::Accumulator HeldIn(const Arithmetic& row, const RequantizeRecipe& recipe,
                                     const ProductOperands& operands) {
  using enum RequantizeRecipe::Accumulator;
  const RequantizeRecipe::Accumulator wanted = row.sums != kExact ? row.sums : recipe.accumulator;
  if (wanted == kPairs16 || wanted == kShiftedPairs16 || wanted == kWrappedPairs16) {
    const format::Tensor& w = operands.w->tensor();
    const ElementType x = wanted == kPairs16 ? ElementType::kUint8Q : ElementType::kInt8Q;
    const bool fits =
        operands.x->tensor().elem_type == x && w.elem_type == ElementType::kInt8Q && !HasOffset(w);
    return fits ? wanted : kExact;
  }
  return wanted == row.sums ? wanted : kExact;
}

AccumulatorScales ScalesOf(const ProductOperands& operands) {
  const bool per_tensor = operands.w->per_tensor();
  return {operands.x->scale(0),
          per_tensor ? std::vector<float>{operands.w->scale(0)}
                     : operands.w->tensor().quantization->scale,
          operands.y_channel_axis};
}

std::vector<Dyadic> Unpack(const Operand& operand) {
  const std::int64_t count = format::ElementCount(operand.tensor());
  std::vector<Dyadic> values;
  values.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) values.push_back(operand.exact(i));
  return values;
}

}  // namespace

ProductSum::ProductSum(const Call& call, const ProductOperands& operands, Output* output)
    : operands_(operands),
      output_(output),
      in_binary32_(DomainFor(call.arithmetic, *output) == Domain::kFloat32),
      fused_(call.arithmetic.contraction == Arithmetic::Contraction::kFused) {
  const bool has_kernel = !in_binary32_ || !AnyHasHalfReals(operands, *output);
  if (has_kernel && HasIntegerAccumulator(32, operands)) {
    RequantizeRecipe recipe = RecipeFor(call, operands, *output);
    const bool narrow = IntegerOfAtMost(8, *operands.x) && IntegerOfAtMost(8, *operands.w);
    // onnxruntime.S7: its integer kernels are of 8 bits.
    if (call.arithmetic.kernels == Arithmetic::Kernels::kOnnxRuntime && !narrow) {
      recipe.accumulator = RequantizeRecipe::Accumulator::kExact;
    }
    const bool exact = recipe.multiplier == RequantizeRecipe::Multiplier::kExact;
    const bool plain = output->is_integer() || !output->tensor().quantization;
    wide_ = !HasIntegerAccumulator(16, operands);
    if (exact ? !wide_ : plain) {
      AccumulatorScales scales = ScalesOf(operands);
      exact_factor_ = exact && operands.factor != 1;
      if (!exact) {
        scales.x_alone = scales.x;
        scales.x *= operands.factor;
        scales.alpha = operands.factor;
      }
      requantizer_.emplace(recipe, std::move(scales), output);
      narrow_ = narrow;
      held_ = HeldIn(call.arithmetic, recipe, operands);
      return;
    }
  }
}

template <typename T>
std::int64_t ProductSum::HeldSum(const T* x, const T* w, std::int64_t depth,
                                 std::int64_t kernel) const {
  using enum RequantizeRecipe::Accumulator;
  if (held_ == kPairs16) return SumOfPairs(x, w, depth, kernel, 0, false);
  if (held_ == kShiftedPairs16) return SumOfPairs(x, w, depth, kernel, 128, false);
  if (held_ == kWrappedPairs16) return SumOfPairs(x, w, depth, kernel, 0, true);
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < depth * kernel; ++i) {
    const std::int64_t product = static_cast<std::int64_t>(x[i]) * w[i];
    sum = held_ == kFloat32
              ? static_cast<std::int64_t>(static_cast<float>(sum) + static_cast<float>(product))
              : Accumulated(sum + product, held_);
  }
  return sum;
}
template std::int64_t ProductSum::HeldSum(const std::int16_t*, const std::int16_t*, std::int64_t,
                                          std::int64_t) const;
template std::int64_t ProductSum::HeldSum(const std::int32_t*, const std::int32_t*, std::int64_t,
                                          std::int64_t) const;

// Stored x, its offset and `shift` included, times w: their share leaves the sum at the end.
template <typename T>
std::int64_t ProductSum::SumOfPairs(const T* x, const T* w, std::int64_t depth, std::int64_t kernel,
                                    std::int64_t shift, bool wraps) const {
  constexpr std::int64_t kLow = std::numeric_limits<std::int16_t>::min();
  constexpr std::int64_t kHigh = std::numeric_limits<std::int16_t>::max();
  const std::int64_t offset = format::OffsetAt(*operands_.x->tensor().quantization, 0) + shift;
  const auto product = [=](std::int64_t c, std::int64_t k) {
    const std::int64_t i = c * kernel + k;
    return c < depth ? (x[i] + offset) * w[i] : 0;
  };
  std::int64_t sum = 0;
  for (std::int64_t k = 0; k < kernel; ++k) {
    for (std::int64_t c = 0; c < depth; c += 2) {
      const std::int64_t pair = product(c, k) + product(c + 1, k);
      sum += wraps ? Accumulated(pair, RequantizeRecipe::Accumulator::kWrap16)
                   : std::clamp(pair, kLow, kHigh);
    }
  }
  for (std::int64_t i = 0; i < depth * kernel; ++i) sum -= offset * w[i];
  return sum;
}

void ProductSum::PutAccumulator(std::int64_t element, std::int64_t channel,
                                std::int64_t accumulator, std::int64_t bias) {
  const Operand* b = operands_.bias;
  if (IsPlain(b)) accumulator += b->integer(bias);
  if (IsPlain(b)) b = nullptr;
  if (exact_factor_) return PutScaled(element, channel, accumulator);
  const Bias addend = b == nullptr ? Bias{} : Bias{b->integer(bias), b->scale(bias)};
  requantizer_->Put(element, static_cast<std::size_t>(channel), accumulator, addend);
}

// Three scales of 24 bits are more than a Term holds.
void ProductSum::PutScaled(std::int64_t element, std::int64_t channel, std::int64_t accumulator) {
  Rational real(static_cast<long>(accumulator));
  const float w =
      operands_.w->per_tensor()
          ? operands_.w->scale(0)
          : operands_.w->tensor().quantization->scale[static_cast<std::size_t>(channel)];
  for (const float scale : {operands_.factor, operands_.x->scale(0), w}) {
    real *= Rational(static_cast<double>(scale));
  }
  output_->PutReal(element, {true, 0, real});
}

Real ProductSum::ExactPairs(std::int64_t bias, std::span<const std::int64_t> x_indices,
                            std::span<const std::int64_t> w_indices) {
  if (x_exact_.empty()) x_exact_ = Unpack(*operands_.x);
  if (w_exact_.empty()) w_exact_ = Unpack(*operands_.w);
  ExactSum sum;
  for (std::size_t i = 0; i < x_indices.size(); ++i) {
    sum.AddProduct(x_exact_[static_cast<std::size_t>(x_indices[i])],
                   w_exact_[static_cast<std::size_t>(w_indices[i])]);
  }
  return WithBias(bias, sum);
}

Real ProductSum::WithBias(std::int64_t bias, const ExactSum& products_sum) const {
  // A factor of 1 adds nothing to the mantissas; any other is applied to the rational sum.
  if (operands_.alpha == 1) {
    if (operands_.bias == nullptr) return products_sum.Value();
    ExactSum sum = products_sum;
    const Dyadic beta = ToDyadic(static_cast<double>(operands_.beta));
    sum.AddProduct(operands_.bias->exact(bias), beta);
    return sum.Value();
  }
  const Real products = products_sum.Value();
  ExactSum addend;
  if (operands_.bias != nullptr) {
    addend.AddProduct(operands_.bias->exact(bias), ToDyadic(static_cast<double>(operands_.beta)));
  }
  const Real rest = addend.Value();
  const auto alpha = static_cast<double>(operands_.alpha);
  if (products.finite && rest.finite) {
    return {true, 0, products.value * Rational(alpha) + rest.value};
  }
  const double left = products.finite ? 0 : products.special * alpha;
  return {false, left + (rest.finite ? 0 : rest.special), {}};
}

float ProductSum::Step(float sum, float x, float w) const {
  return fused_ ? std::fma(x, w, sum) : sum + x * w;
}

float ProductSum::FloatPairs(std::int64_t bias, std::span<const std::int64_t> x_indices,
                             std::span<const std::int64_t> w_indices) const {
  float sum = 0;
  for (std::size_t i = 0; i < x_indices.size(); ++i) {
    sum = Step(sum, operands_.x->binary32(x_indices[i]), operands_.w->binary32(w_indices[i]));
  }
  return WithBias(bias, sum);
}

void ProductSum::PutFloats(std::int64_t element, std::int64_t bias, std::span<const float> x,
                           std::span<const float> w) {
  float sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum = Step(sum, x[i], w[i]);
  output_->PutFloat(element, WithBias(bias, sum));
}

float ProductSum::WithBias(std::int64_t bias, float sum) const {
  if (operands_.alpha != 1) sum *= operands_.alpha;
  if (operands_.bias == nullptr) return sum;
  const float addend = operands_.bias->binary32(bias);
  return sum + (operands_.beta == 1 ? addend : operands_.beta * addend);
}

// Differences of 33 bits: 2^61 products of them fit 128.
void ProductSum::PutWidePairs(std::int64_t element, std::int64_t channel, std::int64_t bias,
                              std::span<const std::int64_t> x_indices,
                              std::span<const std::int64_t> w_indices) {
  __int128 sum = 0;
  for (std::size_t i = 0; i < x_indices.size(); ++i) {
    sum += static_cast<__int128>(operands_.x->integer(x_indices[i])) *
           operands_.w->integer(w_indices[i]);
  }
  const Operand* b = operands_.bias;
  const Bias addend = b == nullptr ? Bias{} : Bias{b->integer(bias), b->scale(bias)};
  requantizer_->PutWide(element, static_cast<std::size_t>(channel), ToRational(sum).get_num(),
                        addend);
}

void ProductSum::PutPairs(std::int64_t element, std::int64_t channel, std::int64_t bias,
                          std::span<const std::int64_t> x_indices,
                          std::span<const std::int64_t> w_indices) {
  if (requantizer_) return PutWidePairs(element, channel, bias, x_indices, w_indices);
  if (in_binary32_) return output_->PutFloat(element, FloatPairs(bias, x_indices, w_indices));
  output_->PutReal(element, ExactPairs(bias, x_indices, w_indices));
}

}  // namespace qtx::reference
