#include "qtx/format/tensor.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <numeric>

#include "qtx/format/limits.h"

namespace qtx::format {
namespace {

static_assert(std::endian::native == std::endian::little, "bytes are little-endian in memory");

// `width` bits of element i, from the lowest bit of each byte.
std::uint64_t Code(const Tensor& tensor, int width, std::size_t i) {
  if (width < 8) {
    const auto per_byte = static_cast<std::size_t>(8 / width);
    const auto byte = static_cast<unsigned>(tensor.bytes[i / per_byte]);
    const unsigned shift = static_cast<unsigned>(i % per_byte) * static_cast<unsigned>(width);
    return (byte >> shift) & ((1U << width) - 1U);
  }
  std::uint64_t code = 0;
  const auto size = static_cast<std::size_t>(width / 8);
  std::memcpy(&code, tensor.bytes.data() + i * size, size);
  return code;
}

void SetCode(Tensor& tensor, int width, std::size_t i, std::uint64_t code) {
  if (width < 8) {
    const auto per_byte = static_cast<std::size_t>(8 / width);
    const unsigned shift = static_cast<unsigned>(i % per_byte) * static_cast<unsigned>(width);
    const unsigned mask = ((1U << width) - 1U) << shift;
    auto byte = static_cast<unsigned>(tensor.bytes[i / per_byte]);
    byte = (byte & ~mask) | ((static_cast<unsigned>(code) << shift) & mask);
    tensor.bytes[i / per_byte] = static_cast<std::byte>(byte);
    return;
  }
  const auto size = static_cast<std::size_t>(width / 8);
  std::memcpy(tensor.bytes.data() + i * size, &code, size);
}

// Codes as integers: two's complement widened, unsigned as they are, bipolar 0 and 1 as -1 and +1.
struct IntegerCoding {
  explicit IntegerCoding(ElementType type)
      : width(BitWidth(type)),
        bipolar(StorageOf(type) == ElementType::kBipolar1),
        is_signed(IsIntegerStorage(type) && !bipolar && StorageRange(type).min < 0) {}

  std::int64_t FromCode(std::uint64_t code) const {
    if (bipolar) return code == 0 ? -1 : 1;
    if (!is_signed || width == 64) return static_cast<std::int64_t>(code);
    const std::uint64_t sign = std::uint64_t{1} << (width - 1);
    return static_cast<std::int64_t>(code ^ sign) - static_cast<std::int64_t>(sign);
  }
  std::uint64_t ToCode(std::int64_t value) const {
    return bipolar ? (value > 0 ? 1U : 0U) : static_cast<std::uint64_t>(value);
  }

  int width;
  bool bipolar;
  bool is_signed;
};

// Elements of whole bytes need no code: the compiler knows how to widen a `From`.
template <typename From, typename T>
std::vector<T> Widen(const Tensor& tensor) {
  const std::span<const From> elements = tensor.As<From>();
  return std::vector<T>(elements.begin(), elements.end());
}

// Values fit a `To`: the low bits are the value.
template <typename To, typename T>
void Narrow(std::span<const T> values, Tensor& tensor) {
  std::ranges::transform(values, tensor.As<To>().begin(),
                         [](T value) { return static_cast<To>(value); });
}

template <typename T>
std::vector<T> Unpack(const Tensor& tensor) {
  const IntegerCoding coding(tensor.elem_type);
  if (coding.width == 8) {
    return coding.is_signed ? Widen<std::int8_t, T>(tensor) : Widen<std::uint8_t, T>(tensor);
  }
  if (coding.width == 16) {
    return coding.is_signed ? Widen<std::int16_t, T>(tensor) : Widen<std::uint16_t, T>(tensor);
  }
  if (coding.width == 32 && coding.is_signed) return Widen<std::int32_t, T>(tensor);
  std::vector<T> values(static_cast<std::size_t>(ElementCount(tensor)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<T>(coding.FromCode(Code(tensor, coding.width, i)));
  }
  return values;
}

template <typename T>
void Pack(std::span<const T> values, Tensor& tensor) {
  const IntegerCoding coding(tensor.elem_type);
  assert(values.size() == static_cast<std::size_t>(ElementCount(tensor)));
  if (coding.width == 8) return Narrow<std::uint8_t>(values, tensor);
  if (coding.width == 16) return Narrow<std::uint16_t>(values, tensor);
  if (coding.width == 32) return Narrow<std::uint32_t>(values, tensor);
  for (std::size_t i = 0; i < values.size(); ++i) {
    SetCode(tensor, coding.width, i, coding.ToCode(values[i]));
  }
}

}  // namespace

Result<std::int64_t> PackedBytes(ElementType type, std::int64_t count) {
  const int width = BitWidth(type);
  if (width == 0) {
    return Error{ErrorCode::kUnsupported, "",
                 "found element type " + std::string(Name(type)) + ", expected one of fixed width"};
  }
  if (count > kMaxTensorBytes / width * 8) {
    return Error{ErrorCode::kTooLarge, "",
                 "found " + std::to_string(count) + " elements of " + std::string(Name(type)) +
                     ", expected at most " + std::to_string(kMaxTensorBytes) + " bytes"};
  }
  return (count * width + 7) / 8;
}

Result<Tensor> MakeTensor(ElementType type, Dims dims, std::optional<Quantization> q) {
  QTX_ASSIGN_OR_RETURN(const std::int64_t count, ElementCount(std::span<const std::int64_t>(dims)));
  QTX_ASSIGN_OR_RETURN(const std::int64_t size, PackedBytes(type, count));
  Tensor tensor{
      .elem_type = type, .dims = std::move(dims), .quantization = std::move(q), .bytes = {}};
  try {
    tensor.bytes.resize(static_cast<std::size_t>(size));
  } catch (const std::bad_alloc&) {
    return NoMemoryFor(size);
  }
  return tensor;
}

std::int64_t ElementCount(const Tensor& tensor) {
  return std::accumulate(tensor.dims.begin(), tensor.dims.end(), std::int64_t{1},
                         std::multiplies<>());
}

std::vector<std::int64_t> UnpackIntegers(const Tensor& tensor) {
  return Unpack<std::int64_t>(tensor);
}
std::vector<std::int32_t> UnpackInt32(const Tensor& tensor) { return Unpack<std::int32_t>(tensor); }
void PackIntegers(std::span<const std::int64_t> values, Tensor& tensor) { Pack(values, tensor); }
void PackInt32(std::span<const std::int32_t> values, Tensor& tensor) { Pack(values, tensor); }

std::vector<double> StoredValues(const Tensor& tensor) {
  const ElementType storage = StorageOf(tensor.elem_type);
  std::vector<double> values(static_cast<std::size_t>(ElementCount(tensor)));
  if (storage == ElementType::kFloat) {
    const auto floats = tensor.As<float>();
    values.assign(floats.begin(), floats.end());
  } else if (storage == ElementType::kDouble) {
    const auto doubles = tensor.As<double>();
    values.assign(doubles.begin(), doubles.end());
  } else if (IsSmallFloat(storage) || storage == ElementType::kFloat16 ||
             storage == ElementType::kBfloat16) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto code = static_cast<std::uint32_t>(Code(tensor, BitWidth(storage), i));
      values[i] = DecodeSmallFloat(storage, code);
    }
  } else {
    const auto integers = UnpackIntegers(tensor);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(integers[i]);
  }
  return values;
}

}  // namespace qtx::format
