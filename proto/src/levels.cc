#include "levels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>
#include <type_traits>

#include "check_rules.h"
#include "level_products.h"
#include "qtx/format/encoding.h"
#include "qtx/format/limits.h"
#include "qtx/format/tensor.h"
#include "qtx/format/tensor_type.h"

namespace qtx::format {
namespace {

constexpr std::size_t kMaxLevels = 4;  // 4 factors of 24 bits are at most 96

std::int64_t CountOf(const Dims& counts) {
  std::int64_t count = 1;
  for (const std::int64_t n : counts) count *= n;
  return count;
}

// What the levels of one parameter are read with.
struct LevelReader {
  const ModelView& view;
  const Quantization& q;
  const Dims& dims;
  const std::string& field;
  bool is_scale;
  bool positive;                // factors of 0 and below are none
  const RecordLayout* records;  // nullptr where no encoding has factors
  const TensorData* initializer;

  std::string Place(std::size_t i, const char* part) const {
    return field + "[" + std::to_string(i) + "]" + part;
  }
  std::optional<LevelFault> ReadBlocks(std::size_t i, const BlockFactors& level, const Dims& finer,
                                       Level* read) const;
  std::optional<LevelFault> ReadFactors(std::size_t i, const BlockFactors& level,
                                        Level* read) const;
  std::optional<LevelFault> ReadTensor(std::size_t i, const BlockFactors& level, std::int64_t count,
                                       Level* read) const;
  std::optional<LevelFault> ReadRecords(std::size_t i, const FieldLayout& layout,
                                        Level* read) const;
  const FieldLayout* FieldOf(std::size_t i) const {
    if (records == nullptr) return nullptr;
    return records->Find(is_scale ? EncodedRole::kScale : EncodedRole::kBase, i);
  }
  std::optional<LevelFault> CheckFactors(std::size_t i, const Level& read) const;
};

// A binary16 as the binary32 that it is: the exponents differ by 127 - 15, but for infinity and
// NaN, whose bits are all ones.
float FromHalf(std::uint16_t code) {
  constexpr std::uint32_t kInfinity = 0x7c00U << 13U;
  const std::uint32_t bits = (code & 0x7fffU) << 13U;
  const float value = bits < kInfinity ? std::bit_cast<float>(bits) * 0x1p112F
                                       : std::bit_cast<float>(bits | 0x7f800000U);
  return (code & 0x8000U) != 0 ? -value : value;
}

template <typename T>
std::vector<float> Widened(const Tensor& tensor) {
  const std::span<const T> elements = tensor.As<T>();
  std::vector<float> factors(elements.size());
  std::ranges::transform(elements, factors.begin(), [](T value) {
    if constexpr (std::is_same_v<T, std::uint16_t>) return FromHalf(value);
    return static_cast<float>(value);
  });
  return factors;
}

// Every type that may hold factors has at most 24 bits: nothing is rounded.
std::vector<float> FactorsIn(const Tensor& tensor) {
  switch (StorageOf(tensor.elem_type)) {
    case ElementType::kFloat:
      return Widened<float>(tensor);
    case ElementType::kFloat16:
      return Widened<std::uint16_t>(tensor);
    case ElementType::kUint8:
      return Widened<std::uint8_t>(tensor);
    case ElementType::kInt8:
      return Widened<std::int8_t>(tensor);
    default:
      break;
  }
  const std::vector<double> values = StoredValues(tensor);
  std::vector<float> factors(values.size());
  std::ranges::transform(values, factors.begin(),
                         [](double value) { return static_cast<float>(value); });
  return factors;
}

// The first value that is not finite or, where `positive`, not above 0; all of them are looked at
// without a branch before one is searched for.
std::vector<float>::const_iterator FirstRefused(const std::vector<float>& values, bool positive) {
  const auto refused = [positive](float value) {
    const bool low = positive && !(value > 0);
    return !(std::fabs(value) <= std::numeric_limits<float>::max()) || low;
  };
  unsigned any = 0;
  for (const float value : values) any |= static_cast<unsigned>(refused(value));
  return any == 0 ? values.end() : std::ranges::find_if(values, refused);
}

// quantization.C14.
std::optional<LevelFault> LevelReader::ReadBlocks(std::size_t i, const BlockFactors& level,
                                                  const Dims& finer, Level* read) const {
  read->blocks = level.block_shape.empty() ? q.block_shape : level.block_shape;
  if (read->blocks.empty()) read->blocks.assign(q.axis.size(), 1);
  const std::string place = Place(i, ".block_shape");
  if (read->blocks.size() != q.axis.size()) {
    return LevelFault{
        "quantization.C14", place,
        FoundExpected(std::to_string(read->blocks.size()) + " values",
                      "none or " + std::to_string(q.axis.size()) + ", one for each axis")};
  }
  for (std::size_t k = 0; k < q.axis.size(); ++k) {
    const std::int64_t dim = dims[static_cast<std::size_t>(q.axis[k])];
    const std::int64_t block = read->blocks[k];
    const bool first_scale = is_scale && i == 0;
    const bool fits =
        first_scale ? block == finer[k] : block >= 1 && (block % finer[k] == 0 || block >= dim);
    if (!fits) {
      return LevelFault{
          "quantization.C14", place,
          FoundExpected(std::to_string(block) + " along axis " + std::to_string(q.axis[k]),
                        first_scale ? std::to_string(finer[k]) + ", the type's own"
                                    : "a multiple of " + std::to_string(finer[k]) +
                                          " or the whole dimension")};
    }
    read->counts.push_back(dim / block + (dim % block == 0 ? 0 : 1));
  }
  return std::nullopt;
}

bool MayHoldFactors(ElementType type) {
  if (IsQuantized(type)) return false;
  if (type == ElementType::kFloat || type == ElementType::kFloat16 ||
      type == ElementType::kBfloat16 || type == ElementType::kFloat8E8M0) {
    return true;
  }
  return (IsSmallFloat(type) && BitWidth(type) == 8) ||
         (IsIntegerStorage(type) && BitWidth(type) <= 8);
}

// quantization.C15. Its size is known before anything of it is read.
std::optional<LevelFault> LevelReader::ReadTensor(std::size_t i, const BlockFactors& level,
                                                  std::int64_t count, Level* read) const {
  const std::string place = Place(i, ".tensor");
  const std::string named = "initializer '" + level.tensor + "'";
  const TensorData* data = view.FindInitializer(level.tensor);
  const ValueInfo* info = view.FindValue(level.tensor);
  if (data == nullptr) return LevelFault{"quantization.C15", place, "there is no " + named};
  const bool quantized = info != nullptr && info->type && IsQuantized(info->type->elem_type);
  const ElementType type = quantized ? info->type->elem_type : data->data_type;
  if (!MayHoldFactors(type)) {
    return LevelFault{"quantization.C15", place,
                      FoundExpected(named + " of " + std::string(Name(type)),
                                    "FLOAT, FLOAT16, BFLOAT16, a float or an integer of 8 bits "
                                    "or an integer of fewer")};
  }
  const auto found = ElementCount(std::span<const std::int64_t>(data->dims));
  if (!found.has_value() || *found != count) {
    return LevelFault{"quantization.C13", place,
                      FoundExpected(named + " of shape " + ToString(data->dims),
                                    std::to_string(count) + " values")};
  }
  const auto tensor = Decode(*data, view.model().folder);
  if (!tensor.has_value()) {
    return LevelFault{"quantization.C15", place,
                      named + ": " + tensor.error().where +
                          (tensor.error().where.empty() ? "" : ": ") + tensor.error().message};
  }
  read->factors = FactorsIn(*tensor);
  return std::nullopt;
}

// Those in the records of an encoding.
std::optional<LevelFault> LevelReader::ReadRecords(std::size_t i, const FieldLayout& layout,
                                                   Level* read) const {
  const auto tensor = records->Decode(layout, *initializer, view.model().folder);
  if (!tensor.has_value()) {
    const Error& error = tensor.error();
    return LevelFault{error.clause.empty() ? "encoding.C2" : error.clause, Place(i, ""),
                      (error.where.empty() ? "" : error.where + ": ") + error.message};
  }
  read->factors = FactorsIn(*tensor);
  return CheckFactors(i, *read);
}

// quantization.C16, of each factor.
std::optional<LevelFault> LevelReader::CheckFactors(std::size_t i, const Level& read) const {
  const auto refused = FirstRefused(read.factors, positive);
  if (refused == read.factors.end()) return std::nullopt;
  return LevelFault{"quantization.C16",
                    Place(i, "") + "[" + std::to_string(refused - read.factors.begin()) + "]",
                    FoundExpected(HexFloat(static_cast<double>(*refused)),
                                  positive ? "a finite factor above 0" : "a finite factor")};
}

std::optional<LevelFault> LevelReader::ReadFactors(std::size_t i, const BlockFactors& level,
                                                   Level* read) const {
  if (const FieldLayout* layout = FieldOf(i)) return ReadRecords(i, *layout, read);
  const std::int64_t count = CountOf(read->counts);
  if (level.value.empty() == level.tensor.empty() && count > 0) {
    return LevelFault{
        "quantization.C13", Place(i, ""),
        FoundExpected(level.value.empty() ? "neither value nor tensor" : "both value and tensor",
                      "one of them")};
  }
  if (!level.tensor.empty()) {
    if (auto fault = ReadTensor(i, level, count, read)) return fault;
  } else if (static_cast<std::int64_t>(level.value.size()) != count) {
    return LevelFault{
        "quantization.C13", Place(i, ".value"),
        FoundExpected(std::to_string(level.value.size()) + " values", std::to_string(count))};
  } else {
    read->factors = level.value;
  }
  return CheckFactors(i, *read);
}

// All levels, each with its factors.
std::optional<LevelFault> ReadLevels(const LevelReader& reader,
                                     const std::vector<BlockFactors>& levels,
                                     std::vector<Level>* read) {
  if (levels.size() > kMaxLevels) {
    return LevelFault{"quantization.C13", reader.field,
                      FoundExpected(std::to_string(levels.size()) + " levels",
                                    "at most " + std::to_string(kMaxLevels))};
  }
  read->resize(levels.size());
  Dims finer = reader.q.block_shape;
  if (finer.empty()) finer.assign(reader.q.axis.size(), 1);
  for (std::size_t i = 0; i < levels.size(); ++i) {
    Level& level = (*read)[i];
    if (auto fault = reader.ReadBlocks(i, levels[i], finer, &level)) return fault;
    if (auto fault = reader.ReadFactors(i, levels[i], &level)) return fault;
    finer = level.blocks;
  }
  return std::nullopt;
}

// One value for each parameter, of which there are `counts`.
std::vector<float> ProductsOf(const Quantization& q, const Dims& counts,
                              const std::vector<Level>& read) {
  Dims block = q.block_shape;
  if (block.empty()) block.assign(counts.size(), 1);
  return Products(counts, block, read);
}

std::optional<LevelFault> Multiply(const LevelReader& reader, const Dims& counts,
                                   const std::vector<BlockFactors>& levels,
                                   std::vector<float>* values) {
  std::vector<Level> read;
  if (auto fault = ReadLevels(reader, levels, &read)) return fault;
  *values = ProductsOf(reader.q, counts, read);
  const auto refused = FirstRefused(*values, reader.positive);
  if (refused != values->end()) {
    return LevelFault{
        "quantization.C16", reader.field,
        FoundExpected("a product of " + HexFloat(static_cast<double>(*refused)) + " in parameter " +
                          std::to_string(refused - values->begin()),
                      reader.positive ? "a finite value above 0" : "a finite value")};
  }
  return std::nullopt;
}

// The first level's factors, and the products of those of all others.
std::optional<LevelFault> Split(const LevelReader& reader, const Dims& counts,
                                const std::vector<BlockFactors>& levels, std::vector<float>* fine,
                                std::vector<float>* coarse) {
  std::vector<Level> read;
  if (auto fault = ReadLevels(reader, levels, &read)) return fault;
  std::vector<Level> first(std::make_move_iterator(read.begin()),
                           std::make_move_iterator(read.begin() + 1));
  read.erase(read.begin());
  *fine = ProductsOf(reader.q, counts, first);
  *coarse = ProductsOf(reader.q, counts, read);
  return std::nullopt;
}

// The sizes of the axes that `q` names, 1 for all others: enough for ParameterDims. Nothing where
// `shape` does not say them.
std::optional<Dims> NamedDims(const Quantization& q, const std::optional<Shape>& shape) {
  if (q.axis.empty()) return Dims();
  if (!shape) return std::nullopt;
  Dims dims;
  for (std::size_t i = 0; i < shape->size(); ++i) {
    const auto& value = (*shape)[i].value;
    const bool named = std::ranges::find(q.axis, static_cast<std::int64_t>(i)) != q.axis.end();
    if (named && (!value || *value < 0)) return std::nullopt;
    dims.push_back(named ? *value : 1);
  }
  return dims;
}

// Whether blocks, offsets and bases are as many as axes and scales ask for; a file may say
// otherwise.
bool CountsFit(const Quantization& q) {
  const auto fits = [&](const auto& values) {
    return values.empty() || values.size() == 1 || values.size() == q.scale.size();
  };
  if (!q.block_shape.empty() && q.block_shape.size() != q.axis.size()) return false;
  if (!fits(q.offset)) return false;
  return !HasBase(q) || (!q.base_levels[0].value.empty() && fits(q.base_levels[0].value));
}

std::int64_t BlockAlong(const Quantization& q, std::size_t axis) {
  return q.block_shape.empty() ? 1 : q.block_shape[axis];
}

std::optional<LevelFault> CountParameters(const TensorType& type, const Quantization& q, Dims* dims,
                                          Dims* counts) {
  const auto named = NamedDims(q, type.shape);
  if (!named) return LevelFault{"shape.C3", "axis", "expected fixed sizes of the axes it names"};
  const auto found = ParameterDims(q, *named);
  if (!found.has_value()) {
    return LevelFault{"quantization.C7", found.error().where, found.error().message};
  }
  const auto count = ElementCount(std::span<const std::int64_t>(*found));
  if (!count.has_value() || *count > kMaxParameters) {
    return LevelFault{"quantization.C3", "axis",
                      "expected at most " + std::to_string(kMaxParameters) + " parameters"};
  }
  *dims = *named;
  *counts = *found;
  return std::nullopt;
}

// Where the factors of an encoded type are.
struct RecordSource {
  std::optional<RecordLayout> layout;
  const TensorData* initializer = nullptr;
  const RecordLayout* records() const { return layout ? &*layout : nullptr; }
};

std::optional<LevelFault> FindRecords(const ModelView& view, const TensorType& type,
                                      std::string_view name, RecordSource* source) {
  if (!IsEncoded(type)) return std::nullopt;
  auto made = RecordLayout::Make(type);
  if (!made.has_value())
    return LevelFault{made.error().clause, made.error().where, made.error().message};
  source->layout = *std::move(made);
  source->initializer = view.FindInitializer(name);
  if (source->initializer == nullptr)
    return LevelFault{"encoding.C1", "encoding", "expected on an initializer"};
  return std::nullopt;
}

const std::string kScaleLevels = "scale_levels", kBaseLevels = "base_levels";

}  // namespace

std::optional<LevelFault> MultiplyLevels(const ModelView& view, const TensorType& type,
                                         std::string_view name, Quantization* q, bool positive) {
  Dims dims, counts;
  if (auto fault = CountParameters(type, *q, &dims, &counts)) return fault;
  const Quantization& declared = *type.quantization;
  RecordSource source;
  if (auto fault = FindRecords(view, type, name, &source)) return fault;
  if (!declared.scale_levels.empty()) {
    std::vector<float> scale;
    const LevelReader reader{
        view, declared, dims, kScaleLevels, true, positive, source.records(), source.initializer};
    if (auto fault = Multiply(reader, counts, declared.scale_levels, &scale)) return fault;
    q->scale = std::move(scale);
    q->scale_levels.clear();
  }
  if (declared.base_levels.empty()) return std::nullopt;
  // A file that has this many scales may ask for as many bases.
  if (std::ssize(q->scale) != CountOf(counts)) {
    return LevelFault{"quantization.C3", "scale",
                      FoundExpected(std::to_string(q->scale.size()) + " values",
                                    std::to_string(CountOf(counts)))};
  }
  std::vector<float> base;
  const LevelReader reader{
      view, declared, dims, kBaseLevels, false, false, source.records(), source.initializer};
  if (auto fault = Multiply(reader, counts, declared.base_levels, &base)) return fault;
  q->base_levels.assign(1, BlockFactors());
  q->base_levels[0].value = std::move(base);
  return std::nullopt;
}

std::optional<LevelFault> SplitLevels(const ModelView& view, const TensorType& type,
                                      std::string_view name, const Quantization& q,
                                      Factors* factors) {
  Dims dims, counts;
  if (auto fault = CountParameters(type, q, &dims, &counts)) return fault;
  const Quantization& declared = *type.quantization;
  RecordSource source;
  if (auto fault = FindRecords(view, type, name, &source)) return fault;
  const auto count = static_cast<std::size_t>(CountOf(counts));
  if (declared.scale_levels.empty()) {
    factors->fine_scale = q.scale;
    factors->coarse_scale.assign(count, 1.0F);
  } else {
    const LevelReader reader{
        view, declared, dims, kScaleLevels, true, false, source.records(), source.initializer};
    factors->scale_levels = std::ssize(declared.scale_levels);
    if (auto fault = Split(reader, counts, declared.scale_levels, &factors->fine_scale,
                           &factors->coarse_scale))
      return fault;
  }
  if (declared.base_levels.empty()) {
    factors->fine_base.assign(count, 0.0F);
    factors->coarse_base.assign(count, 1.0F);
    return std::nullopt;
  }
  const LevelReader reader{
      view, declared, dims, kBaseLevels, false, false, source.records(), source.initializer};
  return Split(reader, counts, declared.base_levels, &factors->fine_base, &factors->coarse_base);
}

bool SameParameters(const Quantization& a, const Quantization& b) {
  if (a.scale != b.scale || a.axis != b.axis || a.code_book != b.code_book) return false;
  if (!CountsFit(a) || !CountsFit(b)) return false;
  for (std::size_t i = 0; i < a.axis.size(); ++i) {
    if (BlockAlong(a, i) != BlockAlong(b, i)) return false;
  }
  for (std::size_t i = 0; i < a.scale.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    if (OffsetAt(a, at) != OffsetAt(b, at) || BaseAt(a, at) != BaseAt(b, at)) return false;
  }
  return true;
}

}  // namespace qtx::format
