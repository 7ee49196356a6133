#include "gguf/ggml_types.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "qtx/format/bit_field.h"
#include "qtx/format/levels.h"

namespace qtx::convert::gguf {
namespace {

using format::BitSpan;
using format::EncodedField;
using enum format::ElementType;
using enum format::EncodedRole;

constexpr std::int64_t kSuper = 256;  // elements of a super-block

using Fields = std::vector<EncodedField>;
using Spans = std::vector<BitSpan>;

EncodedField Field(format::EncodedRole role, std::int32_t level, format::ElementType type,
                   Spans bits, std::int32_t bias = 0) {
  return {.role = role, .level = level, .elem_type = type, .bias = bias, .bits = std::move(bits)};
}

EncodedField Codes(Spans bits, std::int32_t bias = 0, format::ElementType type = kUint8) {
  return Field(kCode, 0, type, std::move(bits), bias);
}

EncodedField Scales(Spans bits, std::int32_t bias = 0, format::ElementType type = kUint8) {
  return Field(kScale, 0, type, std::move(bits), bias);
}

EncodedField Bases(Spans bits) { return Field(kBase, 0, kUint8, std::move(bits)); }

// A binary16 that begins at byte `byte`.
EncodedField ScaleHalf(std::int32_t level, std::int32_t byte) {
  return Field(kScale, level, kFloat16, {Bits(0, 16, byte * 8, {1}, {16})});
}
EncodedField BaseHalf(std::int32_t level, std::int32_t byte) {
  return Field(kBase, level, kFloat16, {Bits(0, 16, byte * 8, {1}, {16})});
}

// 4 bits of each of 32 values in 16 bytes: first the low ones of all bytes, then the high ones.
BitSpan Halves(std::int32_t byte) { return Bits(0, 4, byte * 8, {16, 2}, {8, 4}); }
// 2 bits of each of 256 values: in both halves of 128, four times 32.
BitSpan Quarters(std::int32_t byte, std::int32_t value_bit = 0) {
  return Bits(value_bit, 2, byte * 8, {32, 4, 2}, {8, 2, 256});
}
// 4 bits of each of 256 values: in each of four parts of 64, twice 32.
BitSpan Nibbles64(std::int32_t byte) { return Bits(0, 4, byte * 8, {32, 2, 4}, {8, 4, 256}); }
// One bit of each of 256 values: eight times 32.
BitSpan Eighths(std::int32_t byte, std::int32_t value_bit) {
  return Bits(value_bit, 1, byte * 8, {32, 8}, {8, 1});
}
// Bytes of their own.
BitSpan Bytes(std::int32_t byte, std::int32_t count) { return Bits(0, 8, byte * 8, {count}, {8}); }

// The 6-bit factors of Q4_K and Q5_K: 8 of the scale and 8 of the minimum in the 12 bytes from 4
// on.
Spans SixBits(bool minimum) {
  const std::int32_t at = 32 + (minimum ? 32 : 0);
  return {Bits(0, 6, at, {4}, {8}), Bits(0, 4, 96 + (minimum ? 4 : 0), {4}, {8}, 4),
          Bits(4, 2, at + 6, {4}, {8}, 4)};
}

Fields KFields(EncodedField codes) {
  return {std::move(codes), Scales(SixBits(false)), ScaleHalf(1, 0), Bases(SixBits(true)),
          BaseHalf(1, 2)};
}

GgmlType Plain(std::uint32_t id, std::string_view name, format::ElementType type) {
  return {.id = id,
          .name = name,
          .bytes = format::BitWidth(type) / 8,
          .form = Form::kPlain,
          .elem_type = type};
}
GgmlType Opaque(std::uint32_t id, std::string_view name, std::int64_t block, std::int64_t bytes) {
  return {.id = id, .name = name, .block = block, .bytes = bytes};
}

// The integers that `width` bits of codes make, where the storage has more.
std::optional<format::IntegerRange> RangeOf(const EncodedField& codes, int width,
                                            format::ElementType type) {
  if (width == format::BitWidth(type)) return std::nullopt;
  const std::int64_t values = std::int64_t{1} << width;
  return format::IntegerRange{codes.bias, codes.bias + values - 1};
}

// A type whose records are an encoding, from which its levels and its range follow.
GgmlType Records(std::uint32_t id, std::string_view name, std::int64_t block, std::int64_t bytes,
                 format::ElementType elem_type, Fields fields) {
  GgmlType type{id, name, block, bytes, Form::kRecords, elem_type};
  for (const EncodedField& field : fields) {
    const format::BitField bits(field.bits, static_cast<std::int32_t>(bytes));
    if (field.role == kCode) {
      type.range = RangeOf(field, bits.width(), elem_type);
      continue;
    }
    auto& levels = field.role == kScale ? type.scale : type.base;
    levels.resize(std::max(levels.size(), static_cast<std::size_t>(field.level) + 1));
    levels[static_cast<std::size_t>(field.level)].block =
        block / static_cast<std::int64_t>(bits.size());
  }
  type.fields = std::move(fields);
  return type;
}

// The base of the records is subtracted.
GgmlType Minus(GgmlType type) {
  type.base.push_back({0, -1});
  return type;
}

std::vector<GgmlType> LegacyTypes() {
  return {
      Records(2, "Q4_0", 32, 18, kInt4Q, {Codes({Halves(2)}, -8), ScaleHalf(0, 0)}),
      Records(3, "Q4_1", 32, 20, kUint4Q, {Codes({Halves(4)}), ScaleHalf(0, 0), BaseHalf(0, 2)}),
      Records(6, "Q5_0", 32, 22, kInt8Q,
              {Codes({Halves(6), Bits(4, 1, 16, {32}, {1})}, -16), ScaleHalf(0, 0)}),
      Records(7, "Q5_1", 32, 24, kUint8Q,
              {Codes({Halves(8), Bits(4, 1, 32, {32}, {1})}), ScaleHalf(0, 0), BaseHalf(0, 2)}),
      Records(8, "Q8_0", 32, 34, kInt8Q, {Codes({Bytes(2, 32)}, 0, kInt8), ScaleHalf(0, 0)}),
      Records(39, "MXFP4", 32, 17, kFloat4E2M1Q,
              {Codes({Halves(1)}, 0, kFloat4E2M1), Scales({Bytes(0, 1)}, 0, kFloat8E8M0)}),
      Records(40, "NVFP4", 64, 36, kFloat4E2M1Q,
              {Codes({Bits(0, 4, 32, {8, 2, 4}, {8, 4, 64})}, 0, kFloat4E2M1),
               Scales({Bytes(0, 4)}, 0, kFloat8E4M3FN)}),
  };
}

std::vector<GgmlType> KTypes() {
  return {
      Minus(Records(10, "Q2_K", kSuper, 84, kUint2Q,
                    {Codes({Quarters(16)}), Scales({Bits(0, 4, 0, {16}, {8})}), ScaleHalf(1, 80),
                     Bases({Bits(0, 4, 4, {16}, {8})}), BaseHalf(1, 82)})),
      Records(
          11, "Q3_K", kSuper, 110, kInt8Q,
          {Codes({Quarters(32), Eighths(0, 2)}, -4),
           Scales({Bits(0, 4, 96 * 8, {8, 2}, {8, 4}), Bits(4, 2, 104 * 8, {4, 4}, {8, 2})}, -32),
           ScaleHalf(1, 108)}),
      Minus(Records(12, "Q4_K", kSuper, 144, kUint4Q, KFields(Codes({Nibbles64(16)})))),
      Minus(Records(13, "Q5_K", kSuper, 176, kUint8Q,
                    KFields(Codes({Nibbles64(48), Eighths(16, 4)})))),
      Records(14, "Q6_K", kSuper, 210, kInt8Q,
              {Codes({Bits(0, 4, 0, {32, 2, 2, 2}, {8, 256, 4, 512}), Quarters(128, 4)}, -32),
               Scales({Bytes(192, 16)}, 0, kInt8), ScaleHalf(1, 208)}),
      Records(35, "TQ2_0", kSuper, 66, kInt8Q, {Codes({Quarters(0)}, -1), ScaleHalf(0, 64)}),
  };
}

// Codes that choose one of 16 values. Source: kvalues_iq4nl in ggml-common.h.
std::vector<GgmlType> CodeBookTypes() {
  std::vector<GgmlType> types = {
      Records(20, "IQ4_NL", 32, 18, kUint4Q, {Codes({Halves(2)}), ScaleHalf(0, 0)}),
      Records(23, "IQ4_XS", kSuper, 136, kUint4Q,
              {Codes({Bits(0, 4, 64, {16, 2, 8}, {8, 4, 128})}),
               Scales({Bits(0, 4, 32, {8}, {4}), Bits(4, 2, 16, {8}, {2})}, -32), ScaleHalf(1, 0)}),
  };
  for (GgmlType& type : types) {
    type.code_book = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
  }
  return types;
}

// Vectors of a grid times an odd number of 4 bits or fewer, a binary16 and a power of two.
GgmlType Vectors(std::uint32_t id, std::string_view name, std::int64_t bytes, std::int64_t block,
                 float unit, format::IntegerRange range) {
  return {id, name, kSuper, bytes, Form::kVectors, kInt8Q, range, {{block}, {kSuper}, {0, unit}}};
}

std::vector<GgmlType> VectorTypes() {
  return {
      Vectors(16, "IQ2_XXS", 66, 32, 0.125F, {-43, 43}),
      Vectors(17, "IQ2_XS", 74, 16, 0.125F, {-43, 43}),
      Vectors(18, "IQ3_XXS", 98, 32, 0.25F, {-62, 62}),
      Vectors(19, "IQ1_S", 50, 32, 0.125F, {-9, 9}),
      Vectors(21, "IQ3_S", 110, 32, 1, {-15, 15}),
      Vectors(22, "IQ2_S", 82, 16, 0.125F, {-43, 43}),
      Vectors(29, "IQ1_M", 56, 16, 0.125F, {-9, 9}),
      {34, "TQ1_0", kSuper, 54, Form::kVectors, kInt8Q, {{-1, 1}}, {{kSuper}}},
  };
}

std::vector<GgmlType> MakeTypes() {
  std::vector<GgmlType> types = {
      Plain(0, "F32", kFloat),         Plain(1, "F16", kFloat16),   Plain(30, "BF16", kBfloat16),
      Plain(28, "F64", kDouble),       Plain(24, "I8", kInt8),      Plain(25, "I16", kInt16),
      Plain(26, "I32", kInt32),        Plain(27, "I64", kInt64),    Opaque(9, "Q8_1", 32, 0),
      Opaque(15, "Q8_K", kSuper, 292), Opaque(41, "Q1_0", 128, 18), Opaque(42, "Q2_0", 64, 18),
  };
  for (auto* more : {LegacyTypes, KTypes, CodeBookTypes, VectorTypes}) {
    std::vector<GgmlType> rows = more();
    std::ranges::move(rows, std::back_inserter(types));
  }
  return types;
}

// One block along the last axis, single elements along the others.
format::Dims LastAxis(std::size_t rank, std::int64_t block) {
  format::Dims dims(rank, 1);
  dims.back() = block;
  return dims;
}

std::vector<format::BlockFactors> LevelsOf(const std::vector<FactorLevel>& levels,
                                           const format::Dims& dims) {
  std::vector<format::BlockFactors> factors;
  for (const FactorLevel& level : levels) {
    format::BlockFactors& added = factors.emplace_back();
    if (level.block == 0) {
      added.value = {level.constant};
      added.block_shape = dims;
    } else {
      added.block_shape = LastAxis(dims.size(), level.block);
    }
  }
  return factors;
}

}  // namespace

BitSpan Bits(std::int32_t value_bit, std::int32_t width, std::int32_t record_bit,
             std::vector<std::int32_t> count, std::vector<std::int32_t> stride,
             std::int32_t first) {
  return {.value_bit = value_bit,
          .width = width,
          .first = first,
          .record_bit = record_bit,
          .count = std::move(count),
          .stride = std::move(stride),
          .unknown_fields = {}};
}

const std::vector<GgmlType>& GgmlTypes() {
  static const std::vector<GgmlType> types = MakeTypes();
  return types;
}

const GgmlType* FindGgmlType(std::uint32_t id) {
  const auto found = std::ranges::find(GgmlTypes(), id, &GgmlType::id);
  return found == GgmlTypes().end() ? nullptr : &*found;
}

format::TensorType TypeOf(const GgmlType& type, const format::Dims& dims, bool in_place) {
  format::TensorType result{.elem_type = type.elem_type, .shape = format::ToShape(dims)};
  if (type.form == Form::kPlain) return result;
  format::Quantization& q = result.quantization.emplace();
  q.axis.resize(dims.size());
  std::iota(q.axis.begin(), q.axis.end(), 0);
  q.block_shape = LastAxis(dims.size(), type.scale[0].block);
  q.scale_levels = LevelsOf(type.scale, dims);
  q.base_levels = LevelsOf(type.base, dims);
  if (type.range) {
    q.quant_min = type.range->min;
    q.quant_max = type.range->max;
  }
  if (!type.code_book.empty()) format::SetCodeBook(type.code_book, q);
  if (!in_place || type.form != Form::kRecords) return result;
  q.encoding = {.record_bytes = static_cast<std::int32_t>(type.bytes),
                .record_shape = LastAxis(dims.size(), type.block),
                .fields = type.fields};
  return result;
}

}  // namespace qtx::convert::gguf
