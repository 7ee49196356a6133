#include "generator.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace qtx::conformance {
namespace {

using format::ElementType;
using format::IntegerRange;
using format::Tensor;

// What the integer kinds need to know of the element they fill.
struct StoredContext {
  IntegerRange range;       // after quant_min and quant_max
  std::int64_t offset = 0;  // stored value of real zero
  double ratio = 0;         // scale / target scale; 0 when there is no target
};

std::int64_t Clamp(std::int64_t value, const IntegerRange& range) {
  return value < range.min ? range.min : (value > range.max ? range.max : value);
}

// min + step modulo the range's size, in unsigned arithmetic since an int64 range spans 2^64.
std::int64_t Step(const IntegerRange& range, std::uint64_t step) {
  const std::uint64_t span =
      static_cast<std::uint64_t>(range.max) - static_cast<std::uint64_t>(range.min);
  if (span != std::numeric_limits<std::uint64_t>::max()) step %= span + 1;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(range.min) + step);
}

std::int64_t Uniform(const IntegerRange& range, Random& random) {
  const std::uint64_t span =
      static_cast<std::uint64_t>(range.max) - static_cast<std::uint64_t>(range.min);
  if (span == std::numeric_limits<std::uint64_t>::max()) {
    return static_cast<std::int64_t>(random.Next());
  }
  return Step(range, random.Below(span + 1));
}

std::int64_t Boundary(const StoredContext& context, Random& random) {
  const IntegerRange& range = context.range;
  if (range.min == range.max) return range.min;
  const std::array<std::int64_t, 10> candidates = {range.min,
                                                   range.max,
                                                   range.min + 1,
                                                   range.max - 1,
                                                   context.offset,
                                                   context.offset,
                                                   context.offset + 1,
                                                   context.offset - 1,
                                                   0,
                                                   1};
  return Clamp(candidates[random.Below(candidates.size())], range);
}

// A stored value whose real, in units of the target's scale, lies halfway between two integers. The
// product is exact when the ratio has at most 53 - 32 significant bits, as powers of two have;
// where the ratio allows no tie, an odd distance from the offset is as near as one gets.
std::int64_t Tie(const StoredContext& context, Random& random) {
  constexpr int kTries = 64;
  std::int64_t odd = context.range.max;
  for (int i = 0; i < kTries; ++i) {
    const std::int64_t stored = Uniform(context.range, random);
    const double lsb = static_cast<double>(stored - context.offset) * context.ratio;
    if (std::fabs(lsb - std::trunc(lsb)) == 0.5) return stored;
    if ((stored - context.offset) % 2 != 0) odd = stored;
  }
  return odd;
}

std::int64_t Stored(const Generator& generator, std::int64_t element, std::int64_t count,
                    const StoredContext& context, Random& random) {
  switch (generator.kind) {
    case GeneratorKind::kUniform:
      return Uniform(context.range, random);
    case GeneratorKind::kBoundary:
      return Boundary(context, random);
    case GeneratorKind::kTies:
      return Tie(context, random);
    case GeneratorKind::kSaturate:
      return random.Below(2) == 0 ? context.range.min : context.range.max;
    case GeneratorKind::kRamp:
      return Step(context.range, static_cast<std::uint64_t>(element) + generator.seed);
    case GeneratorKind::kOneHot:
      if (static_cast<std::uint64_t>(element) ==
          generator.seed % static_cast<std::uint64_t>(count)) {
        return context.range.max;
      }
      break;
    case GeneratorKind::kZero:
      break;
  }
  return Clamp(context.offset, context.range);
}

double BoundaryFloat(Random& random) {
  using Limits = std::numeric_limits<float>;
  constexpr std::array<float, 14> kValues = {0.0F,
                                             -0.0F,
                                             1.0F,
                                             -1.0F,
                                             0.5F,
                                             -0.5F,
                                             Limits::min(),
                                             -Limits::min(),
                                             Limits::denorm_min(),
                                             Limits::max(),
                                             Limits::lowest(),
                                             Limits::infinity(),
                                             -Limits::infinity(),
                                             Limits::quiet_NaN()};
  return static_cast<double>(kValues[random.Below(kValues.size())]);
}

double Real(const Generator& generator, std::int64_t element, std::int64_t count,
            std::optional<float> target_scale, Random& random) {
  const std::int64_t middle = count / 2;
  const auto centred = static_cast<double>(element - middle);
  switch (generator.kind) {
    case GeneratorKind::kUniform:
      return static_cast<double>(random.Below(std::uint64_t{1} << 23)) * 0x1p-20 - 4.0;
    case GeneratorKind::kBoundary:
      return BoundaryFloat(random);
    case GeneratorKind::kTies: {
      // (k + 1/2) * scale for k in [-256, 256): exact in a double, in binary32 as well for scales
      // of at most 14 significant bits.
      const double k = static_cast<double>(random.Below(512)) - 256.0;
      return (k + 0.5) * static_cast<double>(target_scale.value_or(1.0F));
    }
    case GeneratorKind::kSaturate:
      return random.Below(2) == 0 ? -0x1p100 : 0x1p100;
    case GeneratorKind::kRamp:
      return centred / 8.0;
    case GeneratorKind::kOneHot:
      return static_cast<std::uint64_t>(element) ==
                     generator.seed % static_cast<std::uint64_t>(count)
                 ? 1.0
                 : 0.0;
    case GeneratorKind::kZero:
      break;
  }
  return 0.0;
}

// Parameters may break the rules on purpose; then the element's context falls back to the first
// one.
StoredContext ContextOf(const Tensor& tensor, std::int64_t parameter,
                        std::optional<float> target_scale) {
  StoredContext context;
  const bool is_bool = tensor.elem_type == ElementType::kBool;
  context.range = is_bool ? IntegerRange{0, 1} : format::StorageRange(tensor.elem_type);
  if (!tensor.quantization) return context;
  const format::Quantization& q = *tensor.quantization;
  const IntegerRange narrowed = format::StoredRange(tensor.elem_type, q);
  if (narrowed.min <= narrowed.max && narrowed.min >= context.range.min &&
      narrowed.max <= context.range.max) {
    context.range = narrowed;
  }
  const auto at = static_cast<std::size_t>(parameter);
  if (!q.offset.empty()) context.offset = q.offset[at < q.offset.size() ? at : 0];
  if (!q.scale.empty() && target_scale && *target_scale > 0) {
    context.ratio = static_cast<double>(q.scale[at < q.scale.size() ? at : 0]) /
                    static_cast<double>(*target_scale);
  }
  return context;
}

void FillIntegers(const Generator& generator, std::optional<float> target_scale, Tensor& tensor) {
  Random random(generator.seed);
  const std::int64_t count = format::ElementCount(tensor);
  std::optional<format::ParameterMap> map;
  if (tensor.quantization && format::ParameterDims(*tensor.quantization, tensor.dims)) {
    map.emplace(*tensor.quantization, tensor.dims);
  }
  const bool bipolar = format::StorageOf(tensor.elem_type) == ElementType::kBipolar1;
  std::vector<std::int64_t> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const StoredContext context = ContextOf(tensor, map ? (*map)(i) : 0, target_scale);
    std::int64_t value = Stored(generator, i, count, context, random);
    if (bipolar && value == 0) value = random.Below(2) == 0 ? -1 : 1;
    values[static_cast<std::size_t>(i)] = value;
  }
  format::PackIntegers(values, tensor);
}

template <typename T>
void FillFloats(const Generator& generator, std::optional<float> target_scale, Tensor& tensor) {
  Random random(generator.seed);
  const std::int64_t count = format::ElementCount(tensor);
  const std::span<T> values = tensor.As<T>();
  for (std::int64_t i = 0; i < count; ++i) {
    values[static_cast<std::size_t>(i)] =
        static_cast<T>(Real(generator, i, count, target_scale, random));
  }
}

// float16, bfloat16, float8, float4: the nearest value each can represent.
void FillSmallFloats(const Generator& generator, std::optional<float> target_scale,
                     Tensor& tensor) {
  Random random(generator.seed);
  const std::int64_t count = format::ElementCount(tensor);
  const ElementType storage = format::StorageOf(tensor.elem_type);
  const auto bits = static_cast<std::size_t>(format::BitWidth(storage));
  for (std::int64_t i = 0; i < count; ++i) {
    const double real = Real(generator, i, count, target_scale, random);
    const std::uint32_t code = format::EncodeSmallFloat(storage, real);
    const std::size_t bit = static_cast<std::size_t>(i) * bits;
    tensor.bytes[bit / 8] |= std::byte{static_cast<std::uint8_t>(code << (bit % 8))};
    if (bits == 16) tensor.bytes[bit / 8 + 1] = std::byte{static_cast<std::uint8_t>(code >> 8)};
  }
}

}  // namespace

std::uint64_t Random::Next() {
  state_ += 0x9E3779B97F4A7C15U;
  std::uint64_t mixed = state_;
  mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9U;
  mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBU;
  return mixed ^ (mixed >> 31);
}

std::uint64_t Random::Below(std::uint64_t bound) {
  // Numbers below 2^64 mod bound would make the small remainders likelier.
  const std::uint64_t reject = (0 - bound) % bound;
  std::uint64_t number = Next();
  while (number < reject) number = Next();
  return number % bound;
}

Result<Tensor> Generate(const Generator& generator, const format::TensorType& type,
                        const format::Dims& dims, std::optional<float> target_scale) {
  const ElementType storage = format::StorageOf(type.elem_type);
  QTX_ASSIGN_OR_RETURN(Tensor tensor, format::MakeTensor(type.elem_type, dims, type.quantization));
  if (format::ElementCount(tensor) == 0) return tensor;
  if (storage == ElementType::kUint64) {
    return Error{ErrorCode::kUnsupported, "", "UINT64 data cannot be generated"};
  }
  if (storage == ElementType::kBool || format::IsIntegerStorage(type.elem_type)) {
    FillIntegers(generator, target_scale, tensor);
  } else if (storage == ElementType::kFloat) {
    FillFloats<float>(generator, target_scale, tensor);
  } else if (storage == ElementType::kDouble) {
    FillFloats<double>(generator, target_scale, tensor);
  } else {
    FillSmallFloats(generator, target_scale, tensor);
  }
  return tensor;
}

}  // namespace qtx::conformance
