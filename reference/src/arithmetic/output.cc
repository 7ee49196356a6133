#include "arithmetic/output.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "arithmetic/round.h"
#include "arithmetic/small_float.h"
#include "parameters.h"

namespace qtx::reference {
namespace {

using format::ElementType;

const format::Quantization& ParametersOf(const format::Tensor& tensor) {
  static const format::Quantization kNone = [] {
    format::Quantization none;
    none.scale = {1.0F};
    return none;
  }();
  return tensor.quantization ? *tensor.quantization : kNone;
}

// The lowest BitWidth(type) bits of `value` as an element of `type`.
std::int64_t Wrapped(ElementType type, std::uint64_t value) {
  const int width = format::BitWidth(type);
  const bool is_signed = format::StorageRange(type).min < 0;
  const int unused = 64 - width;
  const std::uint64_t high = value << unused;
  return is_signed ? static_cast<std::int64_t>(high) >> unused
                   : static_cast<std::int64_t>(high >> unused);
}

std::uint64_t LowBits(const mpz_class& value) {
  mpz_class low;
  mpz_fdiv_r_2exp(low.get_mpz_t(), value.get_mpz_t(), 64);
  return low.get_ui();
}

}  // namespace

Output::Output(const Call& call, const OutputType& type, format::Tensor tensor, Kind kind)
    : tensor_(std::move(tensor)),
      kind_(kind),
      small_float_(type.small_float),
      recipe_(call.arithmetic.quantize),
      exact_recipe_(recipe_.value == QuantizeRecipe::Value::kExact ? recipe_ : QuantizeRecipe{}),
      counters_(call.counters),
      map_(ParametersOf(tensor_), tensor_.dims),
      scales_(ParametersOf(tensor_).scale),
      offsets_(ParametersOf(tensor_).offset),
      real_type_(format::RealTypeOf(ParametersOf(tensor_))) {
  if (kind_ == Kind::kFloat || kind_ == Kind::kDouble) return;
  const auto count = static_cast<std::size_t>(format::ElementCount(tensor_));
  if (kind_ == Kind::kPlain) {
    plain_.resize(count);
    return;
  }
  integers_.resize(count);
  if (kind_ == Kind::kSmallFloat || kind_ == Kind::kHalf) return;
  const format::IntegerRange range = format::StoredRange(tensor_.elem_type, ParametersOf(tensor_));
  min_ = range.min;
  max_ = range.max;
}

Result<Output::Kind> Output::KindOf(const OutputType& type) {
  if (type.quantization) {
    const ElementType storage = format::StorageOf(type.elem_type);
    if (storage == ElementType::kBipolar1) return Kind::kBipolar;
    return format::IsSmallFloat(storage) ? Kind::kSmallFloat : Kind::kInteger;
  }
  switch (type.elem_type) {
    case ElementType::kFloat:
      return Kind::kFloat;
    case ElementType::kDouble:
      return Kind::kDouble;
    case ElementType::kFloat16:
    case ElementType::kBfloat16:
      return Kind::kHalf;
    default:
      break;
  }
  if (format::IsIntegerStorage(type.elem_type) || type.elem_type == ElementType::kBool) {
    return Kind::kPlain;
  }
  if (format::IsSmallFloat(type.elem_type)) return Kind::kSmallFloat;
  return Error{ErrorCode::kInvalid, "",
               "type " + std::string(format::Name(type.elem_type)) +
                   " holds no numbers; expected a float, integer or quantized type"};
}

Result<Output> Output::Make(const Call& call, format::Dims dims, std::size_t i) {
  const OutputType& type = call.outputs[i];
  const std::string place = "output[" + std::to_string(i) + "]";
  const auto kind = KindOf(type);
  if (!kind.has_value()) return At(place, kind.error());
  QTX_RETURN_IF_ERROR(CheckComputable(dims));
  QTX_ASSIGN_OR_RETURN(format::Tensor tensor,
                       format::MakeTensor(type.elem_type, std::move(dims), type.quantization));
  if (type.quantization) {
    QTX_RETURN_IF_ERROR(CheckParameters(type.elem_type, *type.quantization, tensor.dims));
  }
  return Output(call, type, std::move(tensor), *kind);
}

Result<Output> Output::Of(const Call& call, std::size_t i) {
  QTX_ASSIGN_OR_RETURN(format::Dims dims, call.OutputDims(i));
  return Make(call, std::move(dims), i);
}

void Output::PutSpecial(std::int64_t element, double value) {
  const auto i = static_cast<std::size_t>(element);
  switch (kind_) {
    case Kind::kFloat:
      tensor_.As<float>()[i] = static_cast<float>(value);
      break;
    case Kind::kDouble:
      tensor_.As<double>()[i] = value;
      break;
    case Kind::kHalf:
      integers_[i] = HalfCode(tensor_.elem_type, value);
      break;
    case Kind::kSmallFloat:
      // A quantized type has no NaN (exact.S4); a float8 has.
      if (std::isnan(value) && format::IsQuantized(tensor_.elem_type)) value = offset(element);
      integers_[i] = SmallFloatCode(format::StorageOf(tensor_.elem_type), value, small_float_);
      break;
    case Kind::kPlain:
      PutPlainSpecial(element, value);
      break;
    default:
      if (std::isnan(value) && recipe_.nan == QuantizeRecipe::Nan::kOffset) {
        return PutRational(element, 0);  // exact.S4: as real zero
      }
      // A NaN is one of the ends: xnnpack.S1, onnxruntime.S6.
      PutStored(element,
                value < 0 || (std::isnan(value) && recipe_.nan == QuantizeRecipe::Nan::kMin)
                    ? min_
                    : max_);
  }
}

void Output::PutPlainSpecial(std::int64_t element, double value) {
  std::int64_t& stored = plain_[static_cast<std::size_t>(element)];
  if (tensor_.elem_type == ElementType::kBool) {
    stored = 1;  // NaN and infinities are not zero
  } else if (std::isnan(value)) {
    stored = 0;
  } else if (tensor_.elem_type == ElementType::kUint64) {
    stored = value < 0 ? 0 : -1;
  } else {
    const format::IntegerRange range = format::StorageRange(tensor_.elem_type);
    stored = value < 0 ? range.min : range.max;
  }
}

void Output::PutReal(std::int64_t element, const Real& real) {
  if (!real.finite) return PutSpecial(element, real.special);
  ++counters_->rounded;
  PutRational(element, real.value);
}

void Output::PutRational(std::int64_t element, const Rational& value) {
  const auto i = static_cast<std::size_t>(element);
  switch (kind_) {
    case Kind::kFloat:
      tensor_.As<float>()[i] = NearestFloat(value);
      return;
    case Kind::kDouble:
      tensor_.As<double>()[i] = NearestDouble(value);
      return;
    case Kind::kHalf:
      integers_[i] = HalfCode(tensor_.elem_type, OddDouble(value));
      return;
    case Kind::kPlain:
      plain_[i] = tensor_.elem_type == ElementType::kBool
                      ? value != 0
                      : Wrapped(tensor_.elem_type, LowBits(Round(value, TieRule::kTowardZero)));
      return;
    default:
      break;
  }
  const Rational quotient = value / Rational(static_cast<double>(scale(element)));
  if (kind_ == Kind::kInteger) {
    PutStored(element, QuantizedInteger(quotient, offset(element), exact_recipe_, min_, max_));
  } else if (kind_ == Kind::kBipolar) {
    // Only -1 and +1 exist: the nearer one, and +1 for real zero, which is as far from both.
    PutStored(element, quotient + offset(element) < 0 ? -1 : 1);
  } else {
    const double odd = OddDouble(quotient + offset(element));
    integers_[i] = SmallFloatCode(format::StorageOf(tensor_.elem_type), odd, small_float_);
  }
}

bool Output::PutHalfIfCertain(std::int64_t element, const Approximation& x) {
  const double reach = x.bound + std::abs(x.value) * 0x1p-51;  // and the sums' own roundings
  const std::int32_t low = HalfCode(tensor_.elem_type, x.value - reach);
  if (low != HalfCode(tensor_.elem_type, x.value + reach)) return false;
  ++counters_->rounded;
  integers_[static_cast<std::size_t>(element)] = low;
  return true;
}

bool Output::PutIfCertain(std::int64_t element, const Approximation& x) {
  if (kind_ == Kind::kFloat) {
    const auto value = CertainlyFloat(x);
    if (value) tensor_.As<float>()[static_cast<std::size_t>(element)] = *value;
    if (value) ++counters_->rounded;
    return value.has_value();
  }
  if (kind_ == Kind::kHalf) return PutHalfIfCertain(element, x);
  if (kind_ != Kind::kInteger || !IsToNearest(exact_recipe_.tie)) return false;
  const auto s = static_cast<double>(scale(element));
  const double value = x.value / s;
  // Two more roundings of relative 2^-53: of the value, and of the bound itself.
  const Approximation quotient{value, x.bound / s * (1 + 0x1p-50) + std::abs(value) * 0x1p-52};
  const std::int64_t zero = offset(element);
  // Away from ties every tie rule agrees, and the order of offset and rounding does not matter.
  const auto rounded = CertainlyRounded(quotient, min_ - zero, max_ - zero);
  if (!rounded) return false;
  ++counters_->rounded;
  PutStored(element, *rounded + zero);
  return true;
}

bool Output::PutBetween(std::int64_t element, const Rational& low, const Rational& high) {
  // Numbers that differ by a multiple of 2^n are equal once they have wrapped.
  if (kind_ == Kind::kPlain) {
    return Round(low, TieRule::kTowardZero) == Round(high, TieRule::kTowardZero);
  }
  const auto i = static_cast<std::size_t>(element);
  const auto put = [&](const Rational& value) {  // and look at what it became
    PutRational(element, value);
    if (kind_ == Kind::kFloat) return static_cast<double>(tensor_.As<float>()[i]);
    if (kind_ == Kind::kDouble) return tensor_.As<double>()[i];
    return static_cast<double>(integers_[i]);
  };
  return put(low) == put(high);
}

void Output::PutEnclosed(std::int64_t element, const Enclosure& enclose) {
  ++counters_->rounded;
  const Rational unit(tensor_.quantization ? static_cast<double>(scale(element)) : 1.0);
  PutRational(element,
              Decided(enclose, unit, [this, element](const Rational& low, const Rational& high) {
                return PutBetween(element, low, high);
              }));
}

void Output::PutInteger(std::int64_t element, __int128 value) {
  if (kind_ != Kind::kPlain) return PutReal(element, {true, 0, ToRational(value)});
  const ElementType type = tensor_.elem_type;
  plain_[static_cast<std::size_t>(element)] =
      type == ElementType::kBool ? value != 0 : Wrapped(type, static_cast<std::uint64_t>(value));
}

void Output::PutSame(std::int64_t element, std::int64_t other) {
  const auto to = static_cast<std::size_t>(element);
  const auto from = static_cast<std::size_t>(other);
  ++counters_->rounded;
  if (kind_ == Kind::kFloat) {
    tensor_.As<float>()[to] = tensor_.As<float>()[from];
  } else if (kind_ == Kind::kDouble) {
    tensor_.As<double>()[to] = tensor_.As<double>()[from];
  } else if (kind_ == Kind::kPlain) {
    plain_[to] = plain_[from];
  } else {
    integers_[to] = integers_[from];
  }
}

void Output::PutTerms(std::int64_t element, std::span<const Term> terms, std::int64_t divisor) {
  if (kind_ == Kind::kPlain && divisor == 1 &&
      std::ranges::all_of(terms, [](const Term& term) { return term.scale == 1; })) {
    __int128 sum = 0;
    for (const Term& term : terms) sum += term.integer;
    return PutInteger(element, sum);
  }
  ++counters_->rounded;
  if (kind_ == Kind::kInteger && IsToNearest(exact_recipe_.tie)) {
    const std::int64_t zero = offset(element);
    const auto rounded =
        CertainlyRounded(Quotient(terms, divisor, scale(element)), min_ - zero, max_ - zero);
    if (rounded) return PutStored(element, *rounded + zero);
  } else if (kind_ == Kind::kFloat) {
    if (const auto value = CertainlyFloat(Quotient(terms, divisor, 1.0F))) {
      tensor_.As<float>()[static_cast<std::size_t>(element)] = *value;
      return;
    }
  }
  ++counters_->exact_fallbacks;
  PutRational(element, ExactQuotient(terms, divisor, 1.0F));
}

void Output::PutFloat(std::int64_t element, float value) {
  if (kind_ == Kind::kFloat) {
    tensor_.As<float>()[static_cast<std::size_t>(element)] = value;
    return;
  }
  value = InRealType(real_type_, value);
  if (!std::isfinite(value)) return PutSpecial(element, static_cast<double>(value));
  if (kind_ == Kind::kHalf || is_plain()) {
    return PutRational(element, Rational(static_cast<double>(value)));
  }
  if (kind_ == Kind::kInteger && recipe_.value == QuantizeRecipe::Value::kFloat32) {
    return PutStored(element,
                     QuantizedFloat(value, scale(element), offset(element), recipe_, min_, max_));
  }
  if (recipe_.value == QuantizeRecipe::Value::kExact) {
    return PutReal(element, {true, 0, Rational(static_cast<double>(value))});
  }
  const float quotient = value / scale(element) + static_cast<float>(offset(element));
  if (kind_ == Kind::kBipolar) return PutStored(element, quotient < 0 ? -1 : 1);
  integers_[static_cast<std::size_t>(element)] = SmallFloatCode(
      format::StorageOf(tensor_.elem_type), static_cast<double>(quotient), small_float_);
}

format::Tensor Output::Take() {
  if (kind_ == Kind::kInteger || kind_ == Kind::kBipolar) {
    format::PackInt32(integers_, tensor_);
  } else if (kind_ == Kind::kPlain) {
    format::PackIntegers(plain_, tensor_);
  } else if (kind_ == Kind::kSmallFloat || kind_ == Kind::kHalf) {
    // Codes are unsigned and as wide as the storage: pack them as integers of that width.
    const int bits = format::BitWidth(tensor_.elem_type);
    format::Tensor codes;
    codes.elem_type = bits == 16  ? ElementType::kUint16
                      : bits == 4 ? ElementType::kUint4
                                  : ElementType::kUint8;
    codes.dims = tensor_.dims;
    codes.bytes = std::move(tensor_.bytes);
    format::PackInt32(integers_, codes);
    tensor_.bytes = std::move(codes.bytes);
  }
  return std::move(tensor_);
}

}  // namespace qtx::reference
