#include "gguf/tensor_in.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "gguf/bits.h"
#include "gguf/vectors.h"

namespace qtx::convert::gguf {
namespace {

using format::Dims;
using format::ElementType;
using format::EncodedField;
using format::EncodedRole;
using format::Tensor;

std::span<const std::byte> Record(std::string_view records, std::int64_t bytes, std::int64_t i) {
  return std::as_bytes(std::span(records))
      .subspan(static_cast<std::size_t>(i * bytes), static_cast<std::size_t>(bytes));
}

// `code` of an element of a tensor whose bytes are 0 there.
void Put(Tensor& tensor, std::int64_t element, std::uint32_t code) {
  const auto width = static_cast<std::int64_t>(format::BitWidth(tensor.elem_type));
  const auto byte = static_cast<std::size_t>(element * width / 8);
  if (width >= 8) {
    for (std::int64_t k = 0; k < width / 8; ++k)
      tensor.bytes[byte + static_cast<std::size_t>(k)] = static_cast<std::byte>(code >> (8 * k));
    return;
  }
  const std::uint32_t bits = code & ((1U << width) - 1);
  tensor.bytes[byte] |= static_cast<std::byte>(bits << (element * width % 8));
}

Dims PerBlock(Dims dims, std::int64_t block) {
  dims.back() /= block;
  return dims;
}

// The values of `field` in all records.
Result<Tensor> Unpack(const GgmlType& type, const EncodedField& field, ElementType storage,
                      Dims dims, std::string_view records) {
  QTX_ASSIGN_OR_RETURN(Tensor tensor, format::MakeTensor(storage, std::move(dims)));
  const BitField bits(field.bits);
  const std::int64_t count = std::ssize(records) / type.bytes;
  std::int64_t element = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto record = Record(records, type.bytes, i);
    for (std::size_t k = 0; k < bits.size(); ++k)
      Put(tensor, element++, bits.Get(record, k) + static_cast<std::uint32_t>(field.bias));
  }
  return tensor;
}

bool IsFinite(ElementType type, std::uint32_t code) {
  switch (type) {
    case ElementType::kFloat16:
      return (code & 0x7c00U) != 0x7c00U;
    case ElementType::kFloat8E8M0:
      return code != 0xff;
    case ElementType::kFloat8E4M3FN:
      return code < 0x7f;  // ggml reads neither the sign nor the code of NaN as they are meant
    default:
      return true;
  }
}

std::string AtRecord(const char* what, std::int64_t record) {
  return std::string(what) + " in record " + std::to_string(record);
}

}  // namespace

std::optional<std::string> FindNonFinite(const GgmlType& type, std::string_view records) {
  const std::int64_t count = std::ssize(records) / type.bytes;
  for (const EncodedField& field : type.fields) {
    if (field.role == EncodedRole::kCode || field.elem_type == ElementType::kUint8 ||
        field.elem_type == ElementType::kInt8) {
      continue;
    }
    const BitField bits(field.bits);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto record = Record(records, type.bytes, i);
      for (std::size_t k = 0; k < bits.size(); ++k) {
        if (!IsFinite(field.elem_type, bits.Get(record, k)))
          return AtRecord("a factor that is no finite number", i);
      }
    }
  }
  return std::nullopt;
}

Result<Unpacked> UnpackRecords(const GgmlType& type, const Dims& dims, std::string_view records) {
  Unpacked unpacked;
  for (const EncodedField& field : type.fields) {
    if (field.role == EncodedRole::kCode) {
      QTX_ASSIGN_OR_RETURN(unpacked.codes,
                           Unpack(type, field, format::StorageOf(type.elem_type), dims, records));
      continue;
    }
    const bool scale = field.role == EncodedRole::kScale;
    const FactorLevel& level =
        (scale ? type.scale : type.base)[static_cast<std::size_t>(field.level)];
    QTX_ASSIGN_OR_RETURN(Tensor factors,
                         Unpack(type, field, level.storage, PerBlock(dims, level.block), records));
    (scale ? unpacked.scale : unpacked.base).push_back(std::move(factors));
  }
  return unpacked;
}

Result<std::optional<Unpacked>> UnpackVectors(const GgmlType& type, const Dims& dims,
                                              std::string_view records, std::string& why) {
  std::optional<Unpacked> unpacked(std::in_place);
  QTX_ASSIGN_OR_RETURN(unpacked->codes, format::MakeTensor(ElementType::kInt8, dims));
  for (const FactorLevel& level : type.scale) {
    if (level.block == 0) continue;
    QTX_ASSIGN_OR_RETURN(Tensor factors,
                         format::MakeTensor(level.storage, PerBlock(dims, level.block)));
    unpacked->scale.push_back(std::move(factors));
  }
  const auto codec = VectorCodec::Make(type);
  const std::int64_t count = std::ssize(records) / type.bytes;
  const std::int64_t factors = unpacked->scale.size() == 1 ? 0 : type.block / type.scale[0].block;
  VectorRecord parts;
  std::vector<std::byte> again(static_cast<std::size_t>(type.bytes));
  for (std::int64_t i = 0; i < count; ++i) {
    const auto record = Record(records, type.bytes, i);
    codec->Decode(record, parts);
    std::ranges::fill(again, std::byte{0});
    if (!IsFinite(ElementType::kFloat16, parts.half)) {
      why = AtRecord("a factor that is no finite number", i);
      return std::optional<Unpacked>();
    }
    if (!codec->Encode(parts, again) || !std::ranges::equal(again, record)) {
      why = AtRecord("bytes that no quantizer writes", i);
      return std::optional<Unpacked>();
    }
    for (std::int64_t k = 0; k < type.block; ++k)
      Put(unpacked->codes, i * type.block + k, static_cast<std::uint32_t>(parts.values[k]));
    for (std::int64_t k = 0; k < factors; ++k)
      Put(unpacked->scale[0], i * factors + k, parts.factors[k]);
    Put(unpacked->scale.back(), i, parts.half);
  }
  return unpacked;
}

}  // namespace qtx::convert::gguf
