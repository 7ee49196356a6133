#include "engine/ops/reals.h"

#include <algorithm>
#include <cmath>

#include "qtx/format/quantization.h"

namespace qtx::backend::engine {

using format::ElementType;
using format::Tensor;

namespace {

bool IsQuantizedInteger(const Tensor& tensor, int bits) {
  return format::IsQuantized(tensor.elem_type) && format::IsIntegerStorage(tensor.elem_type) &&
         format::BitWidth(tensor.elem_type) <= bits;
}

}  // namespace

bool HasShortReals(const Tensor& tensor) {
  return tensor.elem_type == ElementType::kFloat || IsQuantizedInteger(tensor, 16);
}

bool HasReals(const Tensor& tensor) {
  return tensor.elem_type == ElementType::kFloat || IsQuantizedInteger(tensor, 32);
}

bool AllFinite(const Tensor& tensor) {
  return tensor.elem_type != ElementType::kFloat ||
         std::ranges::all_of(tensor.As<float>(), [](float v) { return std::isfinite(v); });
}

std::vector<Term> RealsOf(const Tensor& tensor) {
  std::vector<Term> reals;
  if (tensor.elem_type == ElementType::kFloat) {
    for (const float value : tensor.As<float>()) reals.push_back({1, value});
    return reals;
  }
  const format::Quantization& q = *tensor.quantization;
  const format::ParameterMap parameter(q, tensor.dims);
  for (const std::int32_t stored : format::UnpackInt32(tensor)) {
    const std::int64_t p = parameter(static_cast<std::int64_t>(reals.size()));
    reals.push_back({static_cast<double>(stored) - format::OffsetAt(q, p), format::ScaleAt(q, p)});
  }
  return reals;
}

void StoreReals(std::span<const Term> terms, std::size_t count, Tensor& to) {
  const std::size_t elements = terms.size() / count;
  if (to.elem_type == ElementType::kFloat) {
    for (std::size_t i = 0; i < elements; ++i) {
      to.As<float>()[i] = RoundToFloat(terms.subspan(i * count, count));
    }
    return;
  }
  const format::Quantization& q = *to.quantization;
  const format::ParameterMap parameter(q, to.dims);
  const format::IntegerRange stored = format::StoredRange(to.elem_type, q);
  std::vector<std::int32_t> result(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    const std::int64_t p = parameter(static_cast<std::int64_t>(i));
    const std::int32_t offset = format::OffsetAt(q, p);
    const Quotient value{terms.subspan(i * count, count), format::ScaleAt(q, p), 1};
    result[i] = static_cast<std::int32_t>(
        RoundHalfEven(value, {stored.min - offset, stored.max - offset}) + offset);
  }
  format::PackInt32(result, to);
}

}  // namespace qtx::backend::engine
