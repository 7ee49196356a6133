#include "engine/requantize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "engine/buffer.h"

namespace qtx::backend::engine {
namespace {

using format::ElementType;

Error Unsupported(std::string message) { return {ErrorCode::kUnsupported, "", std::move(message)}; }

// Binary32 keeps its relative precision well inside its exponent range; int32 accumulators add 31
// bits.
constexpr double kLargestRatio = 0x1p90;
constexpr double kSmallestRatio = 0x1p-90;

// What is rounded in one call of a kernel.
constexpr std::int64_t kMostElements = 2048;

}  // namespace

Result<PerTensor> PerTensorOf(const format::Tensor& tensor) {
  if (!tensor.quantization.has_value()) return Unsupported("expected a quantized value");
  const format::Quantization& q = *tensor.quantization;
  if (!q.axis.empty() || q.scale.size() != 1)
    return Unsupported("expected per-tensor quantization");
  if (!format::IsIntegerStorage(tensor.elem_type) || format::BitWidth(tensor.elem_type) > 32) {
    return Unsupported("expected integers of at most 32 bits, found " +
                       std::string(format::Name(tensor.elem_type)));
  }
  const format::IntegerRange storage = format::StorageRange(tensor.elem_type);
  const std::int32_t offset = format::OffsetAt(q, 0);
  if (offset < storage.min || offset > storage.max) {
    return Unsupported("expected an offset within the storage's range");
  }
  return PerTensor{q.scale[0], offset, format::StoredRange(tensor.elem_type, q)};
}

void StoreInteger(ElementType storage, std::int64_t value, std::int64_t index, std::byte* out) {
  // Two's complement: the low bytes of a value in range are its storage, signed or not
  // (little-endian).
  const auto size = static_cast<std::size_t>(format::BitWidth(storage) / 8);
  std::memcpy(out + static_cast<std::size_t>(index) * size, &value, size);
}

// A kernel computes v = fl(fl(fl(acc) * r) + b) in binary32, e = 2^-24, r and b the binary32
// nearest to the exact ratio and bias (off by e, and some 2^-51 of the binary64 they come from).
// With t = acc * ratio:
//   |v - exact| <= |t| (3e + O(e^2)) + |bias| (e + O(e^2)) + e |v|.
// Where the exact value or v lies within R + 1 of zero, R the largest bound of the clamp, |t| is at
// most |bias| + R + 1, so the error is below 4.1e (|bias| + R + 2) < 2^-21 (|bias| + R + 2) =: E. E
// takes in the rounding of the threshold itself. Farther out both lie on the same side of the clamp
// (E < 1/64). Hence a lane with |v - nearest| < 1/2 - E has the exact value's nearest integer, and
// no tie. For a sum of two scaled stored values (Add) the bound is the same, with t and bias the
// two parts.
float DoubtThreshold(double bias, format::IntegerRange range) {
  const double reach = static_cast<double>(std::max(std::abs(range.min), std::abs(range.max)));
  const double error = std::ldexp(std::fabs(bias) + reach + 2, -21);
  return error < 1.0 / 64 ? static_cast<float>(0.5 - error) : -1.0F;
}

bool IsShift(double scale, double unit) {
  int exponent = 0;
  const double ratio = scale / unit;
  return std::frexp(ratio, &exponent) == 0.5 && exponent <= 1 && exponent >= -13 &&
         ratio * unit == scale;
}

Result<Requantizer> Requantizer::Make(std::vector<Channel> channels, const format::Tensor& type,
                                      const Kernels& kernels, Epilogue epilogue) {
  const format::Tensor output = BufferType(type, kernels.signed_bytes);
  Requantizer result;
  result.kernels_ = &kernels;
  result.storage_ = format::StorageOf(output.elem_type);
  if (output.elem_type != ElementType::kFloat) {
    QTX_ASSIGN_OR_RETURN(result.output_, PerTensorOf(output));
    if (format::BitWidth(output.elem_type) < 8) {
      return Unsupported("output of type " + std::string(format::Name(output.elem_type)));
    }
  }
  result.eight_bits_ = format::BitWidth(output.elem_type) == 8;
  if (!epilogue.is_exact()) {
    result.channels_ = std::move(channels);
    QTX_RETURN_IF_ERROR(result.SetScaling(epilogue));
    return result;
  }
  for (const Channel& channel : channels) result.AddLanes(channel);
  const std::size_t padded = channels.size() + static_cast<std::size_t>(kernels.lanes);
  result.ratio_.resize(padded);
  result.bias_.resize(padded);
  result.threshold_.resize(padded, kNoDoubt);
  result.channels_ = std::move(channels);
  return result;
}

Requantizer Requantizer::OfMultiplier(Epilogue::Kind kind, Multiplier multiplier, std::size_t count,
                                      const PerTensor& output, const Kernels& kernels) {
  Requantizer result;
  result.kernels_ = &kernels;
  result.storage_ = kernels.signed_bytes ? ElementType::kInt8 : ElementType::kUint8;
  result.output_ = output;
  result.scaling_ =
      Scaling::OfMultiplier(kind, multiplier, count, output.AsStored(), kernels.lanes);
  result.eight_bits_ = result.scaling_->vectors();
  return result;
}

Result<void> Requantizer::SetScaling(Epilogue epilogue) {
  std::vector<ScaledSum> sums;
  for (const Channel& channel : channels_) {
    sums.push_back({channel.scale, static_cast<std::int64_t>(channel.bias)});
  }
  QTX_ASSIGN_OR_RETURN(scaling_,
                       Scaling::Make(epilogue, sums, output_.AsStored(), kernels_->lanes));
  eight_bits_ = eight_bits_ && scaling_->vectors();
  return {};
}

// Without a bias and with a ratio of 2^-k v is exact up to |acc| = 2^24; beyond, it is at least
// 2^10 in magnitude, where it is clamped as the exact value is.
float Requantizer::ThresholdOf(const Channel& channel, double unit, double bias) const {
  const auto divisor = static_cast<double>(channel.divisor);
  const format::IntegerRange range = output_.Rounded();
  const bool exact_unit = std::fma(output_.scale, divisor, -unit) == 0;
  const bool narrow = range.min > -0x200 && range.max < 0x200;
  if (bias == 0 && channel.scale_low == 0 && narrow && exact_unit && IsShift(channel.scale, unit)) {
    return kNoDoubt;
  }
  return DoubtThreshold(bias, range);
}

void Requantizer::AddLanes(const Channel& channel) {
  const double unit = output_.scale * static_cast<double>(channel.divisor);
  const double ratio = channel.scale / unit;
  const double bias = channel.bias * channel.bias_scale / unit;
  float threshold = ThresholdOf(channel, unit, bias);
  if (!(std::fabs(ratio) > kSmallestRatio && std::fabs(ratio) < kLargestRatio)) threshold = -1;
  const bool usable = threshold > 0;
  ratio_.push_back(usable ? static_cast<float>(ratio) : 0);
  bias_.push_back(usable ? static_cast<float>(bias) : 0);
  threshold_.push_back(threshold);
  least_ = std::min(least_, threshold);
}

void Requantizer::PutScaled(std::int64_t acc, std::int64_t channel, std::int64_t element,
                            std::byte* out) const {
  if (storage_ != ElementType::kFloat) {
    return StoreInteger(storage_, scaling_->Stored(acc, channel), element, out);
  }
  const float real = scaling_->Real(acc, channel);
  std::memcpy(out + static_cast<std::size_t>(element) * sizeof(real), &real, sizeof(real));
}

void Requantizer::Single(std::int64_t acc, std::int64_t channel, std::int64_t element,
                         std::byte* out) const {
  if (scaling_.has_value()) return PutScaled(acc, channel, element, out);
  const Channel& c = channels_[static_cast<std::size_t>(channel)];
  const auto integer = static_cast<double>(acc);
  const std::array<Term, 3> terms{Term{integer, c.scale}, Term{integer, c.scale_low},
                                  Term{c.bias, c.bias_scale}};
  if (storage_ == ElementType::kFloat) {
    const float real = RoundToFloat(terms, c.divisor);
    std::memcpy(out + static_cast<std::size_t>(element) * sizeof(real), &real, sizeof(real));
    return;
  }
  const Quotient value{terms, output_.scale, c.divisor};
  StoreInteger(storage_, RoundHalfEven(value, output_.Rounded()) + output_.offset, element, out);
}

Rounding Requantizer::RoundingFrom(std::int64_t channel) const {
  const auto c = static_cast<std::size_t>(channel);
  return {.ratio = &ratio_[c],
          .bias = &bias_[c],
          .threshold = &threshold_[c],
          .least = least_,
          .narrowing = output_.Narrowed()};
}

std::optional<Rounding> Requantizer::ForKernel() const {
  if (!eight_bits_ || scaling_.has_value()) return std::nullopt;
  return RoundingFrom(0);
}

void Requantizer::EightBits(const Block& block, std::byte* out) const {
  const Sums sums{.acc = block.acc,
                  .stride = block.stride,
                  .rows = block.rows,
                  .columns = block.columns,
                  .out = reinterpret_cast<std::uint8_t*>(out) + block.element,
                  .out_stride = block.out_stride};
  if (scaling_.has_value()) return scaling_->Bytes(*kernels_, sums, block.channel);
  const Rounding rounding = RoundingFrom(block.channel);
  std::array<std::int32_t, kMostElements> doubtful;
  const std::int64_t count = kernels_->requantize(sums, rounding, doubtful.data());
  for (std::int64_t d = 0; d < count; ++d) {
    const std::int64_t i = doubtful[static_cast<std::size_t>(d)];
    const std::int64_t column = i % block.stride;
    Single(block.acc[i], block.channel + column,
           block.element + i / block.stride * block.out_stride + column, out);
  }
}

void Requantizer::Convert(const Block& block, std::byte* out) const {
  if (eight_bits_ && block.rows * block.columns <= kMostElements) return EightBits(block, out);
  for (std::int64_t r = 0; r < block.rows; ++r) {
    for (std::int64_t c = 0; c < block.columns; c += kMostElements) {
      Block part = block;
      part.acc += r * block.stride + c;
      part.rows = 1;
      part.columns = std::min(block.columns - c, kMostElements);
      part.channel += c;
      part.element += r * block.out_stride + c;
      if (eight_bits_) {
        EightBits(part, out);
        continue;
      }
      for (std::int64_t i = 0; i < part.columns; ++i) {
        Single(part.acc[i], part.channel + i, part.element + i, out);
      }
    }
  }
}

}  // namespace qtx::backend::engine
