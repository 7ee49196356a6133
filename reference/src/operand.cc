#include "operand.h"

#include <algorithm>
#include <limits>

#include "arithmetic/small_float.h"
#include "qtx/format/levels.h"

namespace qtx::reference {
namespace {

const format::Quantization& ParametersOf(const format::Tensor& tensor) {
  static const format::Quantization kNone;
  return tensor.quantization ? *tensor.quantization : kNone;
}

}  // namespace

Operand::Operand(const format::Tensor& tensor)
    : tensor_(&tensor),
      map_(ParametersOf(tensor), tensor.dims),
      scales_(ParametersOf(tensor).scale),
      offsets_(ParametersOf(tensor).offset),
      real_type_(format::RealTypeOf(ParametersOf(tensor))) {
  const format::Quantization& q = ParametersOf(tensor);
  if (format::HasBase(q)) bases_ = q.base_levels[0].value;
  book_ = q.code_book;
  integer_form_ = format::HasIntegerForm(q);
  if (!q.axis.empty()) {
    const auto last = static_cast<std::size_t>(std::ranges::max_element(q.axis) - q.axis.begin());
    const auto axis = static_cast<std::size_t>(q.axis[last]);
    stride_ = format::RowMajorStrides(tensor.dims)[axis];
    dim_ = std::max<std::int64_t>(tensor.dims[axis], 1);
    block_ = q.block_shape.empty() ? 1 : q.block_shape[last];
  }
}

// Coordinates of the axes before change where that of the last one begins anew.
Operand::Run Operand::RunOf(std::int64_t i) const {
  const std::int64_t coordinate = i / stride_ % dim_;
  const std::int64_t first = i - i % stride_ - coordinate % block_ * stride_;
  const std::int64_t length = std::min(block_, dim_ - coordinate / block_ * block_);
  return {first, first + length * stride_, static_cast<std::size_t>(map_(i))};
}

Result<Operand> Operand::Make(const format::Tensor& tensor) {
  using format::ElementType;
  const ElementType storage = format::StorageOf(tensor.elem_type);
  Operand operand(tensor);
  if (format::IsIntegerStorage(storage) || storage == ElementType::kBool) {
    if (format::BitWidth(storage) <= 32 && storage != ElementType::kUint32) {
      operand.kind_ = Kind::kInteger;
      operand.integers_ = format::UnpackInt32(tensor);
      return operand;
    }
    operand.kind_ = Kind::kWide;
    operand.wide_ = format::UnpackIntegers(tensor);
    const auto negative = [](std::int64_t value) { return value < 0; };
    if (storage == ElementType::kUint64 && std::ranges::any_of(operand.wide_, negative)) {
      return Error{ErrorCode::kUnsupported, "", "a UINT64 of 2^63 or more"};
    }
    return operand;
  }
  const bool real = storage == ElementType::kFloat || storage == ElementType::kFloat16 ||
                    storage == ElementType::kBfloat16 || storage == ElementType::kDouble ||
                    format::IsSmallFloat(storage);
  if (!real) {
    return Error{ErrorCode::kInvalid, "",
                 "elements of type " + std::string(format::Name(tensor.elem_type)) +
                     " cannot be computed with"};
  }
  const auto nonzero = [](std::int32_t offset) { return offset != 0; };
  if (std::ranges::any_of(operand.offsets_, nonzero)) {
    return Error{ErrorCode::kUnsupported, "", "a scaled float with an offset other than 0"};
  }
  operand.values_ = format::StoredValues(tensor);
  return operand;
}

std::int32_t Operand::code(std::int64_t i) const {
  const int width = format::BitWidth(tensor_->elem_type);
  const std::int64_t bit = i * width;
  const auto byte =
      std::to_integer<std::int32_t>(tensor_->bytes[static_cast<std::size_t>(bit / 8)]);
  return (byte >> (bit % 8)) % (1 << width);
}

Dyadic Operand::exact(std::int64_t i) const {
  if (is_wide()) {
    const std::int64_t value = integer(i);
    if (value == std::numeric_limits<std::int64_t>::min()) return {-1, 63};  // can be negated
    return {value, 0};
  }
  if (is_integer()) return Scaled(scale(i), integer(i));
  if (kind_ == Kind::kInteger) {
    const bool based = !bases_.empty() && base(i) != 0;
    if (!based && book_.empty()) return Scaled(scale(i), Steps(i));
    // A product with a value of the code book has at most 48 bits, and what else is a binary64 say
    // quantization.C18 and C21.
    const double steps =
        book_.empty() ? static_cast<double>(Steps(i)) : static_cast<double>(Binary32Steps(i));
    const double product = static_cast<double>(scale(i)) * steps;
    return ToDyadic(based ? product + static_cast<double>(base(i)) : product);
  }
  Dyadic value = ToDyadic(values_[static_cast<std::size_t>(i)]);
  if (scales_.empty()) return value;
  // A small float has at most 11 bits and the scale 24: the mantissas' product is exact.
  const Dyadic factor = ToDyadic(static_cast<double>(scale(i)));
  if (value.kind == Dyadic::Kind::kInfinite && factor.mantissa == 0) {
    return {.kind = Dyadic::Kind::kNan};
  }
  return {value.mantissa * factor.mantissa, value.exponent + factor.exponent, value.kind};
}

float Operand::binary32(std::int64_t i) const {
  if (is_wide()) return static_cast<float>(integer(i));
  const float steps = kind_ == Kind::kInteger
                          ? Binary32Steps(i)
                          : static_cast<float>(values_[static_cast<std::size_t>(i)]);
  const float product = InRealType(real_type_, steps * scale(i));
  return bases_.empty() ? product : InRealType(real_type_, product + base(i));
}

}  // namespace qtx::reference
