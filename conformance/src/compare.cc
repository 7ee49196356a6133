// Comparison of tensors and description of their differences.
#include "compare.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "qtx/conformance/diagnosis.h"

namespace qtx::conformance {
namespace {

using format::ElementType;
using format::Tensor;

bool IsInteger(ElementType type) {
  const ElementType storage = format::StorageOf(type);
  return storage == ElementType::kBool || storage == ElementType::kInt64 ||
         storage == ElementType::kUint64 || format::IsIntegerStorage(type);
}

// Types without order are compared byte by byte.
bool IsOpaque(ElementType type) {
  return type == ElementType::kComplex64 || type == ElementType::kComplex128 ||
         type == ElementType::kString || type == ElementType::kUndefined;
}

// Sign-magnitude codes of floats as integers in the order of their values, so that neighbours are 1
// apart and the two zeros meet.
std::vector<std::int64_t> OrderedCodes(const Tensor& tensor) {
  const auto bits = static_cast<std::size_t>(format::BitWidth(tensor.elem_type));
  const auto count = static_cast<std::size_t>(format::ElementCount(tensor));
  std::vector<std::int64_t> codes(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t code = 0;
    std::memcpy(&code, tensor.bytes.data() + i * bits / 8, (bits + 7) / 8);
    if (bits < 8) code >>= i * bits % 8;
    const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
    const auto magnitude = static_cast<std::int64_t>(code & (sign - 1));
    codes[i] = (code & sign) != 0 ? -magnitude : magnitude;
  }
  return codes;
}

std::int64_t SaturatedDifference(std::int64_t a, std::int64_t b) {
  std::int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return a < b ? std::numeric_limits<std::int64_t>::min()
               : std::numeric_limits<std::int64_t>::max();
}

// For each element, a number that orders the values, and its text.
class Elements {
 public:
  explicit Elements(const Tensor& tensor)
      : integer_(IsInteger(tensor.elem_type)),
        unsigned64_(format::StorageOf(tensor.elem_type) == ElementType::kUint64),
        ranks_(integer_ ? format::UnpackIntegers(tensor) : OrderedCodes(tensor)) {
    if (!integer_) values_ = format::StoredValues(tensor);
  }
  std::size_t size() const { return ranks_.size(); }
  std::int64_t rank(std::size_t i) const { return ranks_[i]; }
  bool is_integer() const { return integer_; }
  double value(std::size_t i) const { return values_[i]; }  // of a float
  bool is_nan(std::size_t i) const { return !integer_ && std::isnan(values_[i]); }
  std::string Text(std::size_t i) const {
    if (!integer_) return format::HexFloat(values_[i]);
    if (unsigned64_) return std::to_string(static_cast<std::uint64_t>(ranks_[i]));
    return std::to_string(ranks_[i]);
  }

 private:
  bool integer_;
  bool unsigned64_;
  std::vector<std::int64_t> ranks_;
  std::vector<double> values_;
};

// A mismatch that prevents element-wise comparison; empty if there is none.
std::string Mismatch(const Tensor& got, const Tensor& expected) {
  if (got.elem_type != expected.elem_type) {
    return "element type " + std::string(format::Name(got.elem_type)) + ", expected " +
           std::string(format::Name(expected.elem_type));
  }
  if (got.dims != expected.dims) {
    return "dims " + format::ToString(got.dims) + ", expected " + format::ToString(expected.dims);
  }
  if (got.bytes.size() != expected.bytes.size()) {
    return std::to_string(got.bytes.size()) + " bytes, expected " +
           std::to_string(expected.bytes.size());
  }
  if (IsOpaque(got.elem_type) && got.bytes != expected.bytes) return "bytes that differ";
  return "";
}

bool Allows(const Tolerance& tolerance, const Elements& got, const Elements& expected,
            std::size_t i, std::int64_t distance) {
  if (got.is_nan(i) || expected.is_nan(i)) return got.is_nan(i) && expected.is_nan(i);
  if (distance >= -tolerance.ulp && distance <= tolerance.ulp) return true;
  if (got.is_integer() || std::isinf(expected.value(i))) return false;
  return std::fabs(got.value(i) - expected.value(i)) <=
         tolerance.absolute + tolerance.relative * std::fabs(expected.value(i));
}

void CompareElements(const Tensor& got, const Tensor& expected, const Tolerance& tolerance,
                     Difference& difference) {
  const Elements left(got);
  const Elements right(expected);
  difference.elements = static_cast<std::int64_t>(left.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    const std::int64_t distance = SaturatedDifference(left.rank(i), right.rank(i));
    if (Allows(tolerance, left, right, i, distance)) continue;
    ++difference.differing;
    if (difference.first.size() < kFirstDifferences) {
      difference.first.push_back({static_cast<std::int64_t>(i), left.Text(i), right.Text(i)});
    }
    if (difference.histogram.size() < kMaxHistogram || difference.histogram.contains(distance)) {
      ++difference.histogram[distance];
    }
  }
}

}  // namespace

std::optional<Difference> CompareWithin(const std::string& output, const Tensor& got,
                                        const Tensor& expected, Tolerance tolerance) {
  Difference difference;
  difference.output = output;
  difference.mismatch = Mismatch(got, expected);
  if (!difference.mismatch.empty()) return difference;
  if (got.bytes == expected.bytes) return std::nullopt;
  const bool integer = IsInteger(got.elem_type);
  difference.unit = integer ? "LSB" : "ulp";
  if (integer) tolerance = {};
  difference.tolerance = tolerance;
  CompareElements(got, expected, tolerance, difference);
  if (difference.differing == 0) return std::nullopt;
  return difference;
}

std::optional<Difference> Compare(const std::string& output, const Tensor& got,
                                  const Tensor& expected, std::optional<std::int64_t> ulp) {
  return CompareWithin(output, got, expected, {.ulp = ulp.value_or(0)});
}

std::optional<Difference> Compare(const Case& c, const std::string& output, const Tensor& got,
                                  const Tensor& expected) {
  return CompareWithin(output, got, expected, ToleranceOf(c));
}

Tolerance ToleranceOf(const Case& c) {
  Tolerance tolerance{.ulp = c.ulp.value_or(0)};
  if (c.close) {
    tolerance.relative = c.close->relative;
    tolerance.absolute = c.close->absolute;
  }
  return tolerance;
}

std::optional<std::vector<ElementDistance>> Distances(const Tensor& got, const Tensor& expected,
                                                      const Tolerance& tolerance) {
  if (!Mismatch(got, expected).empty() || IsOpaque(got.elem_type)) return std::nullopt;
  const Elements left(got);
  const Elements right(expected);
  std::vector<ElementDistance> distances;
  for (std::size_t i = 0; i < left.size(); ++i) {
    std::optional<std::int64_t> distance = SaturatedDifference(left.rank(i), right.rank(i));
    const bool allowed = Allows(tolerance, left, right, i, *distance);
    if (allowed && (*distance == 0 || left.is_nan(i))) continue;
    if (left.is_nan(i) != right.is_nan(i)) distance.reset();
    distances.push_back({i, distance, allowed});
  }
  return distances;
}

void AddElements(const Tensor& tensor, Digest& digest) {
  if (IsInteger(tensor.elem_type) || IsOpaque(tensor.elem_type)) {
    digest.Add({reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()});
    return;
  }
  const Elements elements(tensor);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    constexpr std::int64_t kNan = std::numeric_limits<std::int64_t>::min();  // no code's rank
    digest.Add(elements.is_nan(i) ? kNan : elements.rank(i));
  }
}

std::string Describe(const Difference& difference) {
  if (!difference.mismatch.empty()) {
    return "output '" + difference.output + "' has " + difference.mismatch;
  }
  std::string text = "output '" + difference.output + "' differs in " +
                     std::to_string(difference.differing) + " of " +
                     std::to_string(difference.elements) + " elements";
  const std::int64_t lowest = difference.histogram.begin()->first;
  const std::int64_t highest = difference.histogram.rbegin()->first;
  const auto signed_text = [](std::int64_t value) {
    return (value > 0 ? "+" : "") + std::to_string(value);
  };
  text += " by " + signed_text(lowest);
  if (highest != lowest) text += " to " + signed_text(highest);
  text += " " + difference.unit;
  const ElementDifference& first = difference.first.front();
  return text + "; first at " + std::to_string(first.index) + ": got " + first.got + ", expected " +
         first.expected;
}

}  // namespace qtx::conformance
