#include "formula/operand.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "qtx/format/levels.h"

namespace qtx::spec {
namespace {

using format::ElementType;

bool HoldsIntegers(ElementType type) {
  return type == ElementType::kBool || type == ElementType::kInt64 ||
         type == ElementType::kUint64 || format::IsIntegerStorage(type);
}

std::vector<double> Floats(const format::Tensor& tensor) {
  if (tensor.elem_type != ElementType::kDouble) return format::StoredValues(tensor);
  const auto values = tensor.As<double>();
  return {values.begin(), values.end()};
}

Number FromDouble(double value) {
  if (std::isnan(value)) return Nan{};
  if (std::isinf(value)) return Infinity{value < 0 ? -1 : 1};
  return mpq_class(value);
}

mpz_class ToInteger(std::int64_t value) {
  static_assert(sizeof(long) == sizeof(std::int64_t));
  return {static_cast<long>(value)};
}

struct PlainInteger {
  ElementType type;
  mp_bitcnt_t bits;
  bool is_signed;
};
constexpr std::array kPlainIntegers = {
    PlainInteger{ElementType::kUint8, 8, false},   PlainInteger{ElementType::kInt8, 8, true},
    PlainInteger{ElementType::kUint16, 16, false}, PlainInteger{ElementType::kInt16, 16, true},
    PlainInteger{ElementType::kInt32, 32, true},   PlainInteger{ElementType::kInt64, 64, true},
    PlainInteger{ElementType::kUint32, 32, false}, PlainInteger{ElementType::kUint64, 64, false},
};

// exact.S10: no fraction, modulo 2^bits; NaN gives 0, an infinity the end of the range.
Number MapToInteger(const Number& real, const PlainInteger& type, Precision& precision) {
  if (IsNan(real)) return mpq_class(0);
  const mpz_class span = TwoTo(static_cast<long>(type.bits)).get_num();
  const mpz_class low = type.is_signed ? mpz_class(-span / 2) : mpz_class(0);
  const Number whole = Round(real, Rounding::kTowardZero, precision);
  if (const auto* infinity = std::get_if<Infinity>(&whole)) {
    return mpq_class(infinity->sign < 0 ? low : mpz_class(low + span - 1));
  }
  if (AsRational(whole) == nullptr) precision.undecided = true;
  if (precision.undecided) return Nan{};
  mpz_class rest = std::get<mpq_class>(whole).get_num() - low;
  mpz_fdiv_r_2exp(rest.get_mpz_t(), rest.get_mpz_t(), type.bits);
  return mpq_class(rest + low);
}

// exact.S1, exact.S3, exact.S4.
Number MapToStored(const Number& real, const Operand& output, std::int64_t element,
                   Precision& precision) {
  const std::int64_t parameter = output.Parameter(element);
  const mpz_class offset = output.Offset(parameter);
  mpz_class stored = offset;
  if (!IsNan(real)) {
    const Number quotient = *Divide(real, output.Scale(parameter), precision);
    const Number steps = Round(quotient, Rounding::kHalfEven, precision);
    if (precision.undecided) return Nan{};
    if (AsRational(steps) == nullptr) {  // infinite, or beyond every range
      return mpq_class(SignOf(steps, precision) < 0 ? output.Least() : output.Greatest());
    }
    stored += std::get<mpq_class>(steps).get_num();
  }
  return mpq_class(std::clamp(stored, output.Least(), output.Greatest()));
}

}  // namespace

Operand::Operand(std::string name, const format::Tensor& tensor)
    : name_(std::move(name)),
      type_(tensor.elem_type),
      dims_(tensor.dims),
      quantization_(tensor.quantization),
      size_(format::ElementCount(tensor)) {
  if (HoldsIntegers(type_)) {
    integers_ = format::UnpackIntegers(tensor);
  } else {
    floats_ = Floats(tensor);
  }
}

std::int64_t Operand::parameters() const {
  return quantization_ ? std::ssize(quantization_->scale) : 0;
}

std::optional<std::int64_t> Operand::At(std::span<const std::int64_t> coordinates) const {
  if (coordinates.size() != dims_.size()) return std::nullopt;
  std::int64_t element = 0;
  for (std::size_t i = 0; i < dims_.size(); ++i) {
    if (coordinates[i] < 0 || coordinates[i] >= dims_[i]) return std::nullopt;
    element = element * dims_[i] + coordinates[i];
  }
  return element;
}

std::optional<std::int64_t> Operand::Broadcast(std::span<const std::int64_t> coordinates) const {
  if (coordinates.size() < dims_.size()) return std::nullopt;
  const auto aligned = coordinates.last(dims_.size());
  std::int64_t element = 0;
  for (std::size_t i = 0; i < dims_.size(); ++i) {
    if (dims_[i] != 1 && aligned[i] >= dims_[i]) return std::nullopt;
    element = element * dims_[i] + (dims_[i] == 1 ? 0 : aligned[i]);
  }
  return element;
}

Number Operand::Stored(std::int64_t element) const {
  const auto i = static_cast<std::size_t>(element);
  if (!floats_.empty()) return FromDouble(floats_[i]);
  mpz_class value = ToInteger(integers_[i]);
  if (type_ == ElementType::kUint64 && value < 0) value += TwoTo(64).get_num();
  return mpq_class(value);
}

Number Operand::Real(std::int64_t element) const {
  Number stored = Stored(element);
  const auto* finite = AsRational(stored);
  if (!quantization_ || finite == nullptr) return stored;  // a float8 has NaN
  const std::int64_t parameter = Parameter(element);
  const mpq_class real = (*finite - Offset(parameter)) * Scale(parameter);
  if (!format::HasBase(*quantization_)) return real;
  return mpq_class(real + static_cast<double>(format::BaseAt(*quantization_, parameter)));
}

std::int64_t Operand::Parameter(std::int64_t element) const {
  const format::Quantization& q = *quantization_;
  if (q.axis.empty()) return 0;
  format::Dims coordinates(dims_.size());
  for (std::size_t i = dims_.size(); i-- > 0;) {
    coordinates[i] = element % dims_[i];
    element /= dims_[i];
  }
  std::int64_t parameter = 0;
  for (std::size_t i = 0; i < q.axis.size(); ++i) {
    const auto axis = static_cast<std::size_t>(q.axis[i]);
    const std::int64_t block = q.block_shape.empty() ? 1 : q.block_shape[i];
    const std::int64_t blocks = (dims_[axis] + block - 1) / block;
    parameter = parameter * blocks + coordinates[axis] / block;
  }
  return parameter;
}

mpq_class Operand::Scale(std::int64_t parameter) const {
  const auto& scale = quantization_->scale;
  return {scale[scale.size() == 1 ? 0 : static_cast<std::size_t>(parameter)]};
}

mpz_class Operand::Offset(std::int64_t parameter) const {
  const auto& offset = quantization_->offset;
  if (offset.empty()) return 0;
  return {offset[offset.size() == 1 ? 0 : static_cast<std::size_t>(parameter)]};
}

mpz_class Operand::Least() const {
  const bool narrow = quantization_ && quantization_->quant_min;
  return ToInteger(narrow ? *quantization_->quant_min : format::StorageRange(type_).min);
}

mpz_class Operand::Greatest() const {
  const bool narrow = quantization_ && quantization_->quant_max;
  return ToInteger(narrow ? *quantization_->quant_max : format::StorageRange(type_).max);
}

Result<Number> MapToType(const Number& real, const Operand& output, std::int64_t element,
                         Precision& precision) {
  const ElementType type = output.type();
  const bool quantized_integer =
      output.is_quantized() && format::IsIntegerStorage(type) && type != ElementType::kBipolar1Q;
  if (quantized_integer) return MapToStored(real, output, element, precision);
  constexpr std::array kFloats = {ElementType::kFloat16, ElementType::kBfloat16,
                                  ElementType::kFloat, ElementType::kDouble};
  if (const auto* format = std::ranges::find(kFloats, type); format != kFloats.end()) {
    return RoundTo(kFloatFormats[format - kFloats.begin()], real, precision);
  }
  if (type == ElementType::kBool) {
    if (IsNan(real)) return Number(mpq_class(0));
    return Number(mpq_class(std::abs(SignOf(real, precision))));
  }
  const auto plain = std::ranges::find(kPlainIntegers, type, &PlainInteger::type);
  if (plain != kPlainIntegers.end()) return MapToInteger(real, *plain, precision);
  return Error{ErrorCode::kUnsupported, "",
               "formulas do not map reals to " + std::string(format::Name(type)) + "; define " +
                   output.name() + "_stored"};
}

}  // namespace qtx::spec
