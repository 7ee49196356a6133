// What Relu, Clip, Cast and Identity do, and the conversion data movements begin with.
#include "engine/ops/conversion.h"

#include <algorithm>
#include <utility>

#include "engine/ops/binary32.h"
#include "engine/ops/real_conversion.h"
#include "engine/ops/reals.h"
#include "qtx/format/levels.h"

namespace qtx::backend::engine {
namespace {

using format::Tensor;

Tensor TypeOnly(const Tensor& tensor) {
  Tensor type;
  type.elem_type = tensor.elem_type;
  type.dims = tensor.dims;
  type.quantization = tensor.quantization;
  return type;
}

bool IsEightBitPerTensor(const Tensor& tensor) {
  return format::IsQuantized(tensor.elem_type) && format::BitWidth(tensor.elem_type) == 8 &&
         PerTensorOf(tensor).has_value();
}

// Integers of equal parameters, none of which needs clamping: to copy them is exact.
bool SameIntegers(const Tensor& from, const Tensor& to) {
  if (from.elem_type != to.elem_type || !format::IsQuantized(from.elem_type) ||
      !format::IsIntegerStorage(from.elem_type)) {
    return false;
  }
  const format::Quantization& a = *from.quantization;
  const format::Quantization& b = *to.quantization;
  return a.scale == b.scale && a.offset == b.offset && a.axis == b.axis &&
         a.block_shape == b.block_shape &&
         format::StoredRange(to.elem_type, b) == format::StorageRange(to.elem_type);
}

// True where a bound took the value's place.
bool Bound(const RealBounds& bounds, Term& value) {
  const bool low = bounds.low.has_value() && Less(value, *bounds.low);
  if (low) value = *bounds.low;
  const bool high = bounds.high.has_value() && Less(*bounds.high, value);
  if (high) value = *bounds.high;
  return low || high;
}

std::int64_t Quantize(const Term& real, const PerTensor& to, const ChangeRule& rule) {
  if (rule.in_binary32()) {
    const float quotient = Binary32Of(real) / static_cast<float>(to.scale);
    return rule.kind == ChangeRule::Kind::kFloat32 ? StoredOf(quotient, to.AsStored())
                                                   : StoredHalfAway(quotient, to.AsStored());
  }
  return RoundHalfEven({{&real, 1}, to.scale, 1}, to.Rounded()) + to.offset;
}

// One scale and offset on both sides, and the same ones.
bool SameParameters(const Tensor& from, const Tensor& to) {
  if (!from.quantization || !to.quantization) return false;
  const format::Quantization& a = *from.quantization;
  const format::Quantization& b = *to.quantization;
  return a.axis.empty() && b.axis.empty() && format::HasIntegerForm(a) &&
         format::HasIntegerForm(b) && a.scale == b.scale &&
         format::OffsetAt(a, 0) == format::OffsetAt(b, 0);
}

bool SameRange(const Tensor& from, const Tensor& to) {
  return format::StoredRange(from.elem_type, *from.quantization) ==
         format::StoredRange(to.elem_type, *to.quantization);
}

// RELU and RELU6 are for 8 bits, and for INT16Q without offsets: definitions.S11.
bool HasActivation(const Tensor& from, const PerTensor& x, const Tensor& to, const PerTensor& y) {
  const bool words =
      from.elem_type == format::ElementType::kInt16Q && x.offset == 0 && y.offset == 0;
  return from.elem_type == to.elem_type && (format::BitWidth(from.elem_type) == 8 || words);
}

// RELU6 is bounded by a FLOAT 6, quantized half away (tflite.S9); a lower bound is 0.
std::int64_t Activated(const ChangeRule& rule, const RealBounds& bounds, std::int64_t integer,
                       const PerTensor& to) {
  const bool raised = bounds.low.has_value() && integer < 0;
  const std::int64_t stored = Rescaled(rule, raised ? 0 : integer, to);
  if (!bounds.high.has_value()) return stored;
  return std::min(stored, Quantize(*bounds.high, to, {ChangeRule::Kind::kFloat32HalfAway, {}}));
}

// The real of each stored byte, which one product rounds as every rule does.
std::array<float, 256> RealsOfBytes(const Tensor& from) {
  const PerTensor type = *PerTensorOf(from);
  const format::IntegerRange range = format::StorageRange(from.elem_type);
  std::array<float, 256> reals{};
  for (std::int64_t stored = range.min; stored <= range.max; ++stored) {
    reals[static_cast<std::uint8_t>(stored)] =
        Binary32Of(Term{static_cast<double>(stored - type.offset), type.scale});
  }
  return reals;
}

// One scale and offset of integers.
std::optional<PerTensor> OneScale(const Tensor& tensor) {
  const auto type = PerTensorOf(tensor);
  return type.has_value() ? std::optional(*type) : std::nullopt;
}

}  // namespace

// Source: tflite.S9, tflite.S11, float32.S7; see Purpose.
ChangeRule RuleFor(Arithmetic arithmetic, Purpose purpose, const Tensor& from, const Tensor& to) {
  using Kind = ChangeRule::Kind;
  const bool one_type = from.elem_type == to.elem_type;
  if (one_type && !format::IsQuantized(from.elem_type)) return {Kind::kCopy};
  const auto x = OneScale(from);
  const auto y = OneScale(to);
  const bool same =
      SameParameters(from, to) && (one_type || (x && y) || purpose == Purpose::kSelect);
  if (same && purpose == Purpose::kMove && one_type && SameRange(from, to)) return {Kind::kCopy};
  if (arithmetic == Arithmetic::kExact) return {};
  const bool computes = purpose == Purpose::kQuantize || purpose == Purpose::kActivate;
  if (same && !computes) return {};
  if (!IsTflite(arithmetic)) return {Kind::kFloat32};
  if (!computes) return {};
  if (!from.quantization.has_value()) {  // Relu and Clip have no kernel then: tflite.S11
    return purpose == Purpose::kQuantize ? ChangeRule{Kind::kFloat32HalfAway} : ChangeRule{};
  }
  if (!x || !y || format::BitWidth(from.elem_type) < 8 || format::BitWidth(to.elem_type) < 8) {
    return {};
  }
  if (purpose == Purpose::kActivate && !HasActivation(from, *x, to, *y)) return {};
  const auto narrow = static_cast<float>(x->scale) / static_cast<float>(y->scale);
  const double factor =
      purpose == Purpose::kActivate ? static_cast<double>(narrow) : x->scale / y->scale;
  const bool once = arithmetic == Arithmetic::kTfliteSingle;
  return {once ? Kind::kOnce : Kind::kTwice, MakeMultiplier(factor)};
}

bool OverlooksEqual(const ChangeRule& rule, const Tensor& from, const Tensor& to) {
  if (from.elem_type != to.elem_type || !format::IsQuantized(to.elem_type)) return false;
  if (from.quantization->axis.empty() && to.quantization->axis.empty()) return false;
  const bool clamps =
      format::StoredRange(to.elem_type, *to.quantization) != format::StorageRange(to.elem_type);
  return rule.in_binary32() || (clamps && SameRange(from, to));
}

std::int64_t Rescaled(const ChangeRule& rule, std::int64_t integer, const PerTensor& to) {
  const std::int32_t value = Wrapped32(integer);
  const std::int64_t scaled = rule.kind == ChangeRule::Kind::kOnce
                                  ? MultiplyOnce(value, rule.multiplier)
                                  : MultiplyTwice(value, rule.multiplier);
  return std::clamp(scaled + to.offset, to.stored.min, to.stored.max);
}

Result<ByteTable> MakeByteTable(const Tensor& from, const Tensor& to, const RealBounds& bounds,
                                const ChangeRule& rule) {
  if (!IsEightBitPerTensor(from) || !IsEightBitPerTensor(to)) {
    return Error{ErrorCode::kUnsupported, "",
                 "from " + std::string(format::Name(from.elem_type)) + " to " +
                     std::string(format::Name(to.elem_type)) + ", expected 8 bits per tensor"};
  }
  QTX_ASSIGN_OR_RETURN(const PerTensor a, PerTensorOf(from));
  QTX_ASSIGN_OR_RETURN(const PerTensor b, PerTensorOf(to));
  const format::IntegerRange range = format::StorageRange(from.elem_type);
  ByteTable table{};
  for (std::int64_t stored = range.min; stored <= range.max; ++stored) {
    Term real{static_cast<double>(stored - a.offset), a.scale};
    const bool bounded = Bound(bounds, real);
    std::int64_t result = stored;
    if (rule.in_integers()) {
      result = Activated(rule, bounds, stored - a.offset, b);
    } else if (bounded || !rule.copies()) {
      result = Quantize(real, b, rule);
    }
    table[static_cast<std::uint8_t>(stored)] = static_cast<std::uint8_t>(result);
  }
  return table;
}

Result<Converter> Converter::Make(const Tensor& from, const Tensor& to, const RealBounds& bounds,
                                  const ChangeRule& rule) {
  Converter result;
  result.bounds_ = bounds;
  result.rule_ = rule;
  result.from_ = TypeOnly(from);
  result.to_ = TypeOnly(to);
  const bool bounded = bounds.low.has_value() || bounds.high.has_value();
  const bool exact = rule.kind == ChangeRule::Kind::kExact;
  result.copies_ = !bounded && (rule.copies() || (exact && SameIntegers(from, to)));
  if (result.copies_) return result;
  if (IsEightBitPerTensor(from) && IsEightBitPerTensor(to)) {
    QTX_ASSIGN_OR_RETURN(result.table_, MakeByteTable(from, to, bounds, rule));
    return result;
  }
  QTX_RETURN_IF_ERROR(CheckReals(from));
  QTX_RETURN_IF_ERROR(CheckReals(to));
  if (!bounded && IsEightBitPerTensor(from) && to.elem_type == format::ElementType::kFloat) {
    result.reals_ = RealsOfBytes(from);
  }
  return result;
}

void Converter::Run(std::span<const std::byte> from, std::span<std::byte> to) const {
  if (copies_) {
    std::ranges::copy(from, to.begin());
  } else if (table_.has_value()) {
    const ByteTable& table = *table_;
    std::ranges::transform(from, to.begin(), [&table](std::byte b) {
      return std::byte{table[std::to_integer<std::size_t>(b)]};
    });
  } else if (reals_.has_value()) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(from.data());
    float* floats = reinterpret_cast<float*>(to.data());
    std::transform(bytes, bytes + from.size(), floats,
                   [this](std::uint8_t byte) { return (*reals_)[byte]; });
  } else if (rule_.in_binary32() && QuantizesFloats()) {
    QuantizeFloats({reinterpret_cast<const float*>(from.data()), from.size() / sizeof(float)}, to);
  } else if (rule_.in_binary32() || rule_.in_integers() ||
             !ConvertReals(from_, from, to_, to, bounds_, *kernels_)) {
    RunGeneral(from, to);
  }
}

bool Converter::QuantizesFloats() const {
  return from_.elem_type == format::ElementType::kFloat && IsEightBitPerTensor(to_) &&
         !bounds_.low.has_value() && !bounds_.high.has_value();
}

void Converter::QuantizeFloats(std::span<const float> from, std::span<std::byte> to) const {
  const StoredType type = PerTensorOf(to_)->AsStored();
  const auto scale = static_cast<float>(type.scale);
  const bool half_away = rule_.kind == ChangeRule::Kind::kFloat32HalfAway;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const float quotient = from[i] / scale;
    to[i] = static_cast<std::byte>(half_away ? StoredHalfAway(quotient, type)
                                             : StoredOf(quotient, type));
  }
}

void Converter::RunGeneral(std::span<const std::byte> from, std::span<std::byte> to) const {
  Tensor source = from_;
  source.bytes.assign(from.begin(), from.end());
  Tensor target = to_;
  target.bytes.resize(to.size());
  std::vector<Term> reals = RealsOf(source);
  if (rule_.in_integers()) {
    RunRescaled(reals, target);
  } else {
    for (Term& real : reals) Bound(bounds_, real);
    StoreChanged(rule_, reals, target);
  }
  std::ranges::copy(target.bytes, to.begin());
}

// One scale and offset on both sides: what RuleFor saw to.
void Converter::RunRescaled(std::span<const Term> reals, Tensor& target) const {
  const PerTensor to = *PerTensorOf(target);
  std::vector<std::int32_t> stored;
  for (const Term& term : reals) {
    const auto integer = static_cast<std::int64_t>(term.integer);
    stored.push_back(static_cast<std::int32_t>(Activated(rule_, bounds_, integer, to)));
  }
  format::PackInt32(stored, target);
}

void StoreChanged(const ChangeRule& rule, std::span<const Term> reals, Tensor& to) {
  if (!rule.in_binary32()) return StoreReals(reals, to);
  FloatWriter writer(to, rule.kind == ChangeRule::Kind::kFloat32HalfAway);
  for (std::size_t i = 0; i < reals.size(); ++i) {
    writer.Put(static_cast<std::int64_t>(i), Binary32Of(reals[i]));
  }
  writer.Finish();
}

}  // namespace qtx::backend::engine
