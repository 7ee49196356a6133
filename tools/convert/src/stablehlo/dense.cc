#include "stablehlo/dense.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "errors.h"

namespace qtx::convert {
namespace {

using format::ElementType;
using format::Tensor;

bool IsHexString(std::string_view text) {
  return text.size() >= 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
}

// Beyond the largest finite value of a half, half a step further, lies infinity, as in IEEE 754.
std::uint64_t HalfBits(ElementType type, double value) {
  const bool is_f16 = type == ElementType::kFloat16;
  const std::uint64_t infinity = is_f16 ? 0x7C00 : 0x7F80;
  const double past = is_f16 ? 65520.0 : std::ldexp(511.0 / 2, 120);
  if (std::abs(value) >= past) return infinity | (std::signbit(value) ? 0x8000U : 0U);
  return format::EncodeSmallFloat(type, value);
}

bool IsFloatStorage(ElementType type) {
  return type == ElementType::kFloat || type == ElementType::kDouble || format::IsHalf(type) ||
         format::IsSmallFloat(type) || type == ElementType::kFloat8E8M0;
}

std::uint64_t FloatBits(ElementType type, const MlirNumber& number) {
  if (number.form == MlirNumber::Form::kBits) return number.bits;
  if (type == ElementType::kDouble) return std::bit_cast<std::uint64_t>(number.real);
  if (type == ElementType::kFloat)
    return std::bit_cast<std::uint32_t>(static_cast<float>(number.real));
  if (format::IsHalf(type)) return HalfBits(type, number.real);
  return format::EncodeSmallFloat(type, number.real);
}

// Reads elements of one type, as the bits that they are stored as.
class Elements {
 public:
  Elements(MlirText& text, ElementType storage, format::IntegerRange range)
      : text_(text), storage_(storage), range_(range) {}

  Result<std::int64_t> Next() {
    if (storage_ == ElementType::kBool) {
      if (text_.Take("true")) return 1;
      if (text_.Take("false")) return 0;
    }
    text_.Peek();
    const std::size_t begin = text_.at();
    QTX_ASSIGN_OR_RETURN(const MlirNumber number, text_.Number());
    if (IsFloatStorage(storage_)) return static_cast<std::int64_t>(FloatBits(storage_, number));
    std::int64_t value = number.integer;
    if (number.form == MlirNumber::Form::kBits) value = static_cast<std::int64_t>(number.bits);
    const bool fits =
        number.form != MlirNumber::Form::kFloat &&
        ((value >= range_.min && value <= range_.max) || storage_ == ElementType::kUint64);
    if (fits) return value;
    text_.Seek(begin);
    return text_.Fail("a value of " + std::string(format::Name(storage_)));
  }

 private:
  MlirText& text_;
  ElementType storage_;
  format::IntegerRange range_;
};

// Puts bits into whole bytes of a tensor, or collects the integers of narrower elements.
class Filler {
 public:
  explicit Filler(Tensor& tensor)
      : tensor_(tensor), width_(static_cast<std::size_t>(format::BitWidth(tensor.elem_type)) / 8) {}

  void Put(std::size_t i, std::int64_t bits) {
    if (width_ == 0) {
      narrow_.push_back(bits);
    } else {
      std::memcpy(tensor_.bytes.data() + i * width_, &bits, width_);
    }
  }
  void Finish() {
    if (width_ == 0) format::PackIntegers(narrow_, tensor_);
  }

 private:
  Tensor& tensor_;
  std::size_t width_;
  std::vector<std::int64_t> narrow_;
};

// [[1, 2], [3, 4]]: each list has as many elements as its dimension says.
Result<void> ReadLists(MlirText& text, Elements& elements, Tensor& tensor) {
  const std::size_t rank = tensor.dims.size();
  std::vector<std::int64_t> counts;
  Filler filler(tensor);
  std::size_t done = 0;
  do {
    if (!counts.empty() && counts.back() > 0 && text.Peek() != ']')
      QTX_RETURN_IF_ERROR(text.Expect(","));
    if (text.Take("]")) {
      if (counts.back() != tensor.dims[counts.size() - 1])
        return text.Fail("a list of " + std::to_string(tensor.dims[counts.size() - 1]) +
                         " elements before");
      counts.pop_back();
      continue;
    }
    if (!counts.empty() && ++counts.back() > tensor.dims[counts.size() - 1])
      return text.Fail("']' behind " + std::to_string(tensor.dims[counts.size() - 1]) +
                       " elements");
    if (counts.size() < rank) {
      QTX_RETURN_IF_ERROR(text.Expect("["));
      counts.push_back(0);
      continue;
    }
    QTX_ASSIGN_OR_RETURN(const std::int64_t bits, elements.Next());
    filler.Put(done++, bits);
  } while (!counts.empty());
  filler.Finish();
  return {};
}

Result<void> Repeat(MlirText& text, std::int64_t bits, Tensor& tensor, std::int64_t& repeated) {
  const std::int64_t count = format::ElementCount(tensor);
  repeated -= count;
  if (repeated < 0)
    return Error{ErrorCode::kTooLarge, text.Place(text.at()),
                 "dense<value> repeats more than 2^26 elements"};
  Filler filler(tensor);
  for (std::int64_t i = 0; i < count; ++i) filler.Put(static_cast<std::size_t>(i), bits);
  filler.Finish();
  return {};
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// A byte of "0x..." ; -1 where it is none.
int HexByte(std::string_view digits, std::size_t i) {
  const int high = HexDigit(digits[2 * i]);
  const int low = HexDigit(digits[2 * i + 1]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

// Bytes, little-endian; elements narrower than a byte have one each, i1 also a bit.
Result<void> ReadHex(MlirText& text, std::string_view digits, Tensor& tensor,
                     std::int64_t& repeated) {
  const auto count = static_cast<std::size_t>(format::ElementCount(tensor));
  const auto width = static_cast<std::size_t>(std::max(format::BitWidth(tensor.elem_type), 8)) / 8;
  const std::size_t size = digits.size() / 2;
  const bool packed = tensor.elem_type == ElementType::kBool && size != count && size != 1 &&
                      size == (count + 7) / 8;
  const bool one = size == width && count != 1;
  if (digits.size() % 2 != 0 || !(packed || one || size == count * width)) {
    return Invalid(text.Place(text.at()), "found " + std::to_string(size) + " bytes, expected " +
                                              std::to_string(count * width));
  }
  std::vector<unsigned char> bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    const int byte = HexByte(digits, i);
    if (byte < 0) return Invalid(text.Place(text.at()), "a character that is no hexadecimal digit");
    bytes[i] = static_cast<unsigned char>(byte);
  }
  Filler filler(tensor);
  const auto bits_of = [&](std::size_t i) {
    if (packed) return static_cast<std::int64_t>((bytes[i / 8] >> (i % 8)) & 1);
    std::int64_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * width, width);
    const int narrow = format::BitWidth(tensor.elem_type);
    if (tensor.elem_type == ElementType::kBool) return std::int64_t{bits != 0};
    if (narrow >= 8) return bits;
    bits &= (std::int64_t{1} << narrow) - 1;
    const bool is_signed = format::StorageRange(tensor.elem_type).min < 0;
    return is_signed && (bits >> (narrow - 1)) != 0 ? bits - (std::int64_t{1} << narrow) : bits;
  };
  if (one) return Repeat(text, bits_of(0), tensor, repeated);
  for (std::size_t i = 0; i < count; ++i) filler.Put(i, bits_of(i));
  filler.Finish();
  return {};
}

// Lists and bytes have at least a character an element: nothing large is allocated for less.
Result<void> CheckSize(MlirText& text, const MlirAttribute& dense, std::int64_t count,
                       std::int64_t repeated) {
  const char first = text.Peek();
  const auto size = static_cast<std::int64_t>(dense.end - dense.begin);
  if (first == '[' && count > size) return text.Fail(std::to_string(count) + " elements");
  if (first == '[' || count <= repeated || (first == '"' && count <= size)) return {};
  return Error{ErrorCode::kTooLarge, text.Place(dense.begin),
               "dense<value> repeats more than 2^26 elements"};
}

Result<void> ReadElements(MlirText& text, Elements& elements, Tensor& tensor,
                          std::int64_t& repeated) {
  const char first = text.Peek();
  if (first == '[') return ReadLists(text, elements, tensor);
  if (first == '>' && format::ElementCount(tensor) == 0) return {};
  if (first != '"') {
    QTX_ASSIGN_OR_RETURN(const std::int64_t bits, elements.Next());
    return Repeat(text, bits, tensor, repeated);
  }
  const std::size_t begin = text.at();
  QTX_ASSIGN_OR_RETURN(const std::string_view digits, text.String());
  if (!IsHexString(digits)) return Unsupported(text.Place(begin), "strings as elements");
  return ReadHex(text, digits.substr(2), tensor, repeated);
}

}  // namespace

Result<Tensor> DenseTensor(MlirText& text, const MlirAttribute& dense,
                           const format::TensorType& type, std::int64_t& repeated) {
  const std::size_t behind = text.at();
  text.Seek(dense.begin);
  const auto dims = type.shape ? format::FixedDims(*type.shape) : std::nullopt;
  if (!dims) return Unsupported(text.Place(dense.begin), "a constant of unknown dimensions");
  const auto count = format::ElementCount(*dims);
  if (!count.has_value()) return At(text.Place(dense.begin), count.error());
  QTX_RETURN_IF_ERROR(CheckSize(text, dense, *count, repeated));
  auto tensor = format::MakeTensor(type.elem_type, *dims, type.quantization);
  if (!tensor.has_value()) return At(text.Place(dense.begin), tensor.error());
  const ElementType storage = format::StorageOf(type.elem_type);
  const format::IntegerRange range = type.quantization
                                         ? format::StoredRange(type.elem_type, *type.quantization)
                                         : format::StorageRange(storage);
  Elements elements(text, storage, range);
  QTX_RETURN_IF_ERROR(ReadElements(text, elements, *tensor, repeated));
  if (text.Peek() != '>' || text.at() != dense.end) return text.Fail("'>' behind the elements");
  text.Seek(behind);
  return tensor;
}

}  // namespace qtx::convert
