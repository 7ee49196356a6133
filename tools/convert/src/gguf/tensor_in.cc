#include "gguf/tensor_in.h"

#include <algorithm>
#include <cmath>

#include "gguf/vectors.h"
#include "qtx/format/encoding.h"

namespace qtx::convert::gguf {
namespace {

using format::Dims;
using format::ElementType;
using format::EncodedField;
using format::EncodedRole;
using format::RecordLayout;
using format::Tensor;

constexpr std::int64_t kRecordsAtOnce = std::int64_t{1} << 14;

Dims PerBlock(Dims dims, std::int64_t block) {
  dims.back() /= block;
  return dims;
}

std::string AtRecord(const char* what, std::int64_t record) {
  return std::string(what) + " in record " + std::to_string(record);
}
std::string NotFinite(std::int64_t record) {
  return AtRecord("a factor that is no finite number", record);
}

// Of each code of a type, whether it is a factor.
std::vector<bool> FactorCodesOf(ElementType type) {
  std::vector<bool> are_factors(std::size_t{1} << static_cast<unsigned>(format::BitWidth(type)));
  for (std::uint32_t code = 0; code < are_factors.size(); ++code)
    are_factors[code] = IsFactor(type, format::DecodeSmallFloat(type, code));
  return are_factors;
}

// The first code that is no factor; -1 if all are.  REQUIRES: T is as wide as a code.
template <typename T>
std::int64_t FirstOther(const Tensor& codes, const std::vector<bool>& are_factors) {
  const std::span<const T> all = codes.As<T>();
  const auto found = std::ranges::find_if(all, [&](T code) { return !are_factors[code]; });
  return found == all.end() ? -1 : found - all.begin();
}

std::int64_t FirstNonFactor(ElementType type, const Tensor& codes) {
  static const std::vector<bool> kHalf = FactorCodesOf(ElementType::kFloat16);  // 65,536 of them
  if (type == ElementType::kFloat16) return FirstOther<std::uint16_t>(codes, kHalf);
  return FirstOther<std::uint8_t>(codes, FactorCodesOf(type));
}

}  // namespace

bool IsFactor(ElementType type, double value) {
  // ggml does not look at the sign of an E4M3.
  return std::isfinite(value) && !(type == ElementType::kFloat8E4M3FN && std::signbit(value));
}

Result<std::optional<std::string>> FindNonFinite(const GgmlType& type,
                                                 std::span<const std::byte> records) {
  const std::int64_t count = std::ssize(records) / type.bytes;
  for (std::int64_t at = 0; at < count; at += kRecordsAtOnce) {
    const std::int64_t some = std::min(kRecordsAtOnce, count - at);
    const auto bytes = records.subspan(static_cast<std::size_t>(at * type.bytes),
                                       static_cast<std::size_t>(some * type.bytes));
    QTX_ASSIGN_OR_RETURN(const RecordLayout layout,
                         RecordLayout::Make(TypeOf(type, {some * type.block}, true)));
    for (const EncodedField& field : type.fields) {
      if (field.role == EncodedRole::kCode || format::IsIntegerStorage(field.elem_type)) continue;
      const auto& found = *layout.Find(field.role, static_cast<std::size_t>(field.level));
      QTX_ASSIGN_OR_RETURN(const Tensor factors, layout.Decode(found, bytes));
      const std::int64_t bad = FirstNonFactor(field.elem_type, factors);
      if (bad >= 0) return NotFinite(at + bad / found.per_record);
    }
  }
  return std::optional<std::string>();
}

Result<Unpacked> UnpackRecords(const GgmlType& type, const Dims& dims,
                               std::span<const std::byte> records) {
  QTX_ASSIGN_OR_RETURN(const RecordLayout layout, RecordLayout::Make(TypeOf(type, dims, true)));
  Unpacked unpacked;
  QTX_ASSIGN_OR_RETURN(unpacked.codes, layout.Decode(*layout.Find(EncodedRole::kCode), records));
  for (const EncodedRole role : {EncodedRole::kScale, EncodedRole::kBase}) {
    for (std::size_t level = 0; layout.Find(role, level) != nullptr; ++level) {
      QTX_ASSIGN_OR_RETURN(Tensor factors, layout.Decode(*layout.Find(role, level), records));
      (role == EncodedRole::kScale ? unpacked.scale : unpacked.base).push_back(std::move(factors));
    }
  }
  return unpacked;
}

Result<std::optional<Unpacked>> UnpackVectors(const GgmlType& type, const Dims& dims,
                                              std::span<const std::byte> records,
                                              std::string& why) {
  std::optional<Unpacked> unpacked(std::in_place);
  QTX_ASSIGN_OR_RETURN(unpacked->codes, format::MakeTensor(ElementType::kInt8, dims));
  const auto size = static_cast<std::size_t>(type.block);
  std::size_t factors = 0;  // of a record
  if (type.scale.size() > 1) {
    factors = static_cast<std::size_t>(type.block / type.scale[0].block);
    QTX_ASSIGN_OR_RETURN(
        unpacked->scale.emplace_back(),
        format::MakeTensor(ElementType::kUint8, PerBlock(dims, type.scale[0].block)));
  }
  QTX_ASSIGN_OR_RETURN(unpacked->scale.emplace_back(),
                       format::MakeTensor(ElementType::kFloat16, PerBlock(dims, type.block)));
  const auto codec = VectorCodec::Make(type);
  const auto halves = unpacked->scale.back().As<std::uint16_t>();
  VectorRecord parts;
  std::vector<std::byte> again(static_cast<std::size_t>(type.bytes));
  for (std::size_t i = 0; i < halves.size(); ++i) {
    const auto record = records.subspan(i * again.size(), again.size());
    codec->Decode(record, parts);
    if (!IsFactor(ElementType::kFloat16,
                  format::DecodeSmallFloat(ElementType::kFloat16, parts.half))) {
      why = NotFinite(static_cast<std::int64_t>(i));
      return std::optional<Unpacked>();
    }
    std::ranges::fill(again, std::byte{0});
    if (!codec->Encode(parts, again) || !std::ranges::equal(again, record)) {
      why = AtRecord("bytes that no quantizer writes", static_cast<std::int64_t>(i));
      return std::optional<Unpacked>();
    }
    std::copy_n(parts.values, size, unpacked->codes.As<std::int8_t>().data() + i * size);
    std::copy_n(parts.factors, factors, unpacked->scale[0].As<std::uint8_t>().data() + i * factors);
    halves[i] = parts.half;
  }
  return unpacked;
}

}  // namespace qtx::convert::gguf
