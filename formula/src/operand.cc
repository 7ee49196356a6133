#include "operand.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "qtx/format/catalogue.h"
#include "qtx/format/levels.h"

namespace qtx::formula {
namespace {

using format::ElementType;

bool HoldsIntegers(ElementType type) {
  return type == ElementType::kBool || format::IsIntegerStorage(type);
}

bool HoldsFloats(ElementType type) {
  return type == ElementType::kFloat || type == ElementType::kDouble ||
         type == ElementType::kFloat16 || type == ElementType::kBfloat16 ||
         type == ElementType::kFloat8E8M0 || format::IsSmallFloat(type);
}

std::vector<double> Floats(const format::Tensor& tensor) {
  if (tensor.elem_type != ElementType::kDouble) return format::StoredValues(tensor);
  const auto values = tensor.As<double>();
  return {values.begin(), values.end()};
}

double ToDouble(const Number& number) {
  if (const auto* infinity = std::get_if<Infinity>(&number)) {
    return infinity->sign * std::numeric_limits<double>::infinity();
  }
  const auto* rational = AsRational(number);
  return rational == nullptr ? std::numeric_limits<double>::quiet_NaN() : rational->get_d();
}

Error NotInType(const std::string& found, std::string_view type) {
  return Error{ErrorCode::kInvalid, "",
               "found " + found + ", expected a value of " + std::string(type)};
}
Error NotInType(const std::string& found, ElementType type) {
  return NotInType(found, format::Name(type));
}

// The code that stands for `value`, which the type has. EncodeSmallFloat gives no infinity.
std::uint32_t CodeOf(ElementType type, double value) {
  if (!std::isinf(value)) return format::EncodeSmallFloat(type, value);
  const std::uint32_t codes = std::uint32_t{1} << static_cast<unsigned>(format::BitWidth(type));
  std::uint32_t code = 0;
  while (code + 1 < codes && format::DecodeSmallFloat(type, code) != value) ++code;
  return code;
}

// Packed from the lowest bit of each byte.
void PackCode(std::size_t i, std::uint32_t code, format::Tensor& tensor) {
  const auto bits = static_cast<unsigned>(format::BitWidth(tensor.elem_type));
  for (unsigned bit = 0; bit < bits; ++bit) {
    const std::size_t at = i * bits + bit;
    tensor.bytes[at / 8] |= static_cast<std::byte>(((code >> bit) & 1U) << (at % 8));
  }
}

std::int64_t SizeOf(const format::Dims& dims) {
  std::int64_t size = 1;
  for (const std::int64_t dim : dims) size *= dim;
  return size;
}

}  // namespace

Value FromDouble(double value) {
  if (std::isnan(value)) return Number(Nan{});
  if (std::isinf(value)) return Number(Infinity{value < 0 ? -1 : 1});
  return mpq_class(value);
}

static std::vector<Value> ScalesOf(const std::optional<format::Quantization>& quantization) {
  std::vector<Value> scales;
  if (!quantization) return scales;
  for (const float scale : quantization->scale) scales.push_back(FromDouble(scale));
  return scales;
}

Operand::Operand(std::string name, const format::Tensor& tensor, const ElementTable* table)
    : name_(std::move(name)),
      type_(tensor.elem_type),
      table_(table),
      dims_(tensor.dims),
      // An annotation is a remark.
      quantization_(format::IsQuantized(tensor.elem_type) ? tensor.quantization : std::nullopt),
      has_dims_(true),
      size_(format::ElementCount(tensor)),
      has_elements_(true) {
  if (HoldsIntegers(type_)) {
    integers_ = format::UnpackIntegers(tensor);
    has_slots_ = format::BitWidth(type_) <= kMostSlotBits && (!quantization_ || per_tensor());
  } else if (HoldsFloats(type_)) {
    floats_ = Floats(tensor);
  }
  scales_ = ScalesOf(quantization_);
}

Operand::Operand(std::string name, ElementType type, std::optional<format::Quantization> q,
                 const ElementTable* table)
    : name_(std::move(name)), type_(type), table_(table), quantization_(std::move(q)) {
  scales_ = ScalesOf(quantization_);
}

void Operand::set_dims(format::Dims dims) {
  dims_ = std::move(dims);
  has_dims_ = true;
  size_ = SizeOf(dims_);
}

std::int64_t Operand::parameters() const {
  return quantization_ ? std::ssize(quantization_->scale) : 0;
}

std::int64_t Operand::scale_levels() const {
  if (!quantization_) return 0;
  return factors_ == nullptr ? 1 : factors_->scale_levels;
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

std::int64_t Operand::Code(std::int64_t element) const {
  const auto i = static_cast<std::size_t>(element);
  return HoldsIntegers(type_) ? integers_[i] : std::bit_cast<std::int64_t>(floats_[i]);
}

Value Operand::Stored(std::int64_t element) const {
  const auto i = static_cast<std::size_t>(element);
  Value value;
  if (table_ != nullptr) {
    value = FromDouble(table_->values[static_cast<std::size_t>(integers_[i])]);
  } else if (!HoldsIntegers(type_)) {
    value = FromDouble(floats_[i]);
  } else if (type_ == ElementType::kUint64 && integers_[i] < 0) {
    value = mpq_class(mpq_class(static_cast<long>(integers_[i])) + TwoTo(64));
  } else {
    value = integers_[i];
  }
  value.of_element = format::kRealTypes.Has(type_);
  return value;
}

Value Operand::Unscaled(std::int64_t element) const {
  if (!quantization_ || quantization_->code_book.empty()) return Stored(element);
  const auto code = static_cast<std::size_t>(integers_[static_cast<std::size_t>(element)]);
  Value value = FromDouble(static_cast<double>(quantization_->code_book[code]));
  value.of_element = true;
  return value;
}

Value Operand::Real(std::int64_t element) const {
  Value stored = Unscaled(element);
  const Number number = ToNumber(stored);
  const auto* finite = AsRational(number);
  if (!quantization_ || finite == nullptr) return stored;  // a float8 has NaN
  const std::int64_t parameter = Parameter(element);
  const auto* scale = AsRational(*Scale(parameter).number());
  if (scale == nullptr) return Number(Nan{});  // no scale of a checked model
  const mpq_class real = (*finite - static_cast<long>(Offset(parameter))) * *scale;
  Value value(mpq_class(real + Base(parameter)));
  value.of_element = format::kRealTypes.Has(type_);
  return value;
}

bool Operand::IsNegative(std::int64_t element) const {
  const auto i = static_cast<std::size_t>(element);
  if (!HoldsIntegers(type_)) {
    const bool turned =
        quantization_ && std::signbit(format::ScaleAt(*quantization_, Parameter(element)));
    return std::signbit(floats_[i]) != turned;
  }
  if (!quantization_) return integers_[i] < 0 && type_ != ElementType::kUint64;
  const std::int64_t parameter = Parameter(element);
  const format::Quantization& q = *quantization_;
  const float steps = q.code_book.empty() ? static_cast<float>(integers_[i] - Offset(parameter))
                                          : q.code_book[static_cast<std::size_t>(integers_[i])];
  const float product = steps * format::ScaleAt(q, parameter);
  return std::signbit(format::HasBase(q) ? product + format::BaseAt(q, parameter) : product);
}

std::int64_t Operand::Parameter(std::int64_t element) const {
  const format::Quantization& q = *quantization_;
  if (q.axis.empty()) return 0;
  const format::Dims coordinates = CoordinatesOf(element, dims_);
  std::int64_t parameter = 0;
  for (std::size_t i = 0; i < q.axis.size(); ++i) {
    const auto axis = static_cast<std::size_t>(q.axis[i]);
    const std::int64_t block = q.block_shape.empty() ? 1 : q.block_shape[i];
    const std::int64_t blocks = (dims_[axis] + block - 1) / block;
    parameter = parameter * blocks + coordinates[axis] / block;
  }
  return parameter;
}

const Value& Operand::Scale(std::int64_t parameter) const {
  return scales_[scales_.size() == 1 ? 0 : static_cast<std::size_t>(parameter)];
}

mpq_class Operand::Base(std::int64_t parameter) const {
  if (!format::HasBase(*quantization_)) return 0;
  return {static_cast<double>(format::BaseAt(*quantization_, parameter))};
}

static Value FactorAt(const std::vector<float>& factors, std::int64_t parameter) {
  const std::size_t at = factors.size() == 1 ? 0 : static_cast<std::size_t>(parameter);
  return FromDouble(static_cast<double>(factors[at]));
}

Value Operand::FineScale(std::int64_t parameter) const {
  return factors_ == nullptr ? Scale(parameter) : FactorAt(factors_->fine_scale, parameter);
}

Value Operand::CoarseScale(std::int64_t parameter) const {
  return factors_ == nullptr ? Value(mpq_class(1)) : FactorAt(factors_->coarse_scale, parameter);
}

Value Operand::FineBase(std::int64_t parameter) const {
  return factors_ == nullptr ? Value(Base(parameter)) : FactorAt(factors_->fine_base, parameter);
}

Value Operand::CoarseBase(std::int64_t parameter) const {
  return factors_ == nullptr ? Value(mpq_class(1)) : FactorAt(factors_->coarse_base, parameter);
}

std::int64_t Operand::Offset(std::int64_t parameter) const {
  const auto& offset = quantization_->offset;
  if (offset.empty()) return 0;
  return offset[offset.size() == 1 ? 0 : static_cast<std::size_t>(parameter)];
}

std::int64_t Operand::Least() const {
  const bool narrow = quantization_ && quantization_->quant_min;
  return narrow ? *quantization_->quant_min : format::StorageRange(type_).min;
}

std::int64_t Operand::Greatest() const {
  const bool narrow = quantization_ && quantization_->quant_max;
  return narrow ? *quantization_->quant_max : format::StorageRange(type_).max;
}

format::Dims CoordinatesOf(std::int64_t element, std::span<const std::int64_t> dims) {
  format::Dims coordinates(dims.size());
  for (std::size_t i = dims.size(); i-- > 0;) {
    coordinates[i] = element % dims[i];
    element /= dims[i];
  }
  return coordinates;
}

Result<TensorWriter> TensorWriter::Make(const Operand& output) {
  QTX_ASSIGN_OR_RETURN(format::Tensor tensor,
                       format::MakeTensor(output.type(), output.dims(), output.quantization()));
  if (!HoldsIntegers(output.type()) && !HoldsFloats(output.type())) {
    return Error{ErrorCode::kUnsupported, "",
                 "the text computes no " + std::string(format::Name(output.type()))};
  }
  return TensorWriter(std::move(tensor), output.table());
}

Result<void> TensorWriter::Add(const Value& stored) {
  if (const auto* condition = stored.condition()) {
    return Add(Value(std::int64_t{*condition}));
  }
  if (!stored.is_number()) return NotInType(KindOf(stored), tensor_.elem_type);
  if (table_ != nullptr) return AddCode(stored);
  return HoldsIntegers(tensor_.elem_type) ? AddInteger(stored) : AddFloat(ToNumber(stored));
}

// The least code of the value.
Result<void> TensorWriter::AddCode(const Value& stored) {
  const Number number = ToNumber(stored);
  const auto* rational = AsRational(number);
  const double value = ToDouble(number);
  for (std::size_t code = 0; code < table_->values.size(); ++code) {
    const double one = table_->values[code];
    const bool same = rational != nullptr ? std::isfinite(one) && *rational == one
                                          : one == value || (std::isnan(one) && IsNan(number));
    if (!same || std::holds_alternative<Interval>(number)) continue;
    integers_.push_back(static_cast<std::int64_t>(code));
    return {};
  }
  return NotInType(ToText(number), table_->name);
}

Result<void> TensorWriter::AddInteger(const Value& stored) {
  const ElementType type = tensor_.elem_type;
  const Number number = ToNumber(stored);
  if (type == ElementType::kUint64) {
    const auto* rational = AsRational(number);
    if (rational != nullptr && rational->get_den() == 1 && *rational >= 0 &&
        *rational < TwoTo(64)) {
      integers_.push_back(static_cast<std::int64_t>(rational->get_num().get_ui()));
      return {};
    }
    return NotInType(ToText(number), type);
  }
  const auto integer = AsInteger(stored);
  const format::IntegerRange range = format::StorageRange(type);
  const bool bipolar_zero = format::StorageOf(type) == ElementType::kBipolar1 && integer == 0;
  if (!integer || *integer < range.min || *integer > range.max || bipolar_zero) {
    return NotInType(ToText(number), type);
  }
  integers_.push_back(*integer);
  return {};
}

Result<void> TensorWriter::AddFloat(const Number& stored) {
  const ElementType type = format::StorageOf(tensor_.elem_type);
  const double value = ToDouble(stored);
  double written = value;
  if (type == ElementType::kFloat) {
    written = static_cast<double>(static_cast<float>(value));
  } else if (type != ElementType::kDouble) {
    written = format::DecodeSmallFloat(type, CodeOf(type, value));
  }
  const auto* rational = AsRational(stored);
  const bool same = rational != nullptr ? std::isfinite(written) && mpq_class(written) == *rational
                                        : written == value || std::isnan(value);
  const bool undecided = std::holds_alternative<Interval>(stored);
  if (!same || undecided || std::isnan(written) != std::isnan(value)) {
    return NotInType(ToText(stored), type);
  }
  floats_.push_back(value);
  return {};
}

format::Tensor TensorWriter::Finish() && {
  const ElementType type = format::StorageOf(tensor_.elem_type);
  if (HoldsIntegers(type)) {
    format::PackIntegers(integers_, tensor_);
  } else if (type == ElementType::kFloat) {
    const std::vector<float> floats(floats_.begin(), floats_.end());
    if (!floats.empty()) std::memcpy(tensor_.bytes.data(), floats.data(), tensor_.bytes.size());
  } else if (type == ElementType::kDouble) {
    if (!floats_.empty()) std::memcpy(tensor_.bytes.data(), floats_.data(), tensor_.bytes.size());
  } else {
    for (std::size_t i = 0; i < floats_.size(); ++i) {
      PackCode(i, CodeOf(type, floats_[i]), tensor_);
    }
  }
  return std::move(tensor_);
}

}  // namespace qtx::formula
