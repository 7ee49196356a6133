#include "tests/golden/numbers.h"

#include <cassert>
#include <cmath>
#include <cstdint>
#include <limits>

namespace qtx::reference::golden {

using format::ElementType;

bool IsFloating(ElementType type) {
  return type == ElementType::kFloat || type == ElementType::kDouble ||
         type == ElementType::kFloat16 || type == ElementType::kBfloat16;
}

double UnitRoundoff(ElementType type) {
  switch (type) {
    case ElementType::kDouble:
      return 0x1p-53;
    case ElementType::kFloat16:
      return 0x1p-11;
    case ElementType::kBfloat16:
      return 0x1p-8;
    default:
      return 0x1p-24;
  }
}

double LeastPositive(ElementType type) {
  switch (type) {
    case ElementType::kDouble:
      return std::numeric_limits<double>::denorm_min();
    case ElementType::kFloat16:
      return 0x1p-24;
    case ElementType::kBfloat16:
      return 0x1p-133;
    default:
      return 0x1p-149;
  }
}

std::vector<double> ToDoubles(const format::Tensor& tensor) {
  assert(IsFloating(tensor.elem_type) || format::IsSmallFloat(tensor.elem_type));
  if (tensor.elem_type != ElementType::kDouble) return format::StoredValues(tensor);
  const auto values = tensor.As<double>();
  return {values.begin(), values.end()};
}

namespace {

float Outward(double value, Toward toward) {
  const auto nearest = static_cast<float>(value);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (toward == Toward::kPlusInfinity) {
    return static_cast<double>(nearest) < value ? std::nextafter(nearest, kInfinity) : nearest;
  }
  return static_cast<double>(nearest) > value ? std::nextafter(nearest, -kInfinity) : nearest;
}

// Codes grow with the magnitude: the next number away from zero is the next code.
std::uint16_t OutwardCode(ElementType type, double value, Toward toward) {
  const std::uint32_t code = format::EncodeSmallFloat(type, value);
  const double nearest = format::DecodeSmallFloat(type, code);
  const bool short_of = toward == Toward::kPlusInfinity ? nearest < value : nearest > value;
  if (!short_of) return static_cast<std::uint16_t>(code);
  const bool positive = !std::signbit(nearest);
  const bool grows = positive == (toward == Toward::kPlusInfinity);
  return static_cast<std::uint16_t>(grows ? code + 1 : code - 1);
}

}  // namespace

format::Tensor FromDoubles(const format::Tensor& like, const std::vector<double>& values,
                           Toward toward) {
  format::Tensor tensor = like;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (like.elem_type == ElementType::kDouble) {
      tensor.As<double>()[i] = values[i];
    } else if (like.elem_type == ElementType::kFloat) {
      tensor.As<float>()[i] = Outward(values[i], toward);
    } else {
      tensor.As<std::uint16_t>()[i] = OutwardCode(like.elem_type, values[i], toward);
    }
  }
  return tensor;
}

}  // namespace qtx::reference::golden
