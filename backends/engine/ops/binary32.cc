#include "engine/ops/binary32.h"

#include <array>
#include <cmath>

#include "engine/double_double.h"

namespace qtx::backend::engine {
namespace {

using format::ElementType;

// Those of a type that is not quantized: the reals are the stored values.
const format::Quantization& ParametersOf(const format::Tensor& tensor) {
  static const format::Quantization kNone = [] {
    format::Quantization none;
    none.scale = {1.0F};
    return none;
  }();
  return tensor.quantization.has_value() ? *tensor.quantization : kNone;
}

format::IntegerRange RangeOf(const format::Tensor& tensor) {
  if (!format::IsIntegerStorage(tensor.elem_type)) return {};
  return format::StoredRange(tensor.elem_type, ParametersOf(tensor));
}

}  // namespace

std::vector<float> Binary32Of(const format::Tensor& tensor) {
  if (tensor.elem_type == ElementType::kFloat) {
    const auto floats = tensor.As<float>();
    return {floats.begin(), floats.end()};
  }
  std::vector<float> values;
  for (const Term& term : RealsOf(tensor)) values.push_back(Binary32Of(term));
  return values;
}

float NearestExp(float x) {
  if (x == 0) return 1;
  // The library's exp errs by less than one ulp (glibc manual, "Known Maximum Errors"), 2^-52;
  // what rounds alike eight times as far on both sides is settled.
  const double near = std::exp(static_cast<double>(x));
  const auto below = static_cast<float>(near * (1 - 0x1p-49));
  const auto above = static_cast<float>(near * (1 + 0x1p-49));
  if (below == above || std::isnan(x)) return above;
  const DoubleDouble value = ExpOfNegative(static_cast<double>(-x));
  const std::array<Term, 2> terms{Term{value.high, 1}, Term{value.low, 1}};
  return RoundToFloat(terms);
}

FloatWriter::FloatWriter(format::Tensor& to, bool half_away)
    : to_(to),
      parameters_(ParametersOf(to)),
      storage_(format::StorageOf(to.elem_type)),
      parameter_(parameters_, to.dims),
      range_(RangeOf(to)),
      half_away_(half_away) {
  if (storage_ == ElementType::kFloat) return;
  stored_.resize(static_cast<std::size_t>(format::ElementCount(to)));
}

StoredType FloatWriter::TypeOf(std::int64_t element) const {
  const std::int64_t p = parameter_(element);
  return {format::ScaleAt(parameters_, p), format::OffsetAt(parameters_, p), range_};
}

void FloatWriter::Put(std::int64_t element, float value) {
  const auto i = static_cast<std::size_t>(element);
  if (storage_ == ElementType::kFloat) {
    to_.As<float>()[i] = value;
    return;
  }
  const StoredType type = TypeOf(element);
  const float quotient = value / static_cast<float>(type.scale);
  if (format::IsSmallFloat(storage_)) {
    const float finite = std::isnan(quotient) ? 0 : quotient + 0.0F;  // no negative zero
    stored_[i] =
        static_cast<std::int32_t>(format::EncodeSmallFloat(storage_, static_cast<double>(finite)));
  } else if (storage_ == ElementType::kBipolar1) {
    stored_[i] = BipolarOf(quotient < 0, range_);
  } else {
    stored_[i] = static_cast<std::int32_t>(half_away_ ? StoredHalfAway(quotient, type)
                                                      : StoredOf(quotient, type));
  }
}

void FloatWriter::PutProduct(std::int64_t element, float sum, float unit) {
  const auto i = static_cast<std::size_t>(element);
  if (storage_ == ElementType::kFloat) {
    to_.As<float>()[i] = sum * unit;
    return;
  }
  const StoredType type = TypeOf(element);
  const float factor = unit / static_cast<float>(type.scale);
  stored_[i] = static_cast<std::int32_t>(StoredOf(sum * factor, type));
}

void FloatWriter::Finish() {
  if (storage_ == ElementType::kFloat) return;
  const ElementType own = to_.elem_type;
  if (format::IsSmallFloat(own)) {
    to_.elem_type = format::BitWidth(own) == 4 ? ElementType::kUint4 : ElementType::kUint8;
  }
  format::PackInt32(stored_, to_);
  to_.elem_type = own;
}

}  // namespace qtx::backend::engine
