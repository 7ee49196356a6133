#include "generator.h"

#include <algorithm>
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

// What the integer generators need about an element.
struct StoredContext {
  IntegerRange range;       // after quant_min and quant_max
  std::int64_t offset = 0;  // stored value of real zero
  double ratio = 0;         // scale / target scale; 0 without a target
};

std::int64_t Clamp(std::int64_t value, const IntegerRange& range) {
  return value < range.min ? range.min : (value > range.max ? range.max : value);
}

std::uint64_t SpanOf(const IntegerRange& range) {
  return static_cast<std::uint64_t>(range.max) - static_cast<std::uint64_t>(range.min);
}

// min + step modulo the range's size, in unsigned arithmetic since an int64 range spans 2^64.
std::int64_t Step(const IntegerRange& range, std::uint64_t step) {
  const std::uint64_t span = SpanOf(range);
  if (span != std::numeric_limits<std::uint64_t>::max()) step %= span + 1;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(range.min) + step);
}

std::int64_t Uniform(const IntegerRange& range, Random& random) {
  const std::uint64_t span = SpanOf(range);
  if (span == std::numeric_limits<std::uint64_t>::max()) {
    return static_cast<std::int64_t>(random.Next());
  }
  return Step(range, random.Below(span + 1));
}

std::int64_t SaturatingAdd(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < 0 ? std::numeric_limits<std::int64_t>::min()
               : std::numeric_limits<std::int64_t>::max();
}

// Twelve uniform numbers below 2^16 less their mean: 2^16 times a number near the standard normal
// (Irwin and Hall, 1927), and integers all the way, since no two libm agree on a logarithm.
std::int64_t NearNormal(Random& random) {
  constexpr int kTerms = 12;
  constexpr std::int64_t kMean = kTerms * 65535 / 2;
  std::int64_t sum = -kMean;
  for (int i = 0; i < kTerms; ++i) sum += static_cast<std::int64_t>(random.Below(65536));
  return sum;
}

// Standard deviation an eighth of the range. |sum| < 2^19 and sigma <= 2^32, so nothing overflows.
std::int64_t Normal(const StoredContext& context, Random& random) {
  constexpr std::uint64_t kMaxSigma = std::uint64_t{1} << 32;
  const auto sigma =
      static_cast<std::int64_t>(std::clamp<std::uint64_t>(SpanOf(context.range) / 8, 1, kMaxSigma));
  const std::int64_t distance = (NearNormal(random) * sigma + (1 << 15)) >> 16;
  return Clamp(SaturatingAdd(context.offset, distance), context.range);
}

// All orders of magnitude are equally likely: the distance from the offset has a uniform number of
// bits.
std::int64_t Extreme(const StoredContext& context, Random& random) {
  const auto width = std::min<std::uint64_t>(std::bit_width(SpanOf(context.range)), 63);
  const std::uint64_t bits = random.Below(width + 1);
  std::int64_t distance = 0;
  if (bits > 0) {
    const std::uint64_t lowest = std::uint64_t{1} << (bits - 1);
    distance = static_cast<std::int64_t>(lowest + random.Below(lowest));
  }
  if (random.Below(2) == 0) distance = -distance;
  return Clamp(SaturatingAdd(context.offset, distance), context.range);
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
                                                   SaturatingAdd(context.offset, 1),
                                                   SaturatingAdd(context.offset, -1),
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
    const double distance = static_cast<double>(stored) - static_cast<double>(context.offset);
    const double lsb = distance * context.ratio;
    if (std::fabs(lsb - std::trunc(lsb)) == 0.5) return stored;
    if (((stored ^ context.offset) & 1) != 0) odd = stored;
  }
  return odd;
}

std::int64_t Stored(const Generator& generator, std::int64_t element, std::int64_t count,
                    const StoredContext& context, Random& random) {
  switch (generator.kind) {
    case GeneratorKind::kUniform:
      return Uniform(context.range, random);
    case GeneratorKind::kNormal:
      return Normal(context, random);
    case GeneratorKind::kBoundary:
      return Boundary(context, random);
    case GeneratorKind::kTies:
      return Tie(context, random);
    case GeneratorKind::kSaturate:
    case GeneratorKind::kSaturatingPairs:  // Pairs fills it
      return random.Below(2) == 0 ? context.range.min : context.range.max;
    case GeneratorKind::kSparse:
      if (random.Below(8) == 0) return Uniform(context.range, random);
      break;
    case GeneratorKind::kExtreme:
      return Extreme(context, random);
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

// The ends of binary32's positive range, powers of two, and any mantissa at any exponent.
float ExtremeMagnitude(Random& random) {
  using Limits = std::numeric_limits<float>;
  switch (random.Below(5)) {
    case 0:
      return Limits::denorm_min();
    case 1:
      return Limits::min();
    case 2:
      return Limits::max();
    case 3:
      return std::bit_cast<float>(static_cast<std::uint32_t>(random.Below(254) + 1) << 23);
    default:
      const auto exponent = static_cast<std::uint32_t>(random.Below(254) + 1);
      const auto mantissa = static_cast<std::uint32_t>(random.Below(std::uint64_t{1} << 23));
      return std::bit_cast<float>((exponent << 23) | mantissa);
  }
}

double UniformFloat(Random& random) {
  return static_cast<double>(random.Below(std::uint64_t{1} << 23)) * 0x1p-20 - 4.0;
}

double Real(const Generator& generator, std::int64_t element, std::int64_t count,
            std::optional<float> target_scale, Random& random) {
  const std::int64_t middle = count / 2;
  const auto centred = static_cast<double>(element - middle);
  switch (generator.kind) {
    case GeneratorKind::kUniform:
      return UniformFloat(random);
    case GeneratorKind::kNormal:
      return static_cast<double>(NearNormal(random)) * 0x1p-16;
    case GeneratorKind::kBoundary:
      return BoundaryFloat(random);
    case GeneratorKind::kTies: {
      // (k + 1/2) * scale for k in [-256, 256): exact in a double, in binary32 as well for scales
      // of at most 14 significant bits.
      const double k = static_cast<double>(random.Below(512)) - 256.0;
      return (k + 0.5) * static_cast<double>(target_scale.value_or(1.0F));
    }
    case GeneratorKind::kSaturate:
    case GeneratorKind::kSaturatingPairs:
      return random.Below(2) == 0 ? -0x1p100 : 0x1p100;
    case GeneratorKind::kSparse:
      return random.Below(8) == 0 ? UniformFloat(random) : 0.0;
    case GeneratorKind::kExtreme: {
      const auto magnitude = static_cast<double>(ExtremeMagnitude(random));
      return random.Below(2) == 0 ? -magnitude : magnitude;
    }
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

// UINT64 is generated as the INT64 that is 2^63 less: both have the same order.
// For parameters that break the rules on purpose, the first one is used.
StoredContext ContextOf(const Tensor& tensor, std::int64_t parameter,
                        std::optional<float> target_scale) {
  StoredContext context;
  if (tensor.elem_type == ElementType::kUint64) {
    context.range = {std::numeric_limits<std::int64_t>::min(),
                     std::numeric_limits<std::int64_t>::max()};
    context.offset = context.range.min;
    return context;
  }
  context.range = format::StorageRange(tensor.elem_type);
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

// The context of an element by its row-major index.
class Contexts {
 public:
  Contexts(const Tensor& tensor, std::optional<float> target_scale) {
    if (tensor.quantization && format::ParameterDims(*tensor.quantization, tensor.dims)) {
      map_.emplace(*tensor.quantization, tensor.dims);
    }
    const std::int64_t parameters = map_ ? map_->count() : 1;
    for (std::int64_t parameter = 0; parameter < parameters; ++parameter)
      of_parameter_.push_back(ContextOf(tensor, parameter, target_scale));
  }
  const StoredContext& operator()(std::int64_t element) const {
    return of_parameter_[map_ ? static_cast<std::size_t>((*map_)(element)) : 0];
  }

 private:
  std::optional<format::ParameterMap> map_;
  std::vector<StoredContext> of_parameter_;
};

// Bipolar storage has no zero.
std::int64_t Storable(const Tensor& tensor, std::int64_t value, Random& random) {
  if (value != 0 || format::StorageOf(tensor.elem_type) != ElementType::kBipolar1) return value;
  return random.Below(2) == 0 ? -1 : 1;
}

// The lines of a tensor along one axis, in row-major order of their other coordinates.
struct Lines {
  std::int64_t outer = 1;
  std::int64_t length = 1;
  std::int64_t inner = 1;

  Lines(const format::Dims& dims, std::int64_t axis) {
    for (std::int64_t i = 0; i < std::ssize(dims); ++i) {
      const std::int64_t dim = dims[static_cast<std::size_t>(i)];
      (i < axis ? outer : (i == axis ? length : inner)) *= dim;
    }
  }
  std::int64_t count() const { return outer * inner; }
  std::int64_t Index(std::int64_t line, std::int64_t k) const {
    return (line / inner * length + k) * inner + line % inner;
  }
};

// Neighbours along the axis are at the same end of the range, so that their products add up; a
// quarter of the pairs is random, for variety.
void FillPairs(const Generator& generator, const Contexts& contexts, Random& random,
               const Tensor& tensor, std::vector<std::int64_t>& values) {
  const std::int64_t rank = std::ssize(tensor.dims);
  const Lines lines(tensor.dims, generator.axis < 0 ? generator.axis + rank : generator.axis);
  for (std::int64_t line = 0; line < lines.count(); ++line) {
    for (std::int64_t first = 0; first < lines.length; first += 2) {
      const std::uint64_t choice = random.Below(8);
      for (std::int64_t k = first; k < std::min(first + 2, lines.length); ++k) {
        const std::int64_t at = lines.Index(line, k);
        const IntegerRange range = contexts(at).range;
        const bool lower = range.min < 0 && choice % 2 == 0;
        const std::int64_t value =
            choice < 2 ? Uniform(range, random) : (lower ? range.min : range.max);
        values[static_cast<std::size_t>(at)] = Storable(tensor, value, random);
      }
    }
  }
}

void FillIntegers(const Generator& generator, std::optional<float> target_scale, Tensor& tensor) {
  Random random(generator.seed);
  const std::int64_t count = format::ElementCount(tensor);
  const Contexts contexts(tensor, target_scale);
  std::vector<std::int64_t> values(static_cast<std::size_t>(count));
  if (generator.kind == GeneratorKind::kSaturatingPairs) {
    FillPairs(generator, contexts, random, tensor, values);
  } else {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t value = Stored(generator, i, count, contexts(i), random);
      values[static_cast<std::size_t>(i)] = Storable(tensor, value, random);
    }
  }
  if (tensor.elem_type != ElementType::kUint64) return format::PackIntegers(values, tensor);
  std::ranges::transform(values, tensor.As<std::uint64_t>().begin(), [](std::int64_t value) {
    return static_cast<std::uint64_t>(value) ^ (std::uint64_t{1} << 63);
  });
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
  // Rejects numbers below 2^64 mod bound, which would bias towards small remainders.
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
  const std::int64_t rank = std::ssize(dims);
  if (generator.axis != -1 && (generator.axis < -rank || generator.axis >= rank)) {
    return Error{ErrorCode::kInvalid, "",
                 "found axis " + std::to_string(generator.axis) + ", expected one of rank " +
                     std::to_string(rank)};
  }
  if (storage == ElementType::kBool || storage == ElementType::kUint64 ||
      format::IsIntegerStorage(type.elem_type)) {
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

std::vector<float> ExtremeScales(std::uint64_t seed, std::int64_t count) {
  Random random(seed);
  std::vector<float> scales(static_cast<std::size_t>(count));
  std::ranges::generate(scales, [&random] { return ExtremeMagnitude(random); });
  return scales;
}

std::vector<float> UniformScales(std::uint64_t seed, std::int64_t count, double largest) {
  Random random(seed);
  std::vector<float> scales(static_cast<std::size_t>(count));
  std::ranges::generate(scales, [&] {
    return static_cast<float>(largest * (static_cast<double>(random.Below(1024)) + 1) / 1024);
  });
  return scales;
}

std::vector<std::int32_t> UniformOffsets(std::uint64_t seed, std::int64_t count, std::int32_t min,
                                         std::int32_t max) {
  Random random(seed);
  std::vector<std::int32_t> offsets(static_cast<std::size_t>(count));
  std::ranges::generate(offsets, [&] {
    return static_cast<std::int32_t>(Uniform(IntegerRange{min, max}, random));
  });
  return offsets;
}

}  // namespace qtx::conformance
