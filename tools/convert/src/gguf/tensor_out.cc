#include "gguf/tensor_out.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "errors.h"
#include "gguf/tensor_in.h"
#include "gguf/vectors.h"
#include "qtx/format/encoding.h"
#include "qtx/format/external_elements.h"
#include "qtx/format/tensor_type.h"

namespace qtx::convert::gguf {
namespace {

using format::Dims;
using format::ElementType;
using format::EncodedRole;
using format::Quantization;
using format::Tensor;

// Elements that share a parameter along each axis, whether the type names the axis or not.
Dims Blocks(const Quantization& q, const Dims& block_shape, const Dims& dims) {
  Dims blocks = dims;
  for (std::size_t i = 0; i < q.axis.size(); ++i) {
    const auto axis = static_cast<std::size_t>(q.axis[i]);
    blocks[axis] = std::min(dims[axis], block_shape.empty() ? 1 : block_shape[i]);
  }
  return blocks;
}

bool HasBlocks(const Dims& blocks, const Dims& dims, std::int64_t block) {
  for (std::size_t i = 0; i + 1 < dims.size(); ++i) {
    if (blocks[i] != 1) return false;
  }
  return blocks.back() == std::min(dims.back(), block);
}

// The levels that a scale has, be they one vector or one tensor for all parameters.
std::vector<format::BlockFactors> ScaleLevels(const Quantization& q) {
  if (!q.scale_levels.empty()) return q.scale_levels;
  return {{.value = q.scale, .tensor = q.scale_tensor, .block_shape = {}, .unknown_fields = {}}};
}

bool LevelsFit(const std::vector<FactorLevel>& expected,
               const std::vector<format::BlockFactors>& levels, const Quantization& q,
               const Dims& dims) {
  if (levels.size() != expected.size()) return false;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const Dims& own = levels[i].block_shape;
    const Dims blocks = Blocks(q, own.empty() ? q.block_shape : own, dims);
    if (expected[i].block == 0) {
      if (blocks != dims || levels[i].value != std::vector<float>{expected[i].constant})
        return false;
    } else if (!HasBlocks(blocks, dims, expected[i].block)) {
      return false;
    }
  }
  return true;
}

// Whether the bits of `type` can be exactly that factor, and which they are.
bool FindCode(ElementType type, double value, std::uint32_t& code) {
  if (!IsFactor(type, value)) return false;
  if (format::IsIntegerStorage(type)) {
    const format::IntegerRange range = format::StorageRange(type);
    if (value != std::floor(value) || value < static_cast<double>(range.min) ||
        value > static_cast<double>(range.max)) {
      return false;
    }
    code = static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
    return true;
  }
  code = format::EncodeSmallFloat(type, value);
  return format::DecodeSmallFloat(type, code) == value;
}

// The factors as values of `type`, of 8 or 16 bits, each exactly the same.
Result<Tensor> FactorsAs(ElementType type, Tensor factors) {
  const std::vector<double> values = format::StoredValues(factors);
  QTX_ASSIGN_OR_RETURN(Tensor converted, format::MakeTensor(type, factors.dims));
  const std::size_t bytes = static_cast<std::size_t>(format::BitWidth(type)) / 8;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint32_t code = 0;
    if (!FindCode(type, values[i], code)) {
      return Unsupported("factor [" + std::to_string(i) + "]",
                         "is " + format::HexFloat(values[i]) + ", which its bits cannot be");
    }
    std::memcpy(converted.bytes.data() + i * bytes, &code, bytes);
  }
  return factors.elem_type == type ? std::move(factors) : std::move(converted);
}

// The elements of an initializer, a part at a time: of a file, where they lie in one.
class Elements {
 public:
  static Result<Elements> Of(const format::TensorData& data, const std::string& folder) {
    Elements elements;
    QTX_ASSIGN_OR_RETURN(elements.range_, format::RangeOfElements(data, folder));
    if (elements.range_) {
      QTX_RETURN_IF_ERROR(format::CheckCarrier(data, folder));
      QTX_ASSIGN_OR_RETURN(elements.count_,
                           format::ElementCount(std::span<const std::int64_t>(data.dims)));
      elements.whole_.elem_type = data.data_type;
      return elements;
    }
    QTX_ASSIGN_OR_RETURN(elements.whole_, format::Decode(data, folder));
    elements.count_ = format::ElementCount(elements.whole_);
    return elements;
  }
  static Elements Of(const std::vector<float>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    Elements elements;
    elements.count_ = std::ssize(values);
    elements.whole_ = {
        ElementType::kFloat, {elements.count_}, std::nullopt, {bytes.begin(), bytes.end()}};
    return elements;
  }

  ElementType type() const { return whole_.elem_type; }
  std::int64_t count() const { return count_; }
  /// A list.  REQUIRES: the elements from `begin` on begin at a byte.
  Result<Tensor> Part(std::int64_t begin, std::int64_t count) const {
    QTX_ASSIGN_OR_RETURN(Tensor part, format::MakeTensor(type(), {count}));
    const std::int64_t at = begin * format::BitWidth(type()) / 8;
    if (range_) {
      QTX_RETURN_IF_ERROR(format::ReadRange(*range_, at, part.bytes));
    } else {
      std::copy_n(whole_.bytes.begin() + at, part.bytes.size(), part.bytes.begin());
    }
    return part;
  }

 private:
  std::optional<format::FileRange> range_;
  Tensor whole_;  // of a range: its type alone
  std::int64_t count_ = 0;
};

// The factors of a level that is no constant, one for each `block` elements.
struct Level {
  Elements factors;
  std::int64_t block;
};

Result<std::vector<Level>> FindLevels(const std::vector<format::BlockFactors>& levels,
                                      const std::vector<FactorLevel>& expected,
                                      std::int64_t elements, const format::ModelView& view) {
  std::vector<Level> found;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].block == 0) continue;
    Elements factors = Elements::Of(levels[i].value);
    if (const std::string& name = levels[i].tensor; !name.empty()) {
      const format::TensorData* data = view.FindInitializer(name);
      if (data == nullptr) return Invalid("factors", "there is no initializer '" + name + "'");
      QTX_ASSIGN_OR_RETURN(factors, Elements::Of(*data, view.model().folder));
    }
    const std::int64_t count = elements / expected[i].block;
    if (factors.count() != count)
      return Invalid("factors", "found another number than " + std::to_string(count));
    found.push_back({std::move(factors), expected[i].block});
  }
  return found;
}

Result<std::vector<Tensor>> PartsOf(const std::vector<Level>& levels, std::int64_t begin,
                                    std::int64_t count) {
  std::vector<Tensor> parts;
  for (const Level& level : levels) {
    QTX_ASSIGN_OR_RETURN(Tensor part, level.factors.Part(begin / level.block, count / level.block));
    parts.push_back(std::move(part));
  }
  return parts;
}

Result<void> PackField(const format::RecordLayout& layout, EncodedRole role, std::size_t level,
                       const Tensor& values, std::span<std::byte> records) {
  const auto written = layout.Encode(*layout.Find(role, level), values, records);
  if (written.has_value()) return {};
  const char* what = role == EncodedRole::kCode    ? ""
                     : role == EncodedRole::kScale ? "scale, "
                                                   : "base, ";
  return Unsupported(what + written.error().where, written.error().message);
}

Result<void> PackRecords(const GgmlType& type, const Dims& dims, Unpacked parts,
                         std::span<std::byte> records) {
  QTX_ASSIGN_OR_RETURN(const auto layout, format::RecordLayout::Make(TypeOf(type, dims, true)));
  QTX_RETURN_IF_ERROR(PackField(layout, EncodedRole::kCode, 0, parts.codes, records));
  for (const EncodedRole role : {EncodedRole::kScale, EncodedRole::kBase}) {
    std::vector<Tensor>& levels = role == EncodedRole::kScale ? parts.scale : parts.base;
    for (std::size_t i = 0; i < levels.size(); ++i) {
      QTX_ASSIGN_OR_RETURN(const Tensor factors,
                           FactorsAs(layout.Find(role, i)->type, std::move(levels[i])));
      QTX_RETURN_IF_ERROR(PackField(layout, role, i, factors, records));
    }
  }
  return {};
}

Result<void> PackVectors(const GgmlType& type, Unpacked parts, std::span<std::byte> records) {
  const auto size = static_cast<std::size_t>(type.block);
  std::size_t count = 0;  // factors of a record
  Tensor factors;
  if (parts.scale.size() > 1) {
    count = static_cast<std::size_t>(type.block / type.scale[0].block);
    QTX_ASSIGN_OR_RETURN(factors, FactorsAs(ElementType::kUint8, std::move(parts.scale[0])));
  }
  QTX_ASSIGN_OR_RETURN(const Tensor halves,
                       FactorsAs(ElementType::kFloat16, std::move(parts.scale.back())));
  const auto codec = VectorCodec::Make(type);
  VectorRecord record;
  for (std::size_t i = 0; i < halves.As<std::uint16_t>().size(); ++i) {
    std::copy_n(parts.codes.As<std::int8_t>().data() + i * size, size, record.values);
    std::copy_n(factors.As<std::uint8_t>().data() + i * count, count, record.factors);
    record.half = halves.As<std::uint16_t>()[i];
    const auto bytes = static_cast<std::size_t>(type.bytes);
    if (!codec->Encode(record, records.subspan(i * bytes, bytes))) {
      return Unsupported("elements from " + std::to_string(i * size) + " on",
                         "are no record of " + std::string(type.name));
    }
  }
  return {};
}

}  // namespace

bool IsAsInFile(const GgmlType& type, const Dims& dims, const format::TensorData& data,
                const format::TensorType* declared) {
  const bool quantized = declared != nullptr && format::IsQuantized(declared->elem_type);
  if (type.form == Form::kPlain)
    return !quantized && data.data_type == type.elem_type && data.dims == dims;
  if (!quantized || type.form != Form::kRecords || !declared->quantization) return false;
  const auto count = format::ElementCount(std::span<const std::int64_t>(dims));
  if (!count.has_value() || data.data_type != ElementType::kUint8 ||
      data.dims != Dims{*count / type.block * type.bytes}) {
    return false;
  }
  const format::TensorType expected = TypeOf(type, dims, true);
  return declared->elem_type == expected.elem_type && declared->shape == expected.shape &&
         declared->quantization->encoding == expected.quantization->encoding &&
         CouldHold(type, dims, *declared);
}

bool CouldHold(const GgmlType& type, const Dims& dims, const format::TensorType& declared) {
  if (type.form != Form::kRecords && type.form != Form::kVectors) return false;
  if (declared.elem_type != type.elem_type || !declared.quantization || dims.empty() ||
      dims.back() % type.block != 0) {
    return false;
  }
  const Quantization& q = *declared.quantization;
  const auto range = format::StoredRange(declared.elem_type, q);
  const auto limits = type.range.value_or(format::StorageRange(type.elem_type));
  const bool plain = q.offset_tensor.empty() && q.code_book_tensor.empty() &&
                     std::ranges::all_of(q.offset, [](std::int32_t offset) { return offset == 0; });
  return plain && q.code_book == type.code_book && range.min >= limits.min &&
         range.max <= limits.max && LevelsFit(type.scale, ScaleLevels(q), q, dims) &&
         LevelsFit(type.base, q.base_levels, q, dims);
}

Result<void> EncodeTensor(const GgmlType& type, const Dims& dims, const format::ModelView& view,
                          const format::TensorData& data, const format::TensorType& declared,
                          const PutRecords& put) {
  constexpr std::int64_t kChunk = std::int64_t{1} << 23;  // elements; whole records of every type
  QTX_ASSIGN_OR_RETURN(const Elements codes, Elements::Of(data, view.model().folder));
  const ElementType storage = format::StorageOf(type.elem_type);
  const std::int64_t elements = *format::ElementCount(std::span<const std::int64_t>(dims));
  if (codes.type() != storage || codes.count() != elements)
    return Invalid("", "found other elements than " + std::string(format::Name(storage)) +
                           format::ToString(std::span(dims)));
  const Quantization& q = *declared.quantization;
  QTX_ASSIGN_OR_RETURN(const auto scale, FindLevels(ScaleLevels(q), type.scale, elements, view));
  QTX_ASSIGN_OR_RETURN(const auto base, FindLevels(q.base_levels, type.base, elements, view));
  for (std::int64_t begin = 0; begin < elements; begin += kChunk) {
    const std::int64_t count = std::min(kChunk, elements - begin);
    Unpacked parts;
    QTX_ASSIGN_OR_RETURN(parts.codes, codes.Part(begin, count));
    QTX_ASSIGN_OR_RETURN(parts.scale, PartsOf(scale, begin, count));
    QTX_ASSIGN_OR_RETURN(parts.base, PartsOf(base, begin, count));
    std::string records(static_cast<std::size_t>(count / type.block * type.bytes), '\0');
    const auto bytes = std::as_writable_bytes(std::span(records));
    const auto packed = type.form == Form::kVectors
                            ? PackVectors(type, std::move(parts), bytes)
                            : PackRecords(type, {count}, std::move(parts), bytes);
    if (!packed.has_value())
      return begin == 0 ? packed.error()
                        : At("from element " + std::to_string(begin) + " on", packed.error());
    QTX_RETURN_IF_ERROR(put(std::move(records)));
  }
  return {};
}

}  // namespace qtx::convert::gguf
