#include "engine/elements.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/exact.h"

namespace qtx::backend::engine {
namespace {

using format::ElementType;
using format::Quantization;
using format::Tensor;

// Parameters of a type that is not quantized: the reals are the stored values.
const Quantization& ParametersOf(const Tensor& tensor) {
  static const Quantization kNone{.scale = {1.0F}};
  return tensor.quantization.has_value() ? *tensor.quantization : kNone;
}

format::IntegerRange RangeOf(const Tensor& tensor, const Quantization& parameters) {
  const bool integers = format::IsIntegerStorage(tensor.elem_type) &&
                        format::BitWidth(tensor.elem_type) < 64 &&
                        tensor.elem_type != ElementType::kBool;
  return integers ? format::StoredRange(tensor.elem_type, parameters) : format::IntegerRange{};
}

std::uint64_t LowBits(std::uint64_t value, int bits) {
  return bits == 64 ? value : value & ((std::uint64_t{1} << bits) - 1);
}

bool IsSigned(ElementType storage) {
  switch (storage) {
    case ElementType::kInt2:
    case ElementType::kInt4:
    case ElementType::kInt8:
    case ElementType::kInt16:
    case ElementType::kInt32:
    case ElementType::kInt64:
      return true;
    default:
      return false;
  }
}

// The integer with these bits.  REQUIRES: integer storage.
std::int64_t IntegerOf(std::uint64_t code, ElementType storage) {
  if (storage == ElementType::kBipolar1) return code == 0 ? -1 : 1;
  const int unused = 64 - format::BitWidth(storage);
  if (!IsSigned(storage)) return static_cast<std::int64_t>(code);
  return static_cast<std::int64_t>(code << unused) >> unused;
}

// 16-bit floats have infinities: a value that rounds beyond the largest finite one becomes
// infinite.
bool Overflows(double value, ElementType storage) {
  if (storage == ElementType::kFloat16) return std::fabs(value) >= 65520;
  return storage == ElementType::kBfloat16 && std::fabs(value) >= 0x1.FFp127;
}

template <typename Bits, typename Float>
std::uint64_t BitsOf(Float value) {
  return std::bit_cast<Bits>(value == 0 ? Float{0} : value);  // no -0: exact.S5
}

bool IsPlainFloat(ElementType type) {
  return type == ElementType::kFloat || type == ElementType::kDouble || IsHalf(type);
}

}  // namespace

std::uint64_t Codes::Get(std::span<const std::byte> bytes, std::int64_t element) const {
  const auto i = static_cast<std::size_t>(element);
  if (bits_ >= 8) {
    std::uint64_t code = 0;
    std::memcpy(&code, bytes.data() + i * (bits_ / 8), bits_ / 8);  // little-endian
    return code;
  }
  const std::size_t bit = i * bits_;
  return LowBits(std::to_integer<std::uint64_t>(bytes[bit / 8]) >> (bit % 8),
                 static_cast<int>(bits_));
}

void Codes::Set(std::span<std::byte> bytes, std::int64_t element, std::uint64_t code) const {
  const auto i = static_cast<std::size_t>(element);
  if (bits_ >= 8) {
    std::memcpy(bytes.data() + i * (bits_ / 8), &code, bits_ / 8);
    return;
  }
  const std::size_t bit = i * bits_;
  const std::uint64_t mask = ((std::uint64_t{1} << bits_) - 1) << (bit % 8);
  const auto old = std::to_integer<std::uint64_t>(bytes[bit / 8]);
  bytes[bit / 8] = static_cast<std::byte>((old & ~mask) | ((code << (bit % 8)) & mask));
}

bool OneParameter(const Tensor& tensor) {
  return !tensor.quantization.has_value() || tensor.quantization->axis.empty();
}

NumberReader::NumberReader(const Tensor& from)
    : from_(from),
      parameters_(ParametersOf(from)),
      storage_(format::StorageOf(from.elem_type)),
      parameter_(parameters_, from.dims),
      codes_(format::BitWidth(from.elem_type)) {}

Number NumberReader::operator()(std::int64_t element) const {
  return Decode(Code(element), parameter_.per_tensor() ? 0 : parameter_(element));
}

Number NumberReader::Decode(std::uint64_t code, std::int64_t parameter) const {
  if (storage_ == ElementType::kFloat) {
    return Number::OfDouble(std::bit_cast<float>(static_cast<std::uint32_t>(code)));
  }
  if (storage_ == ElementType::kDouble) return Number::OfDouble(std::bit_cast<double>(code));
  const double scale = format::ScaleAt(parameters_, parameter);
  const std::int64_t offset = format::OffsetAt(parameters_, parameter);
  if (IsHalf(storage_) || format::IsSmallFloat(storage_) || storage_ == ElementType::kFloat8E8M0) {
    const double stored = format::DecodeSmallFloat(storage_, static_cast<std::uint32_t>(code));
    return Number::OfDouble((stored - static_cast<double>(offset)) * scale);
  }
  if (storage_ == ElementType::kUint64) return Number(mpq_class(mpz_class(code)));
  const std::int64_t stored = IntegerOf(code, storage_);
  if (!from_.quantization.has_value()) return Number::Of(stored);
  const std::int64_t distance = stored - offset;
  // 24 bits of scale times 29 fit a double.
  if (std::abs(distance) < (std::int64_t{1} << 29)) {
    return mpq_class(static_cast<double>(distance) * scale);
  }
  return mpq_class(mpq_class(distance) * mpq_class(scale));
}

NumberWriter::NumberWriter(Tensor& to)
    : to_(to),
      parameters_(ParametersOf(to)),
      storage_(format::StorageOf(to.elem_type)),
      parameter_(parameters_, to.dims),
      range_(RangeOf(to, parameters_)),
      codes_(format::BitWidth(to.elem_type)) {}

std::uint64_t NumberWriter::Code(std::int64_t element, const Number& number) const {
  if (to_.quantization.has_value()) {
    return Quantized(number, parameter_.per_tensor() ? 0 : parameter_(element));
  }
  if (IsPlainFloat(storage_) || format::IsSmallFloat(storage_)) return PlainFloat(number);
  return PlainInteger(number);
}

std::uint64_t NumberWriter::Quantized(const Number& number, std::int64_t parameter) const {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::int64_t offset = format::OffsetAt(parameters_, parameter);
  double steps = number.Sign() * infinity;  // NaN is real zero
  if (number.nan()) steps = 0;
  if (number.finite() && number.Sign() == 0) steps = 0;
  if (number.finite() && number.Sign() != 0) {
    const mpq_class scale(format::ScaleAt(parameters_, parameter));
    steps = RoundToOdd(number.value() / scale);
  }
  if (format::IsSmallFloat(storage_)) return format::EncodeSmallFloat(storage_, steps);
  if (storage_ == ElementType::kBipolar1) {
    return BipolarOf(steps + static_cast<double>(offset) < 0, range_) < 0 ? 0 : 1;
  }
  const double low = static_cast<double>(range_.min - offset);
  const double high = static_cast<double>(range_.max - offset);
  const auto rounded = static_cast<std::int64_t>(std::nearbyint(std::clamp(steps, low, high)));
  return LowBits(static_cast<std::uint64_t>(rounded + offset), format::BitWidth(storage_));
}

std::uint64_t NumberWriter::PlainFloat(const Number& number) const {
  double value = std::numeric_limits<double>::quiet_NaN();
  if (!number.nan()) value = number.Sign() * std::numeric_limits<double>::infinity();
  if (number.finite()) {
    const bool narrow = storage_ != ElementType::kDouble;
    value = narrow ? RoundToOdd(number.value()) : RoundToDouble(number.value());
  }
  if (storage_ == ElementType::kDouble) return BitsOf<std::uint64_t>(value);
  if (storage_ == ElementType::kFloat) {
    return BitsOf<std::uint32_t>(static_cast<float>(value));
  }
  if (Overflows(value, storage_)) {
    const std::uint64_t infinity = storage_ == ElementType::kFloat16 ? 0x7C00 : 0x7F80;
    return value < 0 ? infinity | 0x8000 : infinity;
  }
  const std::uint32_t code = format::EncodeSmallFloat(storage_, value);
  return format::DecodeSmallFloat(storage_, code) == 0 ? 0 : code;
}

std::uint64_t NumberWriter::PlainInteger(const Number& number) const {
  if (storage_ == ElementType::kBool) return number.nan() || number.Sign() != 0 ? 1 : 0;
  const int bits = format::BitWidth(storage_);
  if (number.nan()) return 0;
  if (!number.finite()) {
    const std::uint64_t all = LowBits(~std::uint64_t{0}, bits);
    const bool negative = number.Sign() < 0;
    if (!IsSigned(storage_)) return negative ? 0 : all;
    return negative ? all - all / 2 : all / 2;
  }
  mpz_class whole;
  mpz_tdiv_q(whole.get_mpz_t(), number.value().get_num_mpz_t(), number.value().get_den_mpz_t());
  mpz_fdiv_r_2exp(whole.get_mpz_t(), whole.get_mpz_t(), static_cast<mp_bitcnt_t>(bits));
  return whole.get_ui();
}

std::uint64_t NumberWriter::Code(std::int64_t element, const Real& real) const {
  if (!real.enclose) return Code(element, real.number);
  if (real.error >= 0) {
    const auto code = EstimatedCode(element, real.estimate, real.error);
    if (code.has_value()) return *code;
  }
  for (mpfr_prec_t bits = kFirstBits;; bits = std::min(2 * bits, kMostBits)) {
    const Interval interval = real.enclose(bits);
    if (interval.IsNan()) return Code(element, Number::Nan());
    const auto [low, high] = interval.Ends();
    if (const auto code = CertainCode(element, low, high)) return *code;
    if (bits == kMostBits) return TieCode(element, low, high);
  }
}

bool NumberWriter::PutIfCertain(std::int64_t element, const Interval& interval) {
  const auto [low, high] = interval.Ends();
  const auto code = CertainCode(element, low, high);
  if (code.has_value()) PutCode(element, *code);
  return code.has_value();
}

// Plain integers that differ by a multiple of 2^n have one code.
std::optional<std::uint64_t> NumberWriter::CertainCode(std::int64_t element, const mpq_class& low,
                                                       const mpq_class& high) const {
  const std::uint64_t code = Code(element, Number(low));
  const bool wraps = format::IsIntegerStorage(to_.elem_type) && high - low >= 1;
  if (wraps || code != Code(element, Number(high))) return std::nullopt;
  return code;
}

void NumberWriter::PutTie(std::int64_t element, const Interval& interval) {
  const auto [low, high] = interval.Ends();
  PutCode(element, TieCode(element, low, high));
}

std::uint64_t NumberWriter::TieCode(std::int64_t element, const mpq_class& low,
                                    const mpq_class& high) const {
  // A value below 0 too small for an interval to leave 0 out is -1 in BIPOLAR1 (exact.S9).
  const bool vanishes = storage_ == ElementType::kBipolar1 && sgn(low) < 0 && sgn(high) == 0;
  return Code(element, Number(vanishes ? low : Simplest(low, high)));
}

std::optional<std::uint64_t> NumberWriter::EstimatedCode(std::int64_t element, double estimate,
                                                         double error) const {
  if (storage_ == ElementType::kFloat) {
    // Rounding of the ends themselves errs by 2^-53 relative.
    const double reach = error + std::fabs(estimate) * 0x1p-51;
    const auto first = static_cast<float>(estimate - reach);
    if (first != static_cast<float>(estimate + reach) || first == 0) return std::nullopt;
    return BitsOf<std::uint32_t>(first);
  }
  const bool integers = to_.quantization.has_value() && format::IsIntegerStorage(storage_) &&
                        storage_ != ElementType::kBipolar1;
  if (!integers || !std::isfinite(error)) return std::nullopt;
  const std::int64_t parameter = parameter_.per_tensor() ? 0 : parameter_(element);
  const std::int64_t offset = format::OffsetAt(parameters_, parameter);
  const double scale = format::ScaleAt(parameters_, parameter);
  const auto low = static_cast<double>(range_.min - offset);
  const auto high = static_cast<double>(range_.max - offset);
  const double steps = estimate / scale;
  // Rounding of the quotients themselves errs by 2^-53 relative.
  const double doubt = error / scale * (1 + 0x1p-50) + std::fabs(steps) * 0x1p-52;
  const double middle = std::clamp(steps, low, high);
  const double nearest = std::nearbyint(middle);
  const bool beyond = steps + doubt <= low || steps - doubt >= high;
  if (!beyond && !(std::fabs(middle - nearest) < 0.5 - doubt)) return std::nullopt;
  return LowBits(static_cast<std::uint64_t>(static_cast<std::int64_t>(nearest) + offset),
                 format::BitWidth(storage_));
}

void PutEnclosed(NumberWriter& writer, std::span<const std::int64_t> elements,
                 const std::function<std::vector<Interval>(mpfr_prec_t bits)>& values) {
  std::vector<bool> settled(elements.size());
  for (mpfr_prec_t bits = kFirstBits;; bits = std::min(2 * bits, kMostBits)) {
    const std::vector<Interval> all = values(bits);
    bool doubtful = false;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      if (!settled[i]) settled[i] = writer.PutIfCertain(elements[i], all[i]);
      if (!settled[i] && bits == kMostBits) writer.PutTie(elements[i], all[i]);
      doubtful = doubtful || !settled[i];
    }
    if (!doubtful || bits == kMostBits) return;
  }
}

}  // namespace qtx::backend::engine
