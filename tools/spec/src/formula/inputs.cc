#include "formula/inputs.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "qtx/formula/elements.h"

namespace qtx::spec {
namespace {

using conformance::CaseValue;
using format::ElementType;

// Source: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014.
class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t seed) : state_(seed) {}
  std::uint64_t Next() {
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }
  std::size_t Below(std::size_t count) { return Next() % count; }
  double Unit() { return std::ldexp(static_cast<double>(Next() >> 11U), -53); }

 private:
  std::uint64_t state_;
};

// Values of a type, each a double: exactly, since types of 64 bits are sampled below 2^53.
struct Domain {
  std::vector<double> values;
  bool complete = false;  // all that the type has
};

constexpr int kSample = 512;

Domain IntegerDomain(const format::TensorType& type, bool alone) {
  const ElementType storage = format::StorageOf(type.elem_type);
  format::IntegerRange range{0, 1};
  if (type.quantization) {
    range = format::StoredRange(type.elem_type, *type.quantization);
  } else if (storage != ElementType::kBool) {
    constexpr std::int64_t kMost = std::int64_t{1} << 52;
    const format::IntegerRange all = format::StorageRange(storage);
    range = {std::max(all.min, -kMost), std::min(all.max, kMost)};
  }
  Domain domain;
  const std::int64_t widest = alone ? 65'536 : 256;
  if (range.max - range.min < widest) {
    domain.complete = true;
    for (std::int64_t i = range.min; i <= range.max; ++i) {
      if (storage == ElementType::kBipolar1 && i == 0) continue;
      domain.values.push_back(static_cast<double>(i));
    }
    return domain;
  }
  std::set<std::int64_t> values = {range.min, range.min + 1, range.max - 1, range.max};
  for (std::int64_t power = 1; power < range.max; power *= 2) {
    for (const std::int64_t near : {power - 1, power, power + 1, -power - 1, -power, 1 - power}) {
      values.insert(std::clamp(near, range.min, range.max));
    }
  }
  SplitMix64 random(1);
  const double width = static_cast<double>(range.max) - static_cast<double>(range.min);
  while (values.size() < kSample) {
    values.insert(range.min + static_cast<std::int64_t>(random.Unit() * width));
  }
  for (const std::int64_t value : values) domain.values.push_back(static_cast<double>(value));
  return domain;
}

Domain SmallFloatDomain(ElementType storage) {
  Domain domain;
  const std::uint32_t codes = 1U << static_cast<unsigned>(format::BitWidth(storage));
  for (std::uint32_t code = 0; code < codes; ++code) {
    const double value = format::DecodeSmallFloat(storage, code);
    // Codes are packed again as the encoder has it, which knows no infinity.
    if (!std::isinf(value)) domain.values.push_back(value);
  }
  domain.complete = true;
  return domain;
}

// Samples: ties of the output's stored values with their neighbours, the ends, intermediate values,
// and random bits.
Domain FloatDomain(const conformance::Case& c) {
  constexpr float kMost = std::numeric_limits<float>::max();
  constexpr float kLeastNormal = std::numeric_limits<float>::min();
  constexpr float kLeast = std::numeric_limits<float>::denorm_min();
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  std::vector<float> values = {0,
                               1,
                               -1,
                               0.5F,
                               -0.5F,
                               kLeast,
                               -kLeast,
                               kLeastNormal,
                               -kLeastNormal,
                               kMost,
                               -kMost,
                               kInfinite,
                               -kInfinite,
                               std::numeric_limits<float>::quiet_NaN()};
  double widest = 8;
  const auto& quantization = c.outputs[0].type.quantization;
  const bool integer = format::IsIntegerStorage(c.outputs[0].type.elem_type);
  if (quantization && integer && !quantization->scale.empty()) {
    const format::IntegerRange range =
        format::StoredRange(c.outputs[0].type.elem_type, *quantization);
    const double scale = quantization->scale[0];
    const auto offset = static_cast<double>(format::OffsetAt(*quantization, 0));
    const auto low = static_cast<double>(range.min) - offset,
               high = static_cast<double>(range.max) - offset;
    widest = std::max(std::abs(low), std::abs(high)) * scale * 1.25;
    constexpr double kTies = 260;
    const double step = std::max(1.0, std::floor((high - low) / kTies));
    const auto ties = static_cast<int>((high - low + 4) / step);
    for (int i = 0; i <= ties; ++i) {
      const auto tie = static_cast<float>((low - 1.5 + i * step) * scale);
      values.insert(values.end(), {tie, std::nextafter(tie, kMost), std::nextafter(tie, -kMost)});
    }
  }
  SplitMix64 random(2);
  for (int i = 0; i < 4 * kSample; ++i) {
    values.push_back(static_cast<float>((2 * random.Unit() - 1) * widest));
  }
  for (int i = 0; i < kSample; ++i) {
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random.Next())));
  }
  return {{values.begin(), values.end()}, false};
}

Domain DomainOf(const CaseValue& value, const conformance::Case& c, bool alone) {
  const ElementType type = value.type.elem_type;
  if (format::IsSmallFloat(type)) return SmallFloatDomain(format::StorageOf(type));
  if (type == ElementType::kFloat || type == ElementType::kDouble) return FloatDomain(c);
  if (type == ElementType::kFloat16 || type == ElementType::kBfloat16) {
    Domain domain = FloatDomain(c);
    for (double& v : domain.values) {
      v = format::DecodeSmallFloat(type, format::EncodeSmallFloat(type, v));
    }
    return domain;
  }
  return IntegerDomain(value.type, alone);
}

// Codes of a small float, packed from the lowest bit of each byte.
void PackCodes(std::span<const double> values, format::Tensor& tensor) {
  const ElementType storage = format::StorageOf(tensor.elem_type);
  const auto bits = static_cast<unsigned>(format::BitWidth(storage));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t code = format::EncodeSmallFloat(storage, values[i]);
    for (unsigned bit = 0; bit < bits; ++bit) {
      const std::size_t at = i * bits + bit;
      const auto mask = static_cast<std::byte>(((code >> bit) & 1U) << (at % 8));
      tensor.bytes[at / 8] |= mask;
    }
  }
}

Result<void> Give(CaseValue& value, format::Dims dims, std::span<const double> values) {
  QTX_ASSIGN_OR_RETURN(
      format::Tensor tensor,
      format::MakeTensor(value.type.elem_type, std::move(dims), value.type.quantization));
  switch (tensor.elem_type) {
    case ElementType::kFloat:
      std::ranges::transform(values, tensor.As<float>().begin(),
                             [](double real) { return static_cast<float>(real); });
      break;
    case ElementType::kDouble:
      std::ranges::copy(values, tensor.As<double>().begin());
      break;
    default:
      if (format::IsSmallFloat(tensor.elem_type) || tensor.elem_type == ElementType::kFloat16 ||
          tensor.elem_type == ElementType::kBfloat16) {
        PackCodes(values, tensor);
      } else {
        format::PackIntegers(std::vector<std::int64_t>(values.begin(), values.end()), tensor);
      }
  }
  value.data = std::move(tensor);
  return {};
}

bool IsOpen(const CaseValue& value) {
  return !value.absent && !value.data && !value.generator && value.file.empty();
}

// All values in order where they fit, else drawn ones.
Result<bool> FillShaped(CaseValue& value, const conformance::Case& c, std::uint64_t seed) {
  const auto dims = format::FixedDims(*value.type.shape);
  const auto count = dims ? format::ElementCount(*dims) : Result<std::int64_t>(-1);
  if (!count) return count.error();
  if (*count < 0) return Error{ErrorCode::kInvalid, "", "expected a shape of numbers"};
  if (*count > conformance::kMaxCaseElements) {
    return Error{ErrorCode::kTooLarge, "", "found a shape of too many elements"};
  }
  const Domain domain = DomainOf(value, c, false);
  std::vector<double> values = domain.values;
  const bool in_order = *count == std::ssize(values);
  if (!in_order) {
    values.clear();
    SplitMix64 random(seed);
    for (std::int64_t i = 0; i < *count; ++i) {
      values.push_back(domain.values[random.Below(domain.values.size())]);
    }
  }
  QTX_RETURN_IF_ERROR(Give(value, *dims, values));
  return in_order && domain.complete;
}

Result<bool> FillCombinations(std::span<CaseValue* const> open, const conformance::Case& c) {
  std::vector<Domain> domains;
  std::int64_t total = 1;
  bool complete = true;
  for (const CaseValue* value : open) {
    domains.push_back(DomainOf(*value, c, open.size() == 1));
    complete &= domains.back().complete;
    // At most a million each; stops when there are too many.
    if (total <= kMaxCombinations) total *= std::ssize(domains.back().values);
  }
  const bool all = total <= kMaxCombinations;
  const std::int64_t count = all ? total : kSampledCombinations;
  std::int64_t stride = 1;
  for (std::size_t i = open.size(); i-- > 0;) {
    const std::vector<double>& domain = domains[i].values;
    SplitMix64 random(i + 3);
    std::vector<double> values;
    for (std::int64_t element = 0; element < count; ++element) {
      const auto next = static_cast<std::size_t>(element / stride) % domain.size();
      values.push_back(domain[all ? next : random.Below(domain.size())]);
    }
    stride *= all ? std::ssize(domain) : 1;
    QTX_RETURN_IF_ERROR(Give(*open[i], {count}, values));
  }
  return all && complete;
}

}  // namespace

Result<bool> FillInputs(conformance::Case& c) {
  std::vector<CaseValue*> combined;
  bool complete = true;
  std::uint64_t seed = 100;
  for (CaseValue& value : c.inputs) {
    if (!IsOpen(value)) {
      complete &= value.absent || value.data.has_value();
    } else if (value.type.shape) {
      auto all = FillShaped(value, c, seed++);
      if (!all) return At(c.where + ": " + value.name, all.error());
      complete &= *all;
    } else {
      combined.push_back(&value);
    }
  }
  if (combined.empty()) return complete;
  auto all = FillCombinations(combined, c);
  if (!all) return At(c.where, all.error());
  return complete && *all;
}

std::string InputsAt(std::span<const format::Tensor> inputs, std::span<const std::string> names,
                     const format::Dims& dims, std::int64_t element,
                     std::span<const formula::ElementTable* const> tables) {
  format::Dims coordinates(dims.size());
  for (std::size_t i = coordinates.size(); i-- > 0;) {
    coordinates[i] = element % dims[i];
    element /= dims[i];
  }
  std::string text = "at " + format::ToString(coordinates);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const formula::Elements elements(inputs[i], i < tables.size() ? tables[i] : nullptr);
    const std::int64_t at = elements.Broadcast(coordinates);
    if (at < 0) continue;
    text += ", " + names[i] + " = " + elements.Stored(at);
    if (inputs[i].quantization) text += " (real " + elements.Real(at) + ")";
  }
  return text;
}

}  // namespace qtx::spec
