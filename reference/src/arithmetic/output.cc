#include "arithmetic/output.h"

#include <cmath>

#include "arithmetic/round.h"
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

}  // namespace

Output::Output(const Call& call, format::Tensor tensor, Kind kind)
    : tensor_(std::move(tensor)),
      kind_(kind),
      recipe_(call.arithmetic.quantize),
      exact_recipe_(recipe_.value == QuantizeRecipe::Value::kExact ? recipe_ : QuantizeRecipe{}),
      counters_(call.counters),
      map_(ParametersOf(tensor_), tensor_.dims),
      scales_(ParametersOf(tensor_).scale),
      offsets_(ParametersOf(tensor_).offset) {
  if (kind_ == Kind::kFloat) return;
  integers_.resize(static_cast<std::size_t>(format::ElementCount(tensor_)));
  if (kind_ == Kind::kSmallFloat) return;
  const format::IntegerRange range = format::StoredRange(tensor_.elem_type, ParametersOf(tensor_));
  min_ = range.min;
  max_ = range.max;
}

Result<Output> Output::Make(const Call& call, format::Dims dims, std::size_t i) {
  const OutputType& type = call.outputs[i];
  QTX_RETURN_IF_ERROR(CheckComputable(dims));
  QTX_ASSIGN_OR_RETURN(format::Tensor tensor,
                       format::MakeTensor(type.elem_type, std::move(dims), type.quantization));
  if (type.elem_type == ElementType::kFloat) return Output(call, std::move(tensor), Kind::kFloat);
  if (!type.quantization) {
    return Error{ErrorCode::kInvalid, "output[" + std::to_string(i) + "]",
                 "type " + std::string(format::Name(type.elem_type)) +
                     " holds no reals; expected FLOAT or a quantized type"};
  }
  QTX_RETURN_IF_ERROR(CheckParameters(type.elem_type, *type.quantization, tensor.dims));
  const ElementType storage = format::StorageOf(type.elem_type);
  const Kind kind = storage == ElementType::kBipolar1 ? Kind::kBipolar
                    : format::IsSmallFloat(storage)   ? Kind::kSmallFloat
                                                      : Kind::kInteger;
  return Output(call, std::move(tensor), kind);
}

void Output::PutSpecial(std::int64_t element, double value) {
  const auto i = static_cast<std::size_t>(element);
  if (kind_ == Kind::kFloat) {
    tensor_.As<float>()[i] = static_cast<float>(value);
  } else if (kind_ == Kind::kSmallFloat) {
    const ElementType storage = format::StorageOf(tensor_.elem_type);
    integers_[i] = static_cast<std::int32_t>(
        format::EncodeSmallFloat(storage, std::isnan(value) ? offset(element) : value));
  } else if (std::isnan(value)) {
    PutRational(element, 0);  // exact.S4: as real zero
  } else {
    PutStored(element, value < 0 ? min_ : max_);
  }
}

void Output::PutReal(std::int64_t element, const Real& real) {
  if (!real.finite) return PutSpecial(element, real.special);
  ++counters_->rounded;
  PutRational(element, real.value);
}

void Output::PutRational(std::int64_t element, const Rational& value) {
  const auto i = static_cast<std::size_t>(element);
  if (kind_ == Kind::kFloat) {
    tensor_.As<float>()[i] = NearestFloat(value);
    return;
  }
  const Rational quotient = value / Rational(static_cast<double>(scale(element)));
  if (kind_ == Kind::kInteger) {
    PutStored(element, QuantizedInteger(quotient, offset(element), exact_recipe_, min_, max_));
  } else if (kind_ == Kind::kBipolar) {
    // Only -1 and +1 exist: the nearer one, and +1 for real zero, which is as far from both.
    integers_[i] = quotient + offset(element) < 0 ? -1 : 1;
  } else {
    const ElementType storage = format::StorageOf(tensor_.elem_type);
    const double odd = OddDouble(quotient + offset(element));
    integers_[i] = static_cast<std::int32_t>(format::EncodeSmallFloat(storage, odd));
  }
}

bool Output::PutIfCertain(std::int64_t element, const Approximation& x) {
  if (kind_ == Kind::kFloat) {
    const auto value = CertainlyFloat(x);
    if (value) tensor_.As<float>()[static_cast<std::size_t>(element)] = *value;
    if (value) ++counters_->rounded;
    return value.has_value();
  }
  if (kind_ != Kind::kInteger || exact_recipe_.tie == TieRule::kTowardZero) return false;
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
  const auto i = static_cast<std::size_t>(element);
  PutRational(element, low);
  if (kind_ == Kind::kFloat) {
    const float rounded = tensor_.As<float>()[i];
    PutRational(element, high);
    return rounded == tensor_.As<float>()[i];
  }
  const std::int32_t rounded = integers_[i];
  PutRational(element, high);
  return rounded == integers_[i];
}

void Output::PutTerms(std::int64_t element, std::span<const Term> terms, std::int64_t divisor) {
  ++counters_->rounded;
  if (kind_ == Kind::kInteger && exact_recipe_.tie != TieRule::kTowardZero) {
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
  if (!std::isfinite(value)) return PutSpecial(element, static_cast<double>(value));
  if (kind_ == Kind::kInteger && recipe_.value == QuantizeRecipe::Value::kFloat32) {
    return PutStored(element,
                     QuantizedFloat(value, scale(element), offset(element), recipe_, min_, max_));
  }
  if (recipe_.value == QuantizeRecipe::Value::kExact) {
    return PutReal(element, {true, 0, Rational(static_cast<double>(value))});
  }
  const float quotient = value / scale(element) + static_cast<float>(offset(element));
  const auto i = static_cast<std::size_t>(element);
  if (kind_ == Kind::kBipolar) {
    integers_[i] = quotient < 0 ? -1 : 1;
  } else {
    const ElementType storage = format::StorageOf(tensor_.elem_type);
    integers_[i] =
        static_cast<std::int32_t>(format::EncodeSmallFloat(storage, static_cast<double>(quotient)));
  }
}

format::Tensor Output::Take() {
  if (kind_ == Kind::kInteger || kind_ == Kind::kBipolar) {
    format::PackInt32(integers_, tensor_);
  } else if (kind_ == Kind::kSmallFloat) {
    // Codes are unsigned and as wide as the storage: pack them as integers of that width.
    const int bits = format::BitWidth(tensor_.elem_type);
    format::Tensor codes;
    codes.elem_type = bits == 4 ? ElementType::kUint4 : ElementType::kUint8;
    codes.dims = tensor_.dims;
    codes.bytes = std::move(tensor_.bytes);
    format::PackInt32(integers_, codes);
    tensor_.bytes = std::move(codes.bytes);
  }
  return std::move(tensor_);
}

}  // namespace qtx::reference
