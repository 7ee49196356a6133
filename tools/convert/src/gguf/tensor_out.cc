#include "gguf/tensor_out.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "errors.h"
#include "gguf/bits.h"
#include "gguf/vectors.h"
#include "qtx/format/tensor_type.h"

namespace qtx::convert::gguf {
namespace {

using format::Dims;
using format::ElementType;
using format::EncodedField;
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

std::uint32_t CodeAt(const Tensor& tensor, std::int64_t element) {
  const auto width = static_cast<std::int64_t>(format::BitWidth(tensor.elem_type));
  std::uint32_t code = 0;
  const auto byte = static_cast<std::size_t>(element * width / 8);
  for (std::int64_t k = 0; k < (width + 7) / 8; ++k)
    code |= static_cast<std::uint32_t>(tensor.bytes[byte + static_cast<std::size_t>(k)]) << (8 * k);
  if (width < 8) code = code >> (element * width % 8) & ((1U << width) - 1);
  return code;
}

bool IsInteger(ElementType type) { return format::IsIntegerStorage(type); }

// Sign-extended, where the type is signed.
std::int64_t IntegerAt(const Tensor& tensor, std::int64_t element) {
  const auto width = static_cast<unsigned>(format::BitWidth(tensor.elem_type));
  const std::uint32_t code = CodeAt(tensor, element);
  const bool negative = format::StorageRange(tensor.elem_type).min < 0 && code >> (width - 1) != 0;
  return static_cast<std::int64_t>(code) - (negative ? std::int64_t{1} << width : 0);
}

Error NotHeld(const char* what, std::int64_t i, double value) {
  return Unsupported(std::string(what) + " [" + std::to_string(i) + "]",
                     "is " + format::HexFloat(value) + ", which its bits cannot be");
}

// A factor as a value of `storage`, exactly.
Result<std::uint32_t> FactorCode(const Tensor& factors, std::int64_t i, double value,
                                 ElementType storage) {
  if (factors.elem_type == storage) return CodeAt(factors, i);
  if (IsInteger(storage)) {
    const format::IntegerRange range = format::StorageRange(storage);
    if (value != std::floor(value) || value < static_cast<double>(range.min) ||
        value > static_cast<double>(range.max)) {
      return NotHeld("factor", i, value);
    }
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
  }
  const std::uint32_t code = format::EncodeSmallFloat(storage, value);
  if (format::DecodeSmallFloat(storage, code) != value) return NotHeld("factor", i, value);
  return code;
}

class Encoder {
 public:
  Encoder(const GgmlType& type, const Dims& dims, const format::ModelView& view,
          const format::TensorData& data, const format::TensorType& declared)
      : type_(type), dims_(dims), view_(view), data_(data), q_(*declared.quantization) {}

  Result<std::string> Run() {
    QTX_ASSIGN_OR_RETURN(codes_, format::Decode(data_, view_.model().folder));
    count_ = format::ElementCount(codes_) / type_.block;
    QTX_RETURN_IF_ERROR(Load(ScaleLevels(q_), type_.scale, scale_));
    QTX_RETURN_IF_ERROR(Load(q_.base_levels, type_.base, base_));
    records_.assign(static_cast<std::size_t>(count_ * type_.bytes), '\0');
    QTX_RETURN_IF_ERROR(type_.form == Form::kVectors ? Vectors() : Fields());
    return std::move(records_);
  }

 private:
  Result<void> Load(const std::vector<format::BlockFactors>& levels,
                    const std::vector<FactorLevel>& expected, std::vector<Tensor>& loaded) const {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (expected[i].block == 0) continue;
      QTX_ASSIGN_OR_RETURN(Tensor factors, Factors(levels[i]));
      const std::int64_t count = count_ * (type_.block / expected[i].block);
      if (format::ElementCount(factors) != count)
        return Invalid("factors", "found another number than " + std::to_string(count));
      loaded.push_back(std::move(factors));
    }
    return {};
  }

  Result<Tensor> Factors(const format::BlockFactors& level) const {
    if (level.tensor.empty()) {
      const auto bytes = std::as_bytes(std::span(level.value));
      return Tensor{ElementType::kFloat,
                    {std::ssize(level.value)},
                    std::nullopt,
                    {bytes.begin(), bytes.end()}};
    }
    const format::TensorData* data = view_.FindInitializer(level.tensor);
    if (data == nullptr)
      return Invalid("factors", "there is no initializer '" + level.tensor + "'");
    return format::Decode(*data, view_.model().folder);
  }

  std::span<std::byte> Record(std::int64_t i) {
    return std::as_writable_bytes(std::span(records_))
        .subspan(static_cast<std::size_t>(i * type_.bytes), static_cast<std::size_t>(type_.bytes));
  }

  Result<void> Fields() {
    for (const EncodedField& field : type_.fields) {
      const auto level = static_cast<std::size_t>(field.level);
      if (field.role == EncodedRole::kCode) {
        QTX_RETURN_IF_ERROR(Put(field, codes_, format::StorageOf(type_.elem_type), "element"));
      } else if (field.role == EncodedRole::kScale) {
        QTX_RETURN_IF_ERROR(Put(field, scale_[level], type_.scale[level].storage, "scale"));
      } else {
        QTX_RETURN_IF_ERROR(Put(field, base_[level], type_.base[level].storage, "base"));
      }
    }
    return {};
  }

  // Writes one field of all records. A value is that of the storage, less the bias.
  Result<void> Put(const EncodedField& field, const Tensor& tensor, ElementType storage,
                   const char* what) {
    const BitField bits(field.bits);
    const auto per_record = static_cast<std::int64_t>(bits.size());
    const bool converts = tensor.elem_type != storage;
    const std::vector<double> values =
        converts ? format::StoredValues(tensor) : std::vector<double>();
    const std::int64_t limit = std::int64_t{1} << bits.width();
    for (std::int64_t i = 0; i < count_ * per_record; ++i) {
      QTX_ASSIGN_OR_RETURN(
          const std::uint32_t code,
          FactorCode(tensor, i, converts ? values[static_cast<std::size_t>(i)] : 0, storage));
      std::int64_t raw = code;
      if (IsInteger(storage)) {
        const std::int64_t value =
            converts ? static_cast<std::int32_t>(code) : IntegerAt(tensor, i);
        raw = value - field.bias;
        // Two's complement in all bits of a byte.
        if (field.elem_type == ElementType::kInt8 && raw < 0) raw += limit;
        if (raw < 0 || raw >= limit) return NotHeld(what, i, static_cast<double>(value));
      }
      bits.Put(Record(i / per_record), static_cast<std::size_t>(i % per_record),
               static_cast<std::uint32_t>(raw));
    }
    return {};
  }

  Result<void> Vectors() {
    const auto codec = VectorCodec::Make(type_);
    const std::int64_t factors = scale_.size() == 1 ? 0 : type_.block / type_.scale[0].block;
    const std::vector<double> odd =
        factors == 0 ? std::vector<double>() : format::StoredValues(scale_[0]);
    const std::vector<double> halves = format::StoredValues(scale_.back());
    VectorRecord parts;
    for (std::int64_t i = 0; i < count_; ++i) {
      for (std::int64_t k = 0; k < type_.block; ++k)
        parts.values[k] = static_cast<std::int8_t>(IntegerAt(codes_, i * type_.block + k));
      for (std::int64_t k = 0; k < factors; ++k) {
        const std::int64_t at = i * factors + k;
        QTX_ASSIGN_OR_RETURN(
            const std::uint32_t factor,
            FactorCode(scale_[0], at, odd[static_cast<std::size_t>(at)], ElementType::kUint8));
        parts.factors[k] = static_cast<std::uint8_t>(factor);
      }
      QTX_ASSIGN_OR_RETURN(
          const std::uint32_t half,
          FactorCode(scale_.back(), i, halves[static_cast<std::size_t>(i)], ElementType::kFloat16));
      parts.half = static_cast<std::uint16_t>(half);
      if (!codec->Encode(parts, Record(i))) {
        return Unsupported("elements from " + std::to_string(i * type_.block) + " on",
                           "are no record of " + std::string(type_.name));
      }
    }
    return {};
  }

  const GgmlType& type_;
  const Dims& dims_;
  const format::ModelView& view_;
  const format::TensorData& data_;
  const Quantization& q_;
  Tensor codes_;
  std::int64_t count_ = 0;  // records
  std::vector<Tensor> scale_, base_;
  std::string records_;
};

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

Result<std::string> EncodeTensor(const GgmlType& type, const Dims& dims,
                                 const format::ModelView& view, const format::TensorData& data,
                                 const format::TensorType& declared) {
  return Encoder(type, dims, view, data, declared).Run();
}

}  // namespace qtx::convert::gguf
