// Rules on one type. Source: spec/format/element_types.md, shape.md, quantization.md,
// statistics.md.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "check_rules.h"
#include "levels.h"
#include "qtx/format/annotation.h"
#include "qtx/format/encoding.h"
#include "qtx/format/limits.h"
#include "wire.h"

namespace qtx::format {
namespace {

bool IsPowerOfTwo(float scale) {
  int exponent = 0;
  return std::frexp(scale, &exponent) == 0.5F;
}

// A field has a meaning to a reader when its message has it, and its proposal is in force.
bool Understands(std::int32_t field, Features features) {
  constexpr std::int32_t kScaleLevels = 12;
  constexpr std::int32_t kBaseLevels = 13;
  constexpr std::int32_t kCodeBook = 15;
  constexpr std::int32_t kCodeBookTensor = 16;
  constexpr std::int32_t kEncoding = 18;
  if (field == kEncoding) return features.Has(Feature::kEncodings);
  if (field == kScaleLevels || field == kBaseLevels) {
    return features.Has(Feature::kHierarchicalScales);
  }
  if (field == kCodeBook || field == kCodeBookTensor) return features.Has(Feature::kCodeBooks);
  constexpr std::int32_t kRealType = 17;
  if (field == kRealType) return features.Has(Feature::kHalfPrecisionReals);
  return wire::HasQuantizationField(field);
}

// What may be annotated and measured.
bool IsReal(ElementType type, Features features) {
  return type == ElementType::kFloat ||
         (IsHalf(type) && features.Has(Feature::kHalfPrecisionReals));
}

std::string RealTypes(Features features) {
  return features.Has(Feature::kHalfPrecisionReals) ? "FLOAT, FLOAT16 or BFLOAT16" : "FLOAT";
}

bool AllOffsets(const Quantization& q, std::int32_t value) {
  if (q.offset.empty()) return value == 0;
  return std::ranges::all_of(q.offset, [value](std::int32_t offset) { return offset == value; });
}

// One type, the parameters that are meant when they are in initializers, and where to report.
struct TypeChecker {
  const ModelView& view;
  const TensorType& type;
  std::string_view name;
  const std::string& place;
  Features features;
  Findings& findings;
  bool positive;  // scales of 0 and below are refused
  ElementType storage = ElementType::kUndefined;
  std::int64_t version = kVersion;  // that the type asks for

  void Report(const std::string& rule, const std::string& field, std::string message) {
    findings.Add(rule, place + ": " + field, std::move(message));
  }

  // element_types.C1..C3 and quantization.C12; false when the rest would make no sense.
  bool CheckRole() {
    const auto code = static_cast<std::int64_t>(type.elem_type);
    const bool reserved = (code >= 1000 && code < 2000) || type.elem_type == ElementType::kBipolar1;
    if (reserved && !IsQuantized(type.elem_type)) {
      Report("element_types.C1", "elem_type",
             FoundExpected(std::to_string(code), "an element type this version of qtx has"));
      return false;
    }
    const bool quantized = IsQuantized(type.elem_type);
    if (quantized && !type.quantization) {
      Report("element_types.C2", "quantization",
             FoundExpected("none", "one for elem_type " + std::string(Name(type.elem_type))));
      return false;
    }
    if (!type.quantization) return false;
    if (!quantized && !IsReal(type.elem_type, features)) {
      Report("element_types.C3", "quantization",
             FoundExpected("one on elem_type " + std::string(Name(type.elem_type)),
                           "a quantized type or " + RealTypes(features)));
      return false;
    }
    storage = quantized ? StorageOf(type.elem_type) : type.quantization->storage_type;
    const bool annotated = type.quantization->storage_type != ElementType::kUndefined;
    if (quantized ? annotated : !QuantizedOf(storage)) {
      Report("quantization.C12", "quantization.storage_type",
             FoundExpected(
                 std::to_string(static_cast<int>(type.quantization->storage_type)),
                 quantized ? "none beside a quantized elem_type"
                           : "a storage type on elem_type " + std::string(Name(type.elem_type))));
      return quantized;
    }
    return true;
  }

  // quantization.C22.
  void CheckRealType() {
    const ElementType real = type.quantization->real_type;
    const bool quantized = IsQuantized(type.elem_type);
    if (real == ElementType::kUndefined) return;
    if (quantized ? IsRealType(real) : real == type.elem_type) return;
    Report("quantization.C22", "quantization.real_type",
           FoundExpected(std::to_string(static_cast<int>(real)),
                         quantized
                             ? "the code of FLOAT, FLOAT16 or BFLOAT16"
                             : "none, or that of elem_type " + std::string(Name(type.elem_type))));
  }

  // quantization.C20; false when what is known may mean something else than it says.
  bool CheckUnderstood() {
    if (!features.Has(Feature::kMustUnderstand)) return true;
    for (const std::int32_t number : type.quantization->must_understand) {
      if (Understands(number, features)) continue;
      Report("quantization.C20", "quantization.must_understand",
             FoundExpected(std::to_string(number), "numbers of fields that this reader knows"));
      return false;
    }
    return true;
  }

  // quantization.C7 and C8; the number of parameters, or nothing when it cannot be known.
  std::optional<std::int64_t> CheckGranularity(const Quantization& q) {
    if (q.axis.empty()) {
      if (q.block_shape.empty()) return 1;
      Report(
          "quantization.C8", "quantization.block_shape",
          FoundExpected(std::to_string(q.block_shape.size()) + " values", "none without an axis"));
      return std::nullopt;
    }
    if (!q.block_shape.empty() &&
        (q.block_shape.size() != q.axis.size() ||
         std::ranges::any_of(q.block_shape, [](auto b) { return b < 1; }))) {
      Report("quantization.C8", "quantization.block_shape",
             "expected one value of at least 1 per axis, of which there are " +
                 std::to_string(q.axis.size()));
      return std::nullopt;
    }
    if (!type.shape) {
      Report("shape.C3", "shape",
             FoundExpected("none", "a rank, because quantization.axis names axes"));
      return std::nullopt;
    }
    const auto rank = static_cast<std::int64_t>(type.shape->size());
    Dims dims;
    for (const Dimension& dimension : *type.shape) dims.push_back(dimension.value.value_or(1));
    auto counts = ParameterDims(q, dims);
    if (!counts.has_value()) {
      Report("quantization.C7", "quantization.axis",
             counts.error().message + " (rank " + std::to_string(rank) + ")");
      return std::nullopt;
    }
    for (const std::int64_t axis : q.axis) {
      if ((*type.shape)[static_cast<std::size_t>(axis)].value) continue;
      Report("shape.C3", "shape",
             FoundExpected("no fixed size of axis " + std::to_string(axis),
                           "one, because quantization.axis names it"));
      return std::nullopt;
    }
    const auto count = ElementCount(std::span<const std::int64_t>(*counts));
    if (!count.has_value() || *count > kMaxParameters) {
      Report("quantization.C3", "quantization.axis",
             "expected at most " + std::to_string(kMaxParameters) + " parameters");
      return std::nullopt;
    }
    return *count;
  }

  // quantization.C1 and C11: the parameters inline, wherever they are. `count`, where it is known,
  // are the scales that there must be.
  std::optional<Quantization> Resolved(std::optional<std::int64_t> count) {
    const Quantization& q = *type.quantization;
    const int forms = static_cast<int>(!q.scale.empty()) +
                      static_cast<int>(!q.scale_tensor.empty()) +
                      static_cast<int>(!q.scale_levels.empty());
    if (forms > 1 || (forms == 0 && count != 0)) {
      Report("quantization.C1", "quantization.scale",
             FoundExpected(forms == 0 ? "none" : std::to_string(forms),
                           "one of scale, scale_tensor and scale_levels"));
      return std::nullopt;
    }
    if (!q.offset.empty() && !q.offset_tensor.empty()) {
      Report("quantization.C1", "quantization.offset",
             FoundExpected("both offset and offset_tensor", "at most one of them"));
      return std::nullopt;
    }
    auto resolved = Resolve(view, q);
    if (!resolved.has_value()) {
      const Error& error = resolved.error();
      Report(error.clause.empty() ? "quantization.C11" : error.clause.c_str(), "quantization",
             error.where + ": " + error.message);
      return std::nullopt;
    }
    return *std::move(resolved);
  }

  // quantization.C13 to C21; false when there are no parameters to look at further.
  bool CheckLevels(Quantization* resolved) {
    const Quantization& q = *type.quantization;
    if (auto fault = CheckCodeBook(storage, q, *resolved)) {
      Report(fault->rule, "quantization." + fault->field, fault->message);
      return false;
    }
    if (!HasLevels(q)) return true;
    // encoding.C1, which the walk over the values reports.
    if (IsEncoded(type) && view.FindInitializer(name) == nullptr) return false;
    if (HasBase(q) && (!IsIntegerStorage(storage) || storage == ElementType::kBipolar1)) {
      Report("quantization.C17", "quantization.base_levels",
             FoundExpected("a base on " + std::string(Name(storage)), "an integer storage"));
      return false;
    }
    auto fault = MultiplyLevels(view, type, name, resolved, positive);
    if (!fault) fault = CheckBases(storage, *resolved);
    if (fault) Report(fault->rule, "quantization." + fault->field, fault->message);
    return !fault;
  }

  // encoding.C3 to C12; false when the records cannot be read.
  bool CheckEncoding() {
    if (!type.quantization->encoding) return true;
    const auto layout = RecordLayout::Make(type);
    if (layout.has_value()) return true;
    const Error& error = layout.error();
    Report(error.clause.empty() ? "encoding.C4" : error.clause, "quantization." + error.where,
           error.message);
    return false;
  }

  void CheckScales(const Quantization& q, std::int64_t count) {
    if (static_cast<std::int64_t>(q.scale.size()) != count) {
      Report("quantization.C3", "quantization.scale",
             FoundExpected(std::to_string(q.scale.size()) + " values", std::to_string(count)));
    }
    for (std::size_t i = 0; i < q.scale.size(); ++i) {
      if (std::isfinite(q.scale[i]) && (!positive || q.scale[i] > 0)) continue;
      Report("quantization.C2", "quantization.scale[" + std::to_string(i) + "]",
             FoundExpected(HexFloat(q.scale[i]),
                           positive ? "a finite value above 0" : "a finite value"));
      return;
    }
    if (HasSignedScale(q)) version = kCodeBooksVersion;
  }

  void CheckOffsets(const Quantization& q) {
    if (q.offset.empty()) return;
    if (q.offset.size() != q.scale.size()) {
      Report("quantization.C4", "quantization.offset",
             FoundExpected(std::to_string(q.offset.size()) + " values",
                           "none or " + std::to_string(q.scale.size())));
    }
    if (IsSmallFloat(storage) || storage == ElementType::kBipolar1) {
      if (!AllOffsets(q, 0)) {
        Report("quantization.C6", "quantization.offset",
               FoundExpected("one that is not 0", "0 for " + std::string(Name(storage))));
      }
      return;
    }
    const IntegerRange range = StorageRange(storage);
    for (std::size_t i = 0; i < q.offset.size(); ++i) {
      if (q.offset[i] >= range.min && q.offset[i] <= range.max) continue;
      Report("quantization.C5", "quantization.offset[" + std::to_string(i) + "]",
             FoundExpected(std::to_string(q.offset[i]),
                           std::to_string(range.min) + " to " + std::to_string(range.max)));
      break;
    }
  }

  void CheckRange(const Quantization& q) {
    if (!q.quant_min && !q.quant_max) return;
    if (!IsIntegerStorage(storage)) {
      Report("quantization.C9", "quantization.quant_min",
             FoundExpected("a range", "none for " + std::string(Name(storage))));
      return;
    }
    const IntegerRange range = StorageRange(storage);
    const std::int64_t low = q.quant_min.value_or(range.min);
    const std::int64_t high = q.quant_max.value_or(range.max);
    if (low < range.min || high > range.max || low > high) {
      Report("quantization.C9", "quantization.quant_min",
             FoundExpected(std::to_string(low) + " to " + std::to_string(high),
                           "a range within " + std::to_string(range.min) + " to " +
                               std::to_string(range.max)));
    } else if (storage == ElementType::kBipolar1 && (low == 0 || high == 0)) {
      Report("quantization.C9", "quantization.quant_min",
             FoundExpected(std::to_string(low) + " to " + std::to_string(high),
                           "ends of -1 or 1 for " + std::string(Name(storage))));
    }
  }

  void CheckScheme(const Quantization& q) {
    using enum Scheme;
    const bool symmetric = q.scheme == kSymmetric || q.scheme == kSymmetricPow2;
    const bool pow2 = q.scheme == kAsymmetricPow2 || q.scheme == kSymmetricPow2;
    const std::string scheme(Name(q.scheme));
    if (symmetric && !AllOffsets(q, 0)) {
      Report("quantization.C10", "quantization.offset",
             FoundExpected("one that is not 0", "0 for " + scheme));
    }
    if ((symmetric || q.scheme == kSymmetricUint8) && HasBase(q)) {
      Report("quantization.C10", "quantization.base_levels",
             FoundExpected("a base", "none for " + scheme));
    }
    if (pow2 && !std::ranges::all_of(q.scale, IsPowerOfTwo)) {
      Report("quantization.C10", "quantization.scale",
             FoundExpected("one that is no power of two", "powers of two for " + scheme));
    }
    if (q.scheme == kSymmetricUint8 && !AllOffsets(q, 0) &&
        !(storage == ElementType::kInt8 && AllOffsets(q, -128))) {
      Report("quantization.C10", "quantization.offset",
             FoundExpected("another value", "0, or -128 on INT8, for " + scheme));
    }
  }

  void CheckQuantization() {
    if (HasLevels(*type.quantization)) version = kLevelsVersion;
    if (HasCodeBook(*type.quantization)) version = kCodeBooksVersion;
    if (type.quantization->encoding) version = kEncodingVersion;
    const auto count = CheckGranularity(*type.quantization);
    auto resolved = Resolved(count);
    if (!resolved || (!count && HasLevels(*type.quantization))) return;
    if (count && !CheckEncoding()) return;
    if (!CheckLevels(&*resolved)) return;
    if (count) CheckScales(*resolved, *count);
    CheckOffsets(*resolved);
    CheckRange(*resolved);
    CheckScheme(*resolved);
  }
};

// Rules on the statistics of a type.
struct StatisticsChecker {
  const TensorType& type;
  const Statistics& statistics;
  const std::string& place;
  Findings& findings;

  void Report(const char* rule, const char* field, std::string message) {
    findings.Add(rule, place + ": statistics" + (*field == 0 ? "" : ".") + field,
                 std::move(message));
  }

  // statistics.C3; how many values a vector may have besides 1.
  std::optional<std::int64_t> Count() {
    if (statistics.axis.empty()) return 1;
    Quantization axes;
    axes.axis = statistics.axis;
    Dims dims;
    for (const Dimension& dimension : type.shape.value_or(Shape())) {
      dims.push_back(dimension.value.value_or(-1));
    }
    auto counts = ParameterDims(axes, dims);
    if (!counts.has_value() || std::ranges::any_of(*counts, [](auto n) { return n < 0; })) {
      Report("statistics.C3", "axis", "expected distinct axes of fixed size");
      return std::nullopt;
    }
    const auto count = ElementCount(std::span<const std::int64_t>(*counts));
    return count.has_value() ? std::optional(*count) : std::nullopt;
  }

  void CheckSizes(std::int64_t count) {
    const std::pair<const char*, const std::vector<double>*> vectors[] = {
        {"min", &statistics.min},
        {"max", &statistics.max},
        {"mean", &statistics.mean},
        {"std", &statistics.std}};
    for (const auto& [field, values] : vectors) {
      if (!values->empty() && static_cast<std::int64_t>(values->size()) != count) {
        Report("statistics.C1", field,
               FoundExpected(std::to_string(values->size()) + " values",
                             "none or " + std::to_string(count)));
      }
      const auto infinite =
          std::ranges::find_if(*values, [](double v) { return !std::isfinite(v); });
      if (infinite != values->end()) {
        Report("statistics.C2", field, FoundExpected(HexFloat(*infinite), "a finite value"));
      }
    }
  }

  // The rest of statistics.C2; false once it has reported.
  bool CheckOrdered(const char* field, const std::vector<double>& low,
                    const std::vector<double>& high, const char* expected) {
    for (std::size_t i = 0; i < std::min(low.size(), high.size()); ++i) {
      if (!(low[i] > high[i])) continue;
      Report("statistics.C2", field,
             FoundExpected(HexFloat(low[i]) + " above " + HexFloat(high[i]), expected));
      return false;
    }
    return true;
  }

  void CheckOrder() {
    const Statistics& s = statistics;
    if (!CheckOrdered("min", s.min, s.max, "min <= max") ||
        !CheckOrdered("mean", s.min, s.mean, "min <= mean") ||
        !CheckOrdered("mean", s.mean, s.max, "mean <= max")) {
      return;
    }
    if (std::ranges::any_of(s.std, [](double v) { return v < 0; })) {
      Report("statistics.C2", "std", FoundExpected("a negative value", "at least 0"));
      return;
    }
    std::vector<double> greatest;
    for (std::size_t i = 0; i < std::min(s.min.size(), s.max.size()); ++i) {
      const double range = s.max[i] - s.min[i];
      // Half of a range beyond the largest binary64 is none: both halves are exact then.
      greatest.push_back(std::isfinite(range) ? range / 2 : s.max[i] / 2 - s.min[i] / 2);
    }
    CheckOrdered("std", s.std, greatest, "at most (max - min) / 2");
  }

  // A sum of up to 2^26 counts, which 64 bits need not hold.
  using Wide = unsigned __int128;
  void CheckTotal(const char* rule, const char* field, Wide total) {
    if (total > std::numeric_limits<std::uint64_t>::max()) {
      Report(rule, field, FoundExpected("2^64 values or more", "fewer"));
    } else if (statistics.count != 0 && total != statistics.count) {
      Report(rule, field,
             FoundExpected(std::to_string(static_cast<std::uint64_t>(total)) + " values",
                           "count, " + std::to_string(statistics.count)));
    }
  }

  // statistics.C6.
  void CheckMoments(std::int64_t count) {
    const auto canonical = [](const ExactSum& sum) {
      if (sum.integer.empty()) return sum.exponent == 0;
      const auto byte = [&sum](std::size_t i) {
        return static_cast<unsigned char>(sum.integer[i]);
      };
      const std::size_t n = sum.integer.size();
      // The highest byte says more than the sign of the one below it.
      const bool shortest = n == 1 || byte(n - 1) != ((byte(n - 2) & 0x80U) != 0 ? 0xFFU : 0x00U);
      return n <= 128 && shortest && (byte(0) & 1U) != 0 && std::abs(sum.exponent) <= 1024;
    };
    const std::vector<Moments>& moments = statistics.moments;
    if (!moments.empty() && static_cast<std::int64_t>(moments.size()) != count) {
      Report("statistics.C6", "moments",
             FoundExpected(std::to_string(moments.size()) + " values",
                           "none or " + std::to_string(count)));
    }
    Wide total = 0;
    for (const Moments& m : moments) {
      total += m.count;
      if (canonical(m.sum) && canonical(m.sum_of_squares)) continue;
      Report("statistics.C6", "moments", "expected odd integers in their shortest form");
      return;
    }
    if (!moments.empty() && std::ssize(moments) == count)
      CheckTotal("statistics.C6", "moments", total);
  }

  void CheckHistogram(const Histogram& h) {
    if (!std::isfinite(h.lower) || !std::isfinite(h.upper) || h.lower >= h.upper ||
        h.counts.empty() || static_cast<std::int64_t>(h.counts.size()) > kMaxHistogramBins) {
      Report(
          "statistics.C4", "histogram",
          "expected finite lower < upper and 1 to " + std::to_string(kMaxHistogramBins) + " bins");
      return;
    }
    const Wide total = std::accumulate(h.counts.begin(), h.counts.end(), Wide{h.below} + h.above);
    CheckTotal("statistics.C4", "histogram", total);
  }
};

}  // namespace

std::int64_t CheckType(const ModelView& view, const TensorType& type, std::string_view name,
                       const std::string& place, bool initializer, Features features,
                       Findings& findings) {
  for (const Dimension& dimension : type.shape.value_or(Shape())) {
    if (dimension.value.value_or(0) >= 0) continue;
    findings.Add("shape.C1", place + ": shape",
                 FoundExpected("dimension " + std::to_string(*dimension.value), "at least 0"));
  }
  if (type.shape && (type.quantization || type.statistics) &&
      type.shape->size() > static_cast<std::size_t>(kMaxRank)) {
    findings.Add("shape.C2", place + ": shape",
                 FoundExpected("rank " + std::to_string(type.shape->size()),
                               "at most " + std::to_string(kMaxRank)));
    return kVersion;
  }
  // As a base, a scale of 0 or below is for constants; an annotation may be on any value.
  const bool positive =
      !features.Has(Feature::kSignedScales) || (IsQuantized(type.elem_type) && !initializer);
  TypeChecker checker{view, type, name, place, features, findings, positive};
  if (checker.CheckRole() && checker.CheckUnderstood()) {
    checker.CheckRealType();
    checker.CheckQuantization();
  }
  if (UsesHalves(type)) checker.version = kHalvesVersion;
  if (!type.statistics) return checker.version;
  StatisticsChecker statistics{type, *type.statistics, place, findings};
  if (!IsQuantized(type.elem_type) && !IsReal(type.elem_type, features)) {
    statistics.Report("statistics.C5", "",
                      "expected on quantized types and " + RealTypes(features) + " only");
  }
  if (const auto count = statistics.Count()) {
    statistics.CheckSizes(*count);
    statistics.CheckMoments(*count);
  }
  statistics.CheckOrder();
  if (type.statistics->histogram) statistics.CheckHistogram(*type.statistics->histogram);
  return checker.version;
}

}  // namespace qtx::format
