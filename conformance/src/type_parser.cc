#include "type_parser.h"

#include <array>
#include <limits>
#include <string>
#include <utility>

#include "generator.h"
#include "qtx/conformance/case.h"
#include "yaml_encoding.h"

namespace qtx::conformance {
namespace {

using format::ElementType;
using format::Quantization;
using format::Scheme;

constexpr std::int64_t kMaxGeneratedParameters = std::int64_t{1} << 16;

Result<std::int32_t> ReadInt32(const Yaml& node, const Place& place) {
  QTX_ASSIGN_OR_RETURN(const std::int64_t value, ReadInt(node, place));
  if (value < std::numeric_limits<std::int32_t>::min() ||
      value > std::numeric_limits<std::int32_t>::max()) {
    return Refuse(place, node,
                  "found " + std::to_string(value) + ", expected an integer of 32 bits");
  }
  return static_cast<std::int32_t>(value);
}

std::string ElementTypeNames() {
  std::string names;
  for (std::int64_t code = 1; code <= static_cast<std::int64_t>(ElementType::kBipolar1Q); ++code) {
    const auto type = format::ElementTypeFromCode(code);
    if (type) names += (names.empty() ? "" : ", ") + std::string(format::Name(*type));
  }
  return names;
}

Result<ElementType> ReadElementType(const Yaml& node, const Place& place) {
  QTX_ASSIGN_OR_RETURN(const std::string name, ReadString(node, place));
  if (const auto type = format::ElementTypeFromName(name)) return *type;
  return Refuse(place, node, "found '" + name + "', expected one of " + ElementTypeNames());
}

Result<Scheme> ReadScheme(const Yaml& node, const Place& place) {
  QTX_ASSIGN_OR_RETURN(const std::string name, ReadString(node, place));
  std::string expected;
  for (int code = 0; code <= static_cast<int>(Scheme::kSymmetricUint8); ++code) {
    const auto scheme = static_cast<Scheme>(code);
    if (format::Name(scheme) == name) return scheme;
    expected += (expected.empty() ? "" : ", ") + std::string(format::Name(scheme));
  }
  return Refuse(place, node, "found '" + name + "', expected one of " + expected);
}

// A dimension: a number, a symbol, or ? if unknown.
Result<format::Dimension> ReadDimension(const Yaml& node, const Place& place) {
  QTX_ASSIGN_OR_RETURN(const std::string text, ReadString(node, place));
  format::Dimension dimension;
  if (LooksLikeInt(text)) {
    QTX_ASSIGN_OR_RETURN(dimension.value, ReadInt(node, place));
  } else if (text != "?") {
    dimension.symbol = text;
  }
  return dimension;
}

// Reads `key` of a map into `field`; `present` becomes true if it exists.
template <typename T, typename Field>
Result<void> Optional(const Yaml& node, const Place& place, std::string_view key,
                      Result<T> (*read)(const Yaml&, const Place&), Field& field,
                      bool* present = nullptr) {
  const Yaml* found = node.Find(key);
  if (found == nullptr) return {};
  QTX_ASSIGN_OR_RETURN(field, read(*found, place.Child(key)));
  if (present != nullptr) *present = true;
  return {};
}

template <typename T, Result<T> (*read)(const Yaml&, const Place&)>
Result<std::vector<T>> ReadListOf(const Yaml& node, const Place& place) {
  return ReadList(node, place, read);
}
constexpr auto* kInt32s = ReadListOf<std::int32_t, ReadInt32>;
constexpr auto* kInts = ReadListOf<std::int64_t, ReadInt>;
constexpr auto* kUints = ReadListOf<std::uint64_t, ReadUint>;
constexpr auto* kFloats = ReadListOf<float, ReadFloat<float>>;
constexpr auto* kDoubles = ReadListOf<double, ReadFloat<double>>;

// The generator of a scale or offset: `{generate: {kind: extreme, seed: 3, count: 4}}`.
struct ParameterGenerator {
  std::string kind;
  std::uint64_t seed = 0;
  std::int64_t count = 1;
  double largest = 1;             // of scales of kind `uniform`
  std::int32_t min = 0, max = 0;  // of offsets
};

Result<ParameterGenerator> ReadGenerator(const Yaml& node, const Place& place) {
  QTX_RETURN_IF_ERROR(ExpectMap(node, place, {"generate"}));
  const Place below = place.Child("generate");
  const Yaml* generate = node.Find("generate");
  if (generate == nullptr) return Refuse(place, node, "missing key 'generate'");
  QTX_RETURN_IF_ERROR(
      ExpectMap(*generate, below, {"kind", "seed", "count", "largest", "min", "max"}));
  ParameterGenerator generator;
  QTX_RETURN_IF_ERROR(Optional(*generate, below, "kind", ReadString, generator.kind));
  QTX_RETURN_IF_ERROR(Optional(*generate, below, "seed", ReadUint, generator.seed));
  QTX_RETURN_IF_ERROR(Optional(*generate, below, "count", ReadInt, generator.count));
  QTX_RETURN_IF_ERROR(Optional(*generate, below, "largest", ReadFloat<double>, generator.largest));
  QTX_RETURN_IF_ERROR(Optional(*generate, below, "min", ReadInt32, generator.min));
  QTX_RETURN_IF_ERROR(Optional(*generate, below, "max", ReadInt32, generator.max));
  if (generator.count < 1 || generator.count > kMaxGeneratedParameters) {
    return Refuse(below.Child("count"), *generate,
                  "expected 1 to " + std::to_string(kMaxGeneratedParameters));
  }
  return generator;
}

Result<std::vector<float>> ReadScales(const Yaml& node, const Place& place) {
  if (!node.is_map()) return kFloats(node, place);
  QTX_ASSIGN_OR_RETURN(const ParameterGenerator generator, ReadGenerator(node, place));
  if (generator.kind == "extreme") return ExtremeScales(generator.seed, generator.count);
  if (generator.kind != "uniform") {
    return Refuse(place, node, "found kind '" + generator.kind + "', expected extreme or uniform");
  }
  return UniformScales(generator.seed, generator.count, generator.largest);
}

Result<std::vector<std::int32_t>> ReadOffsets(const Yaml& node, const Place& place) {
  if (!node.is_map()) return kInt32s(node, place);
  QTX_ASSIGN_OR_RETURN(const ParameterGenerator generator, ReadGenerator(node, place));
  if (generator.kind != "uniform" || generator.min > generator.max) {
    return Refuse(place, node, "expected kind: uniform and min <= max");
  }
  return UniformOffsets(generator.seed, generator.count, generator.min, generator.max);
}

Result<format::Requantization> ReadRequantization(const Yaml& node, const Place& place) {
  QTX_RETURN_IF_ERROR(ExpectMap(node, place, {"multiplier", "shift"}));
  format::Requantization requantization;
  QTX_RETURN_IF_ERROR(Optional(node, place, "multiplier", kInt32s, requantization.multiplier));
  QTX_RETURN_IF_ERROR(Optional(node, place, "shift", kInt32s, requantization.shift));
  return requantization;
}

Result<format::BlockFactors> ReadLevel(const Yaml& node, const Place& place) {
  QTX_RETURN_IF_ERROR(ExpectMap(node, place, {"value", "tensor", "block_shape"}));
  format::BlockFactors level;
  QTX_RETURN_IF_ERROR(Optional(node, place, "value", kFloats, level.value));
  QTX_RETURN_IF_ERROR(Optional(node, place, "tensor", ReadString, level.tensor));
  QTX_RETURN_IF_ERROR(Optional(node, place, "block_shape", kInts, level.block_shape));
  return level;
}
constexpr auto* kLevels = ReadListOf<format::BlockFactors, ReadLevel>;

Result<format::Histogram> ReadHistogram(const Yaml& node, const Place& place) {
  QTX_RETURN_IF_ERROR(ExpectMap(node, place, {"lower", "upper", "counts", "below", "above"}));
  format::Histogram histogram;
  QTX_RETURN_IF_ERROR(Optional(node, place, "lower", ReadFloat<double>, histogram.lower));
  QTX_RETURN_IF_ERROR(Optional(node, place, "upper", ReadFloat<double>, histogram.upper));
  QTX_RETURN_IF_ERROR(Optional(node, place, "counts", kUints, histogram.counts));
  QTX_RETURN_IF_ERROR(Optional(node, place, "below", ReadUint, histogram.below));
  QTX_RETURN_IF_ERROR(Optional(node, place, "above", ReadUint, histogram.above));
  return histogram;
}

Result<format::Statistics> ReadStatistics(const Yaml& node, const Place& place) {
  QTX_RETURN_IF_ERROR(ExpectMap(node, place,
                                {"min", "max", "mean", "std", "count", "nan_count",
                                 "infinity_count", "axis", "histogram", "source"}));
  format::Statistics statistics;
  QTX_RETURN_IF_ERROR(Optional(node, place, "min", kDoubles, statistics.min));
  QTX_RETURN_IF_ERROR(Optional(node, place, "max", kDoubles, statistics.max));
  QTX_RETURN_IF_ERROR(Optional(node, place, "mean", kDoubles, statistics.mean));
  QTX_RETURN_IF_ERROR(Optional(node, place, "std", kDoubles, statistics.std));
  QTX_RETURN_IF_ERROR(Optional(node, place, "count", ReadUint, statistics.count));
  QTX_RETURN_IF_ERROR(Optional(node, place, "nan_count", ReadUint, statistics.nan_count));
  QTX_RETURN_IF_ERROR(Optional(node, place, "infinity_count", ReadUint, statistics.infinity_count));
  QTX_RETURN_IF_ERROR(Optional(node, place, "axis", kInts, statistics.axis));
  QTX_RETURN_IF_ERROR(Optional(node, place, "histogram", ReadHistogram, statistics.histogram));
  QTX_RETURN_IF_ERROR(Optional(node, place, "source", ReadString, statistics.source));
  return statistics;
}

Result<bool> ReadQuantization(const Yaml& node, const Place& place, Quantization& q) {
  bool any = false;
  QTX_RETURN_IF_ERROR(Optional(node, place, "scale", ReadScales, q.scale, &any));
  QTX_RETURN_IF_ERROR(Optional(node, place, "offset", ReadOffsets, q.offset, &any));
  QTX_RETURN_IF_ERROR(Optional(node, place, "axis", kInts, q.axis, &any));
  QTX_RETURN_IF_ERROR(Optional(node, place, "block_shape", kInts, q.block_shape, &any));
  QTX_RETURN_IF_ERROR(Optional(node, place, "scale_tensor", ReadString, q.scale_tensor, &any));
  QTX_RETURN_IF_ERROR(Optional(node, place, "offset_tensor", ReadString, q.offset_tensor, &any));
  QTX_RETURN_IF_ERROR(Optional(node, place, "quant_min", ReadInt, q.quant_min, &any));
  QTX_RETURN_IF_ERROR(Optional(node, place, "quant_max", ReadInt, q.quant_max, &any));
  QTX_RETURN_IF_ERROR(Optional(node, place, "scheme", ReadScheme, q.scheme, &any));
  QTX_RETURN_IF_ERROR(
      Optional(node, place, "requantization", ReadRequantization, q.requantization, &any));
  QTX_RETURN_IF_ERROR(Optional(node, place, "storage_type", ReadElementType, q.storage_type, &any));
  QTX_RETURN_IF_ERROR(Optional(node, place, "scale_levels", kLevels, q.scale_levels, &any));
  QTX_RETURN_IF_ERROR(Optional(node, place, "base_levels", kLevels, q.base_levels, &any));
  QTX_RETURN_IF_ERROR(Optional(node, place, "must_understand", kInt32s, q.must_understand, &any));
  QTX_RETURN_IF_ERROR(Optional(node, place, "code_book", kFloats, q.code_book, &any));
  QTX_RETURN_IF_ERROR(
      Optional(node, place, "code_book_tensor", ReadString, q.code_book_tensor, &any));
  QTX_RETURN_IF_ERROR(Optional(node, place, "encoding", ReadEncoding, q.encoding, &any));
  return any;
}

}  // namespace

Result<format::TensorType> ParseType(const Yaml& node, const Place& place) {
  QTX_RETURN_IF_ERROR(ExpectMap(node, place, {"type",         "shape",
                                              "scale",        "offset",
                                              "axis",         "block_shape",
                                              "scale_tensor", "offset_tensor",
                                              "quant_min",    "quant_max",
                                              "scheme",       "requantization",
                                              "storage_type", "scale_levels",
                                              "base_levels",  "must_understand",
                                              "code_book",    "code_book_tensor",
                                              "statistics",   "data",
                                              "generate",     "file",
                                              "initializer",  "encoding",
                                              "bytes"}));
  format::TensorType type;
  QTX_RETURN_IF_ERROR(Optional(node, place, "type", ReadElementType, type.elem_type));
  if (const Yaml* shape = node.Find("shape")) {
    QTX_ASSIGN_OR_RETURN(type.shape, ReadList(*shape, place.Child("shape"), ReadDimension));
  }
  Quantization quantization;
  QTX_ASSIGN_OR_RETURN(const bool any, ReadQuantization(node, place, quantization));
  if (any || format::IsQuantized(type.elem_type)) type.quantization = std::move(quantization);
  if (const Yaml* statistics = node.Find("statistics")) {
    QTX_ASSIGN_OR_RETURN(type.statistics, ReadStatistics(*statistics, place.Child("statistics")));
  }
  return type;
}

}  // namespace qtx::conformance
