// What Relu, Clip, Cast and Identity do, and the conversion data movements begin with.
#include "engine/ops/conversion.h"

#include <algorithm>
#include <utility>

#include "engine/ops/reals.h"

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

// Equal stored values mean equal reals, and none needs clamping.
bool SameType(const Tensor& from, const Tensor& to) {
  if (from.elem_type != to.elem_type) return false;
  if (!format::IsQuantized(from.elem_type)) return true;
  const format::Quantization& a = *from.quantization;
  const format::Quantization& b = *to.quantization;
  const bool unclamped = !format::IsIntegerStorage(to.elem_type) ||
                         format::StoredRange(to.elem_type, b) == format::StorageRange(to.elem_type);
  return a.scale == b.scale && a.offset == b.offset && a.axis == b.axis &&
         a.block_shape == b.block_shape && unclamped;
}

Term Bounded(Term value, const RealBounds& bounds) {
  if (bounds.low.has_value() && Less(value, *bounds.low)) value = *bounds.low;
  if (bounds.high.has_value() && Less(*bounds.high, value)) value = *bounds.high;
  return value;
}

std::int64_t Quantize(const Term& real, double scale, std::int32_t offset,
                      format::IntegerRange stored) {
  const std::array<Term, 1> terms{real};
  const format::IntegerRange rounded{stored.min - offset, stored.max - offset};
  return RoundHalfEven({terms, scale, 1}, rounded) + offset;
}

}  // namespace

Result<ByteTable> MakeByteTable(const Tensor& from, const Tensor& to, const RealBounds& bounds) {
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
    const Term real = Bounded({static_cast<double>(stored - a.offset), a.scale}, bounds);
    table[static_cast<std::uint8_t>(stored)] =
        static_cast<std::uint8_t>(Quantize(real, b.scale, b.offset, b.stored));
  }
  return table;
}

Result<Converter> Converter::Make(const Tensor& from, const Tensor& to, const RealBounds& bounds) {
  Converter result;
  result.bounds_ = bounds;
  result.from_ = TypeOnly(from);
  result.to_ = TypeOnly(to);
  const bool bounded = bounds.low.has_value() || bounds.high.has_value();
  result.copies_ = !bounded && SameType(from, to);
  if (result.copies_) return result;
  if (IsEightBitPerTensor(from) && IsEightBitPerTensor(to)) {
    QTX_ASSIGN_OR_RETURN(result.table_, MakeByteTable(from, to, bounds));
    return result;
  }
  QTX_RETURN_IF_ERROR(CheckReals(from));
  QTX_RETURN_IF_ERROR(CheckReals(to));
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
  } else {
    RunGeneral(from, to);
  }
}

void Converter::RunGeneral(std::span<const std::byte> from, std::span<std::byte> to) const {
  Tensor source = from_;
  source.bytes.assign(from.begin(), from.end());
  Tensor target = to_;
  target.bytes.resize(to.size());
  std::vector<Term> reals = RealsOf(source);
  for (Term& real : reals) real = Bounded(real, bounds_);
  StoreReals(reals, target);
  std::ranges::copy(target.bytes, to.begin());
}

}  // namespace qtx::backend::engine
