// Values of a GGUF file's metadata.
#include <cstring>
#include <limits>

#include "gguf/file.h"

namespace qtx::convert::gguf {
namespace {

template <typename T>
T ValueIn(std::string_view bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

std::optional<double> NumberIn(ValueType type, std::string_view value) {
  switch (type) {
    case ValueType::kUint8:
    case ValueType::kBool:
      return ValueIn<std::uint8_t>(value);
    case ValueType::kInt8:
      return ValueIn<std::int8_t>(value);
    case ValueType::kUint16:
      return ValueIn<std::uint16_t>(value);
    case ValueType::kInt16:
      return ValueIn<std::int16_t>(value);
    case ValueType::kUint32:
      return ValueIn<std::uint32_t>(value);
    case ValueType::kInt32:
      return ValueIn<std::int32_t>(value);
    case ValueType::kFloat32:
      return static_cast<double>(ValueIn<float>(value));
    case ValueType::kUint64:
      return static_cast<double>(ValueIn<std::uint64_t>(value));
    case ValueType::kInt64:
      return static_cast<double>(ValueIn<std::int64_t>(value));
    case ValueType::kFloat64:
      return ValueIn<double>(value);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::int64_t FixedSize(ValueType type) {
  switch (type) {
    case ValueType::kUint8:
    case ValueType::kInt8:
    case ValueType::kBool:
      return 1;
    case ValueType::kUint16:
    case ValueType::kInt16:
      return 2;
    case ValueType::kUint32:
    case ValueType::kInt32:
    case ValueType::kFloat32:
      return 4;
    case ValueType::kUint64:
    case ValueType::kInt64:
    case ValueType::kFloat64:
      return 8;
    default:
      return 0;
  }
}

std::optional<double> Entry::Number() const { return NumberIn(type, value); }

std::optional<std::int64_t> Entry::Integer() const {
  if (type == ValueType::kInt64) return ValueIn<std::int64_t>(value);
  if (type == ValueType::kUint64) {
    const auto number = ValueIn<std::uint64_t>(value);
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  const auto number = Number();
  if (!number || type == ValueType::kFloat32 || type == ValueType::kFloat64) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

std::optional<std::string_view> Entry::Text() const {
  return type == ValueType::kText ? std::optional(value.substr(8)) : std::nullopt;
}

std::optional<std::vector<double>> Entry::Numbers() const {
  if (type != ValueType::kArray) return std::nullopt;
  const auto element = static_cast<ValueType>(ValueIn<std::uint32_t>(value));
  const auto size = static_cast<std::size_t>(FixedSize(element));
  if (size == 0) return std::nullopt;
  std::vector<double> numbers;
  for (std::size_t at = 12; at < value.size(); at += size)
    numbers.push_back(*NumberIn(element, value.substr(at, size)));
  return numbers;
}

}  // namespace qtx::convert::gguf
