#include "engine/ops/reals.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "qtx/format/quantization.h"

namespace qtx::backend::engine {
namespace {

using format::ElementType;
using format::Quantization;
using format::Tensor;

// Parameters of a type that is not quantized: the reals are the stored values.
const Quantization& ParametersOf(const Tensor& tensor) {
  static const Quantization kNone = [] {
    Quantization none;
    none.scale = {1.0F};
    return none;
  }();
  return tensor.quantization.has_value() ? *tensor.quantization : kNone;
}

Error Unsupported(std::string message) { return {ErrorCode::kUnsupported, "", std::move(message)}; }

format::IntegerRange RangeOf(const Tensor& tensor) {
  if (!format::IsIntegerStorage(tensor.elem_type)) return {};
  return format::StoredRange(tensor.elem_type, ParametersOf(tensor));
}

// Codes of a small float as unsigned integers, as wide.
ElementType CodeType(ElementType storage) {
  return format::BitWidth(storage) == 4 ? ElementType::kUint4 : ElementType::kUint8;
}

}  // namespace

bool IsPlainNumber(ElementType type) {
  const bool number = format::BitWidth(type) > 0 && type != ElementType::kComplex64 &&
                      type != ElementType::kComplex128;
  return number && type != ElementType::kFloat && !format::IsQuantized(type);
}

Result<void> CheckReals(const Tensor& tensor) {
  const std::int64_t elements = format::ElementCount(tensor);
  if (elements > kMostReals) {
    return Unsupported(std::to_string(elements) + " elements where there is no kernel, at most " +
                       std::to_string(kMostReals));
  }
  if (tensor.elem_type == ElementType::kFloat) return {};
  if (!format::IsQuantized(tensor.elem_type) || !tensor.quantization.has_value()) {
    return Unsupported("found elements of type " + std::string(format::Name(tensor.elem_type)) +
                       ", expected reals: FLOAT or a quantized type");
  }
  const Quantization& q = *tensor.quantization;
  const ElementType storage = format::StorageOf(tensor.elem_type);
  const bool offset = std::ranges::any_of(q.offset, [](std::int32_t o) { return o != 0; });
  if (offset && (format::IsSmallFloat(storage) || storage == ElementType::kBipolar1)) {
    return Unsupported("type " + std::string(format::Name(tensor.elem_type)) + " with an offset");
  }
  QTX_ASSIGN_OR_RETURN(const format::Dims counts, format::ParameterDims(q, tensor.dims));
  QTX_ASSIGN_OR_RETURN(const std::int64_t count, format::ElementCount(counts));
  const auto fits = [count](std::size_t size) {
    return size == 1 || static_cast<std::int64_t>(size) == count;
  };
  if (fits(q.scale.size()) && (q.offset.empty() || fits(q.offset.size()))) return {};
  return Unsupported("found " + std::to_string(q.scale.size()) + " scales and " +
                     std::to_string(q.offset.size()) + " offsets, expected " +
                     std::to_string(count));
}

Result<void> CheckReals(const NodePlan& node, const Value& value) {
  auto checked = CheckReals(value.tensor);
  if (checked.has_value()) return {};
  return node.Because(At("'" + value.name + "'", checked.error()));
}

std::vector<Term> RealsOf(const Tensor& tensor) {
  std::vector<Term> reals;
  reals.reserve(static_cast<std::size_t>(format::ElementCount(tensor)));
  if (tensor.elem_type == ElementType::kFloat) {
    for (const float value : tensor.As<float>()) reals.push_back({1, value});
    return reals;
  }
  const Quantization& q = ParametersOf(tensor);
  const format::ParameterMap parameter(q, tensor.dims);
  const auto append = [&](double stored) {
    const std::int64_t p = parameter(static_cast<std::int64_t>(reals.size()));
    reals.push_back({stored - format::OffsetAt(q, p), format::ScaleAt(q, p)});
  };
  if (format::IsSmallFloat(tensor.elem_type)) {
    for (const double stored : format::StoredValues(tensor)) append(stored);
  } else {
    for (const std::int32_t stored : format::UnpackInt32(tensor)) append(stored);
  }
  return reals;
}

RealWriter::RealWriter(Tensor& to)
    : to_(to),
      parameters_(ParametersOf(to)),
      storage_(format::StorageOf(to.elem_type)),
      parameter_(parameters_, to.dims),
      range_(RangeOf(to)) {
  if (storage_ == ElementType::kFloat) return;
  stored_.resize(static_cast<std::size_t>(format::ElementCount(to)));
}

std::int32_t RealWriter::Special(double value, std::int64_t parameter) const {
  const std::int64_t offset = format::OffsetAt(parameters_, parameter);
  if (format::IsSmallFloat(storage_)) {
    return static_cast<std::int32_t>(
        format::EncodeSmallFloat(storage_, std::isnan(value) ? 0 : value));
  }
  // Real zero is stored as +1 where there are but -1 and +1.
  if (storage_ == ElementType::kBipolar1) return BipolarOf(value < 0, range_);
  if (std::isnan(value)) {
    return static_cast<std::int32_t>(std::clamp(offset, range_.min, range_.max));
  }
  return static_cast<std::int32_t>(value < 0 ? range_.min : range_.max);
}

std::int32_t RealWriter::Rounded(const Quotient& value, std::int64_t parameter) const {
  if (format::IsSmallFloat(storage_)) {
    return static_cast<std::int32_t>(RoundToSmallFloat(value, storage_));
  }
  if (storage_ == ElementType::kBipolar1) return BipolarOf(SignOfSum(value.terms) < 0, range_);
  const std::int64_t offset = format::OffsetAt(parameters_, parameter);
  const format::IntegerRange range{range_.min - offset, range_.max - offset};
  return static_cast<std::int32_t>(RoundHalfEven(value, range) + offset);
}

void RealWriter::Put(std::int64_t element, std::span<const Term> terms, std::int64_t divisor) {
  // Sums of finite terms stay finite; a special value makes the whole sum what IEEE 754 says.
  double sum = 0;
  for (const Term& term : terms) sum += term.integer * term.scale;
  const auto i = static_cast<std::size_t>(element);
  if (storage_ == ElementType::kFloat) {
    to_.As<float>()[i] =
        std::isfinite(sum) ? RoundToFloat(terms, divisor) : static_cast<float>(sum);
    return;
  }
  const std::int64_t p = parameter_(element);
  const Quotient value{terms, format::ScaleAt(parameters_, p), divisor};
  stored_[i] = std::isfinite(sum) ? Rounded(value, p) : Special(sum, p);
}

bool RealWriter::PutBetween(std::int64_t element, std::span<const Term> low,
                            std::span<const Term> high, std::int64_t divisor) {
  const auto i = static_cast<std::size_t>(element);
  Put(element, low, divisor);
  if (storage_ == ElementType::kFloat) {
    const float first = to_.As<float>()[i];
    Put(element, high, divisor);
    return first == to_.As<float>()[i];
  }
  const std::int32_t first = stored_[i];
  Put(element, high, divisor);
  return first == stored_[i];
}

void RealWriter::Finish() {
  if (storage_ == ElementType::kFloat) return;
  const ElementType own = to_.elem_type;
  if (format::IsSmallFloat(own)) to_.elem_type = CodeType(own);
  format::PackInt32(stored_, to_);
  to_.elem_type = own;
}

void StoreReals(std::span<const Term> reals, Tensor& to) {
  RealWriter writer(to);
  for (std::size_t i = 0; i < reals.size(); ++i) {
    writer.Put(static_cast<std::int64_t>(i), reals.subspan(i, 1));
  }
  writer.Finish();
}

}  // namespace qtx::backend::engine
