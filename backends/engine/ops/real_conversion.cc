#include "engine/ops/real_conversion.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

namespace qtx::backend::engine {
namespace {

using format::ElementType;
using format::Tensor;

constexpr std::size_t kBlock = 256;
using Reals = std::array<double, kBlock>;

// FLOAT, or integers of one scale.
struct Form {
  ElementType storage = ElementType::kUndefined;
  PerTensor parameters;
};

std::optional<Form> FormOf(const Tensor& type) {
  Form form{.storage = format::StorageOf(type.elem_type), .parameters = {}};
  if (type.elem_type == ElementType::kFloat) return form;
  const bool known = form.storage == ElementType::kInt8 || form.storage == ElementType::kUint8 ||
                     form.storage == ElementType::kInt16 || form.storage == ElementType::kUint16;
  const auto parameters = PerTensorOf(type);
  if (!known || !parameters.has_value()) return std::nullopt;
  form.parameters = *parameters;
  return form;
}

// Calls visit with a value of the storage's type.
template <typename Visit>
void WithType(ElementType storage, Visit visit) {
  if (storage == ElementType::kInt8) return visit(std::int8_t{});
  if (storage == ElementType::kUint8) return visit(std::uint8_t{});
  if (storage == ElementType::kInt16) return visit(std::int16_t{});
  visit(std::uint16_t{});
}

// Exact: a difference of 17 bits times a scale of 24.
void Load(const Form& from, const std::byte* elements, std::size_t first, std::size_t n,
          Reals& reals) {
  if (from.storage == ElementType::kFloat) {
    std::copy_n(reinterpret_cast<const float*>(elements) + first, n, reals.begin());
    return;
  }
  WithType(from.storage, [&]<typename T>(T) {
    const T* stored = reinterpret_cast<const T*>(elements) + first;
    for (std::size_t i = 0; i < n; ++i) {
      reals[i] = (stored[i] - from.parameters.offset) * from.parameters.scale;
    }
  });
}

std::int64_t StoredExactly(double real, const PerTensor& to) {
  if (std::isnan(real)) return std::clamp<std::int64_t>(to.offset, to.stored.min, to.stored.max);
  if (std::isinf(real)) return real < 0 ? to.stored.min : to.stored.max;
  const Term term{real, 1};
  return RoundHalfEven({{&term, 1}, to.scale, 1}, to.Rounded()) + to.offset;
}

// The quotient errs by 2^-53 of itself, which the bounds keep below 2^17.
template <typename T>
void StoreIntegers(const Kernels& kernels, const Reals& reals, std::size_t n, const PerTensor& to,
                   T* stored) {
  const auto low = static_cast<double>(to.Rounded().min) - 1;
  const auto high = static_cast<double>(to.Rounded().max) + 1;
  std::array<std::int32_t, kBlock> nearest;
  if (!kernels.nearest_quotients(reals.data(), static_cast<std::int64_t>(n), to.scale, low, high,
                                 nearest.data())) {
    for (std::size_t i = 0; i < n; ++i) stored[i] = static_cast<T>(StoredExactly(reals[i], to));
    return;
  }
  const auto offset = static_cast<std::int32_t>(to.offset);
  const auto least = static_cast<std::int32_t>(to.stored.min);
  const auto most = static_cast<std::int32_t>(to.stored.max);
  for (std::size_t i = 0; i < n; ++i) {
    stored[i] = static_cast<T>(std::clamp(nearest[i] + offset, least, most));
  }
}

void Store(const Kernels& kernels, const Reals& reals, std::size_t first, std::size_t n,
           const Form& to, std::byte* results) {
  if (to.storage == ElementType::kFloat) {
    float* floats = reinterpret_cast<float*>(results) + first;
    for (std::size_t i = 0; i < n; ++i) floats[i] = static_cast<float>(reals[i]);
    return;
  }
  WithType(to.storage, [&]<typename T>(T) {
    StoreIntegers(kernels, reals, n, to.parameters, reinterpret_cast<T*>(results) + first);
  });
}

// FLOAT to stored bytes in binary32, whose errors are those of an accumulator's rounding: see
// DoubtThreshold. False, with nothing to keep, for other types, where that is not precise
// enough, or x has a NaN.
bool RoundFloats(const Kernels& kernels, std::span<const std::byte> elements, const Form& form,
                 std::span<std::byte> results) {
  if (form.storage != ElementType::kInt8 && form.storage != ElementType::kUint8) return false;
  const std::span x(reinterpret_cast<const float*>(elements.data()), results.size());
  auto* stored = reinterpret_cast<std::uint8_t*>(results.data());
  const PerTensor& to = form.parameters;
  const double ratio = 1 / to.scale;
  if (!(ratio > 0x1p-90 && ratio < 0x1p90)) return false;
  // Kernels write bytes of one signedness.
  const bool flips = (form.storage == ElementType::kInt8) != kernels.signed_bytes;
  const int move = !flips ? 0 : kernels.signed_bytes ? -128 : 128;
  const auto moved = [move](std::int64_t value) { return static_cast<std::int16_t>(value + move); };
  const FloatRounding rounding{static_cast<float>(ratio),
                               DoubtThreshold(0, to.Rounded()),
                               {moved(to.offset), moved(to.stored.min), moved(to.stored.max)}};
  constexpr std::size_t kTogether = 1024;
  std::array<std::int32_t, kTogether> doubtful;
  for (std::size_t first = 0; first < x.size(); first += kTogether) {
    const std::span<const float> part = x.subspan(first, std::min(kTogether, x.size() - first));
    std::array<float, kTogether> padded;
    const float* from = part.data();
    if (part.size() < kTogether) {
      std::ranges::fill(padded, 0.0F);
      std::ranges::copy(part, padded.begin());
      from = padded.data();
    }
    const std::int64_t count =
        kernels.round_floats(from, std::ssize(part), rounding, stored + first, doubtful.data());
    if (count < 0) return false;
    for (std::size_t i = first; flips && i < first + part.size(); ++i) stored[i] ^= 0x80;
    for (std::size_t d = 0; d < static_cast<std::size_t>(count); ++d) {
      const auto i = static_cast<std::size_t>(doubtful[d]);
      stored[first + i] = static_cast<std::uint8_t>(StoredExactly(part[i], to));
    }
  }
  return true;
}

// A bound that is one binary64; minus or plus infinity for none.
std::optional<double> BoundAs(const std::optional<Term>& bound, double none) {
  if (!bound.has_value()) return none;
  const bool exact = bound->scale == 1 || std::fabs(bound->integer) < 0x1p29;
  return exact ? std::optional(bound->integer * bound->scale) : std::nullopt;
}

bool IsFloat(double value) { return static_cast<double>(static_cast<float>(value)) == value; }

}  // namespace

bool ConvertReals(const Tensor& from, std::span<const std::byte> elements, const Tensor& to,
                  std::span<std::byte> results, const RealBounds& bounds, const Kernels& kernels) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto source = FormOf(from);
  const auto target = FormOf(to);
  const auto low = BoundAs(bounds.low, -kInfinity);
  const auto high = BoundAs(bounds.high, kInfinity);
  if (!source || !target || !low || !high) return false;
  const bool bounded = bounds.low.has_value() || bounds.high.has_value();
  const bool floats =
      source->storage == ElementType::kFloat && target->storage == ElementType::kFloat;
  if (floats && !bounded) return false;  // a copy: NaN keeps its bits
  if (floats && IsFloat(*low) && IsFloat(*high)) {
    kernels.bound(reinterpret_cast<const float*>(elements.data()),
                  static_cast<std::int64_t>(elements.size() / sizeof(float)),
                  static_cast<float>(*low), static_cast<float>(*high),
                  reinterpret_cast<float*>(results.data()));
    return true;
  }
  if (!bounded && source->storage == ElementType::kFloat &&
      RoundFloats(kernels, elements, *target, results)) {
    return true;
  }
  const auto count =
      elements.size() * 8 / static_cast<std::size_t>(format::BitWidth(from.elem_type));
  Reals reals;
  for (std::size_t i = 0; i < count; i += kBlock) {
    const std::size_t n = std::min(kBlock, count - i);
    Load(*source, elements.data(), i, n, reals);
    for (std::size_t k = 0; bounded && k < n; ++k) {
      reals[k] = reals[k] < *low ? *low : reals[k];
      reals[k] = *high < reals[k] ? *high : reals[k];
    }
    Store(kernels, reals, i, n, *target, results.data());
  }
  return true;
}

}  // namespace qtx::backend::engine
