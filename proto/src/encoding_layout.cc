// What an encoding says, checked: spec/format/encoding.md, encoding.C3 to C12.
#include <algorithm>
#include <array>
#include <bit>

#include "check_rules.h"
#include "encoding_bits.h"

namespace qtx::format {
namespace {

using encoding::Fault;
using encoding::RecordBits;

constexpr std::size_t kMaxFields = 9;  // the codes, and the factors of at most 4 + 4 levels
constexpr std::size_t kMaxSpans = 64;

std::string Indexed(const std::string& place, std::size_t i) {
  return place + "[" + std::to_string(i) + "]";
}

bool IsIntegerOfBits(ElementType type) {
  return type == ElementType::kUint8 || type == ElementType::kInt8;
}

bool HasSign(ElementType type) {
  return !IsIntegerStorage(type) && type != ElementType::kFloat8E8M0;
}

// The integers that `width` bits and a bias make.
IntegerRange RangeOfBits(const EncodedField& field, std::int32_t width) {
  const std::int64_t values = std::int64_t{1} << width;
  const std::int64_t least = field.elem_type == ElementType::kInt8 ? -values / 2 : 0;
  return {least + field.bias, least + values - 1 + field.bias};
}

bool Within(IntegerRange inner, IntegerRange outer) {
  return inner.min >= outer.min && inner.max <= outer.max;
}

std::string ToText(IntegerRange range) {
  return std::to_string(range.min) + " to " + std::to_string(range.max);
}

// Elements of a block of `level` along each axis of `q.axis`.
std::vector<std::int64_t> BlocksOf(const Quantization& q, const BlockFactors& level) {
  std::vector<std::int64_t> blocks = level.block_shape.empty() ? q.block_shape : level.block_shape;
  if (blocks.empty()) blocks.assign(q.axis.size(), 1);
  return blocks;
}

class LayoutMaker {
 public:
  LayoutMaker(const TensorType& type, const Dims& dims)
      : q_(*type.quantization),
        encoding_(*q_.encoding),
        storage_(IsQuantized(type.elem_type) ? StorageOf(type.elem_type) : q_.storage_type),
        annotation_(!IsQuantized(type.elem_type)),
        dims_(dims) {}

  // encoding.C3, C4 and C12.
  Result<void> CheckRecords() const;
  // C5 to C7, and the fields' own clauses.
  Result<std::vector<FieldLayout>> MakeFields();

 private:
  Result<void> CheckRole(std::size_t i, const EncodedField& field) const;
  Result<void> CheckLevels(const std::vector<BlockFactors>& levels, EncodedRole role,
                           const char* name) const;
  Result<void> CheckElementType(const std::string& place, const EncodedField& field) const;
  Result<void> PlaceCodes(FieldLayout* layout) const;
  Result<void> PlaceFactors(const std::string& place, const EncodedField& field,
                            FieldLayout* layout) const;
  Result<void> CheckWidth(const std::string& place, const EncodedField& field,
                          const std::vector<std::uint32_t>& value_bits, FieldLayout* layout) const;
  Result<void> SetInteger(const std::string& place, const EncodedField& field,
                          FieldLayout* layout) const;

  const Quantization& q_;
  const Encoding& encoding_;
  const ElementType storage_;
  const bool annotation_;
  const Dims& dims_;
};

Result<void> LayoutMaker::CheckRecords() const {
  const std::int64_t bytes = encoding_.record_bytes;
  if (bytes < 1 || bytes > kMaxRecordBytes) {
    return Fault("encoding.C3", "encoding.record_bytes", bytes,
                 "1 to " + std::to_string(kMaxRecordBytes));
  }
  if (!encoding_.unknown_fields.empty()) {
    return Fault("encoding.C12", "encoding", "has a field that this reader does not know");
  }
  const std::vector<std::int64_t>& shape = encoding_.record_shape;
  if (shape.size() != dims_.size()) {
    return Fault("encoding.C4", "encoding.record_shape",
                 FoundExpected(std::to_string(shape.size()) + " values",
                               std::to_string(dims_.size()) + ", one for each axis"));
  }
  std::int64_t elements = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::string place = Indexed("encoding.record_shape", i);
    if (shape[i] < 1 || dims_[i] % shape[i] != 0) {
      return Fault("encoding.C4", place, shape[i], "a divisor of " + std::to_string(dims_[i]));
    }
    if (shape[i] > kMaxRecordElements || elements * shape[i] > kMaxRecordElements) {
      return Fault("encoding.C4", "encoding.record_shape",
                   FoundExpected(ToString(std::span<const std::int64_t>(shape)),
                                 "at most " + std::to_string(kMaxRecordElements) + " elements"));
    }
    elements *= shape[i];
  }
  return {};
}

Result<void> LayoutMaker::CheckRole(std::size_t i, const EncodedField& field) const {
  const std::string place = Indexed("encoding.field", i);
  const bool unknown =
      !field.unknown_fields.empty() ||
      std::ranges::any_of(field.bits, [](const BitSpan& s) { return !s.unknown_fields.empty(); });
  if (unknown) {
    return Fault("encoding.C12", place, "has a role or a field that this reader does not know");
  }
  const bool code = field.role == EncodedRole::kCode;
  const auto& levels = field.role == EncodedRole::kBase ? q_.base_levels : q_.scale_levels;
  const char* name = field.role == EncodedRole::kBase ? "base_levels" : "scale_levels";
  const auto count = static_cast<std::int64_t>(levels.size());
  if (code ? field.level != 0 : field.level < 0 || field.level >= count) {
    return Fault("encoding.C5", place + ".level", field.level,
                 code ? "none for codes" : "a level of " + std::string(name));
  }
  const auto first = std::ranges::find_if(encoding_.fields, [&](const EncodedField& other) {
    return other.role == field.role && other.level == field.level;
  });
  if (&*first == &field) return {};
  return Fault("encoding.C5", place,
               "is a second field of the same " + std::string(code ? "role" : "level"));
}

// A level is in the records or beside them, and not in both.
Result<void> LayoutMaker::CheckLevels(const std::vector<BlockFactors>& levels, EncodedRole role,
                                      const char* name) const {
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (FindField(encoding_, role, i) == nullptr) continue;
    const bool beside = !levels[i].value.empty() || !levels[i].tensor.empty();
    // In an annotation there are no records.
    if (!beside || annotation_) continue;
    return Fault("encoding.C5", Indexed(name, i),
                 FoundExpected("a value or tensor", "none: the encoding has a field for it"));
  }
  return {};
}

// encoding.C7.
Result<void> LayoutMaker::CheckElementType(const std::string& place,
                                           const EncodedField& field) const {
  using enum ElementType;
  constexpr std::array kOfFactors = {kUint8,          kInt8,          kFloat,        kFloat16,
                                     kBfloat16,       kFloat8E8M0,    kFloat8E4M3FN, kFloat8E5M2,
                                     kFloat8E4M3FNUZ, kFloat8E5M2FNUZ};
  const bool integers = IsIntegerStorage(storage_);
  const bool code = field.role == EncodedRole::kCode;
  const bool fits = !code      ? std::ranges::find(kOfFactors, field.elem_type) != kOfFactors.end()
                    : integers ? IsIntegerOfBits(field.elem_type)
                               : field.elem_type == storage_;
  if (!fits) {
    return Fault("encoding.C7", place + ".elem_type",
                 FoundExpected(std::string(Name(field.elem_type)),
                               !code      ? "UINT8, INT8 or a float type that factors may have"
                               : integers ? "UINT8 or INT8"
                                          : std::string(Name(storage_))));
  }
  if (IsIntegerOfBits(field.elem_type) || field.bias == 0) return {};
  return Fault("encoding.C7", place + ".bias", field.bias, "none on a float type");
}

Result<void> LayoutMaker::PlaceCodes(FieldLayout* layout) const {
  const bool fits =
      QuantizedOf(storage_) && BitWidth(storage_) <= 8 && storage_ != ElementType::kBipolar1;
  if (!fits) {
    return Fault(
        "encoding.C7", "encoding",
        FoundExpected("one on " + std::string(Name(storage_)), "a storage of 2 to 8 bits"));
  }
  layout->type = storage_;
  layout->dims = dims_;
  const Dims strides = RowMajorStrides(dims_);
  layout->place = {0};
  for (std::size_t axis = 0; axis < dims_.size(); ++axis) {
    const std::int64_t size = encoding_.record_shape[axis];
    layout->step.push_back(size * strides[axis]);
    std::vector<std::int64_t> finer;
    finer.reserve(layout->place.size() * static_cast<std::size_t>(size));
    for (const std::int64_t start : layout->place) {
      for (std::int64_t k = 0; k < size; ++k) finer.push_back(start + k * strides[axis]);
    }
    layout->place = std::move(finer);
  }
  return {};
}

// encoding.C6. Along an axis that the type does not name, a block is the whole dimension.
Result<void> LayoutMaker::PlaceFactors(const std::string& place, const EncodedField& field,
                                       FieldLayout* layout) const {
  const auto& levels = field.role == EncodedRole::kBase ? q_.base_levels : q_.scale_levels;
  const std::vector<std::int64_t> blocks =
      BlocksOf(q_, levels[static_cast<std::size_t>(field.level)]);
  if (blocks.size() != q_.axis.size() || std::ranges::any_of(blocks, [](auto b) { return b < 1; }))
    return Fault("quantization.C14", place, "expected a block_shape as long as axis");
  std::vector<std::int64_t> block(dims_);
  for (std::size_t k = 0; k < blocks.size(); ++k)
    block[static_cast<std::size_t>(q_.axis[k])] = blocks[k];
  for (std::size_t axis = 0; axis < dims_.size(); ++axis) {
    const std::int64_t record = encoding_.record_shape[axis];
    if (dims_[axis] == 0 || record % block[axis] == 0) continue;
    return Fault("encoding.C6", place,
                 FoundExpected(
                     "records of " + std::to_string(record) + " along axis " + std::to_string(axis),
                     "a multiple of the level's block, " + std::to_string(block[axis])));
  }
  for (std::size_t k = 0; k < blocks.size(); ++k)
    layout->dims.push_back(dims_[static_cast<std::size_t>(q_.axis[k])] / blocks[k]);
  const Dims strides = RowMajorStrides(layout->dims);
  layout->step.assign(dims_.size(), 0);
  layout->place = {0};
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    const auto axis = static_cast<std::size_t>(q_.axis[k]);
    const std::int64_t here = std::max<std::int64_t>(encoding_.record_shape[axis] / blocks[k], 1);
    layout->step[axis] = here * strides[k];
    std::vector<std::int64_t> finer;
    for (const std::int64_t start : layout->place) {
      for (std::int64_t i = 0; i < here; ++i) finer.push_back(start + i * strides[k]);
    }
    layout->place = std::move(finer);
  }
  return {};
}

// encoding.C10: the lowest bits, all of them, in every value as many.
Result<void> LayoutMaker::CheckWidth(const std::string& place, const EncodedField& field,
                                     const std::vector<std::uint32_t>& value_bits,
                                     FieldLayout* layout) const {
  const std::uint32_t bits = value_bits[0];
  for (std::size_t i = 0; i < value_bits.size(); ++i) {
    const bool gap = (value_bits[i] & (value_bits[i] + 1)) != 0;
    if (value_bits[i] == bits && bits != 0 && !gap) continue;
    return Fault("encoding.C10", place,
                 value_bits[i] == 0
                     ? "gives value " + std::to_string(i) + " no bits"
                     : FoundExpected("bits of value " + std::to_string(i) + " as the mask " +
                                         std::to_string(value_bits[i]),
                                     "those from 0 on, as many as of value 0"));
  }
  const auto width = static_cast<std::int32_t>(std::bit_width(bits));
  const bool integer = IsIntegerOfBits(field.elem_type);
  const std::int32_t full = integer ? 8 : BitWidth(field.elem_type);
  const bool fits =
      integer ? width <= full : width == full || (width == full - 1 && HasSign(field.elem_type));
  if (!fits) {
    return Fault(
        "encoding.C10", place,
        FoundExpected(std::to_string(width) + " bits of " + std::string(Name(field.elem_type)),
                      integer ? "at most 8" : std::to_string(full) + ", or all but the sign"));
  }
  layout->width = width;
  return {};
}

// encoding.C11: what the bits and the bias make has a storage.
Result<void> LayoutMaker::SetInteger(const std::string& place, const EncodedField& field,
                                     FieldLayout* layout) const {
  const IntegerRange range = RangeOfBits(field, layout->width);
  const IntegerRange unsigned_byte = StorageRange(ElementType::kUint8);
  const IntegerRange signed_byte = StorageRange(ElementType::kInt8);
  const bool code = field.role == EncodedRole::kCode;
  const bool fits = code ? Within(range, StorageRange(storage_))
                         : Within(range, unsigned_byte) || Within(range, signed_byte);
  if (!fits) {
    return Fault("encoding.C11", place,
                 FoundExpected(ToText(range), code ? "integers of " + std::string(Name(storage_)) +
                                                         ", " + ToText(StorageRange(storage_))
                                                   : "integers of UINT8 or of INT8"));
  }
  if (!code) layout->type = Within(range, unsigned_byte) ? ElementType::kUint8 : ElementType::kInt8;
  const bool two_complement = field.elem_type == ElementType::kInt8;
  layout->flip = two_complement ? 1U << static_cast<unsigned>(layout->width - 1) : 0;
  layout->add = static_cast<std::int32_t>(range.min);
  return {};
}

Result<std::vector<FieldLayout>> LayoutMaker::MakeFields() {
  if (encoding_.fields.size() > kMaxFields || FindField(encoding_, EncodedRole::kCode) == nullptr) {
    return Fault("encoding.C5", "encoding.field",
                 FoundExpected(std::to_string(encoding_.fields.size()) + " fields",
                               "one of the codes, and at most 8 of levels"));
  }
  QTX_RETURN_IF_ERROR(CheckLevels(q_.scale_levels, EncodedRole::kScale, "scale_levels"));
  QTX_RETURN_IF_ERROR(CheckLevels(q_.base_levels, EncodedRole::kBase, "base_levels"));
  RecordBits record(encoding_.record_bytes);
  std::vector<FieldLayout> layouts;
  for (std::size_t i = 0; i < encoding_.fields.size(); ++i) {
    const EncodedField& field = encoding_.fields[i];
    const std::string place = Indexed("encoding.field", i);
    QTX_RETURN_IF_ERROR(CheckRole(i, field));
    FieldLayout layout{.role = field.role, .level = field.level, .type = field.elem_type};
    QTX_RETURN_IF_ERROR(field.role == EncodedRole::kCode ? PlaceCodes(&layout)
                                                         : PlaceFactors(place, field, &layout));
    QTX_RETURN_IF_ERROR(CheckElementType(place, field));
    layout.per_record = static_cast<std::int32_t>(layout.place.size());
    if (field.bits.size() > kMaxSpans) {
      return Fault("encoding.C8", place + ".bits", std::ssize(field.bits),
                   "at most " + std::to_string(kMaxSpans));
    }
    std::vector<std::uint32_t> value_bits(layout.place.size(), 0);
    for (std::size_t k = 0; k < field.bits.size(); ++k)
      QTX_RETURN_IF_ERROR(
          record.Add(Indexed(place + ".bits", k), field.bits[k], &layout.runs, &value_bits));
    QTX_RETURN_IF_ERROR(CheckWidth(place, field, value_bits, &layout));
    if (IsIntegerOfBits(field.elem_type)) QTX_RETURN_IF_ERROR(SetInteger(place, field, &layout));
    layouts.push_back(std::move(layout));
  }
  return layouts;
}

}  // namespace

const EncodedField* FindField(const Encoding& encoding, EncodedRole role, std::size_t level) {
  const auto found = std::ranges::find_if(encoding.fields, [&](const EncodedField& field) {
    return field.role == role && field.level >= 0 && static_cast<std::size_t>(field.level) == level;
  });
  return found == encoding.fields.end() ? nullptr : &*found;
}

Result<RecordLayout> RecordLayout::Make(const TensorType& type) {
  const auto dims = type.shape ? FixedDims(*type.shape) : std::nullopt;
  if (!dims) return Fault("encoding.C4", "encoding", "expected a fixed shape of the tensor");
  const auto count = ElementCount(std::span<const std::int64_t>(*dims));
  if (!count.has_value()) return Error(count.error());
  if (auto counts = ParameterDims(*type.quantization, *dims); !counts.has_value())
    return Fault("quantization.C7", counts.error().where, counts.error().message);
  LayoutMaker maker(type, *dims);
  QTX_RETURN_IF_ERROR(maker.CheckRecords());
  RecordLayout layout;
  QTX_ASSIGN_OR_RETURN(layout.fields_, maker.MakeFields());
  const Encoding& encoding = *type.quantization->encoding;
  layout.record_shape_ = encoding.record_shape;
  layout.record_bytes_ = encoding.record_bytes;
  layout.records_ = 1;
  for (std::size_t i = 0; i < dims->size(); ++i) {
    layout.grid_.push_back((*dims)[i] / encoding.record_shape[i]);
    layout.records_ *= layout.grid_.back();
  }
  return layout;
}

const FieldLayout* RecordLayout::Find(EncodedRole role, std::size_t level) const {
  const auto found = std::ranges::find_if(fields_, [&](const FieldLayout& field) {
    return field.role == role && static_cast<std::size_t>(field.level) == level;
  });
  return found == fields_.end() ? nullptr : &*found;
}

}  // namespace qtx::format
