#include "weights.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace qtx::quantize {
namespace {

using format::ElementType;
using format::Quantization;
using format::Tensor;

// A Quantization with axes and blocks but no values.
Quantization LayoutOf(const WeightChoice& choice, const WeightAxes& axes, const Tensor& weights) {
  Quantization q;
  q.scheme = choice.type.scheme;
  if (choice.granularity == Granularity::kBlocks && axes.reduced && weights.dims.size() == 2) {
    q.axis = {0, 1};
    q.block_shape = {1, 1};
    q.block_shape[static_cast<std::size_t>(*axes.reduced)] = choice.block;
  } else if (choice.granularity != Granularity::kPerTensor && axes.output) {
    q.axis = {*axes.output};
  }
  return q;
}

// The elements grouped by parameter: those of p are starts[p] to starts[p + 1].
struct Buckets {
  std::vector<float> values;
  std::vector<std::size_t> starts;

  std::span<const float> operator[](std::size_t p) const {
    return std::span(values).subspan(starts[p], starts[p + 1] - starts[p]);
  }
  std::size_t size() const { return starts.size() - 1; }
};

Buckets BucketsOf(std::span<const float> values, const format::ParameterMap& map) {
  Buckets buckets;
  buckets.starts.resize(static_cast<std::size_t>(map.count()) + 1);
  for (std::size_t i = 0; i < values.size(); ++i)
    ++buckets.starts[static_cast<std::size_t>(map(static_cast<std::int64_t>(i))) + 1];
  for (std::size_t p = 1; p < buckets.starts.size(); ++p)
    buckets.starts[p] += buckets.starts[p - 1];
  std::vector<std::size_t> next = buckets.starts;
  buckets.values.resize(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    buckets.values[next[static_cast<std::size_t>(map(static_cast<std::int64_t>(i)))]++] = values[i];
  return buckets;
}

Result<void> CheckFinite(std::span<const float> values) {
  const auto bad = std::ranges::find_if(values, [](float x) { return !std::isfinite(x); });
  if (bad == values.end()) return {};
  return Error{ErrorCode::kInvalid, "",
               "element " + std::to_string(bad - values.begin()) + " is not finite"};
}

// Both numbers are binary32: the quotient of two numbers of 24 bits that is not a tie lies at least
// 2^-25 from one, and binary64 is off by at most 2^-36 where the result is not clamped anyway.
std::int64_t StoredFloat(float real, const Parameters& parameters,
                         const format::IntegerRange& stored) {
  const double quotient = static_cast<double>(real) / static_cast<double>(parameters.scale);
  const double rounded = std::nearbyint(std::clamp(quotient, -0x1p24, 0x1p24));
  return std::clamp(static_cast<std::int64_t>(rounded) + parameters.offset, stored.min, stored.max);
}

float GreatestMagnitude(std::span<const float> values) {
  float greatest = 0;
  for (const float value : values) greatest = std::max(greatest, std::abs(value));
  return greatest;
}

// The code of the small float that is nearest, half to even; the largest for all beyond it. As for
// StoredFloat, a quotient in binary64 is on the side of a tie on which the exact one is.
std::int32_t StoredCode(float real, float scale, ElementType storage) {
  const auto most = static_cast<double>(format::StorageRange(storage).max);
  const double quotient = static_cast<double>(real) / static_cast<double>(scale);
  return static_cast<std::int32_t>(
      format::EncodeSmallFloat(storage, std::clamp(quotient, -most, most)));
}

// The result of RangeOf; minmax needs no sorting.
Result<ChosenRange> WeightRange(std::span<const float> values, const Settings& settings) {
  if (format::IsSmallFloat(settings.weights.type.storage) &&
      settings.weight_range.front().kind != RangeMethod::Kind::kMinMax)
    return Error{ErrorCode::kInvalid, "",
                 "found " + ToText(settings.weight_range.front()) +
                     ", expected minmax for weights that are small floats"};
  if (settings.weight_range.front().kind != RangeMethod::Kind::kMinMax)
    return RangeOf(values, settings.weight_range, settings.weights.type);
  const auto [min, max] = std::ranges::minmax(values);
  return ChosenRange{{static_cast<double>(min), static_cast<double>(max)}, {}};
}

}  // namespace

Result<StoredConstant> StoreWeights(const Tensor& weights, const Settings& settings,
                                    const WeightAxes& axes, std::span<const float> least_scales) {
  const TypeSpec& spec = settings.weights.type;
  const auto values = weights.As<float>();
  if (values.empty()) return Error{ErrorCode::kInvalid, "", "has no elements"};
  QTX_RETURN_IF_ERROR(CheckFinite(values));
  Quantization q = LayoutOf(settings.weights, axes, weights);
  QTX_RETURN_IF_ERROR(format::ParameterDims(q, weights.dims));
  const format::ParameterMap map(q, weights.dims);
  const Buckets buckets = BucketsOf(values, map);
  StoredConstant result;
  std::vector<float> greatest;
  bool offsets = false;
  for (std::size_t p = 0; p < buckets.size(); ++p) {
    QTX_ASSIGN_OR_RETURN(const ChosenRange range, WeightRange(buckets[p], settings));
    float least = 0;
    if (least_scales.size() == buckets.size()) {
      least = least_scales[p];
    } else if (!least_scales.empty()) {
      least = std::ranges::max(least_scales);
    }
    QTX_ASSIGN_OR_RETURN(const Parameters chosen, ChooseParameters(range.range, spec, least));
    q.scale.push_back(chosen.scale);
    greatest.push_back(GreatestMagnitude(buckets[p]));
    q.offset.push_back(chosen.offset);
    offsets = offsets || chosen.offset != 0;
    result.ranges.push_back(range);
  }
  if (!offsets) q.offset.clear();
  if (settings.weights.scale_type != ScaleType::kFloat) {
    result.levels = BlockScalesOf(greatest, spec.storage, settings.weights.scale_type);
    q.scale = Products(*result.levels);
  }
  const format::IntegerRange stored = StoredRange(spec);
  std::vector<std::int32_t> integers(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t p = map(static_cast<std::int64_t>(i));
    integers[i] = format::IsSmallFloat(spec.storage)
                      ? StoredCode(values[i], format::ScaleAt(q, p), spec.storage)
                      : static_cast<std::int32_t>(StoredFloat(
                            values[i], {format::ScaleAt(q, p), format::OffsetAt(q, p)}, stored));
  }
  QTX_ASSIGN_OR_RETURN(result.tensor, format::MakeTensor(*format::QuantizedOf(spec.storage),
                                                         weights.dims, std::move(q)));
  format::PackInt32(integers, result.tensor);
  return result;
}

Result<Tensor> StoreConstant(const Tensor& real, const TypeSpec& spec,
                             const Parameters& parameters) {
  const auto values = real.As<float>();
  QTX_RETURN_IF_ERROR(CheckFinite(values));
  const format::IntegerRange stored = StoredRange(spec);
  std::vector<std::int32_t> integers(values.size());
  std::ranges::transform(values, integers.begin(), [&](float value) {
    return static_cast<std::int32_t>(StoredFloat(value, parameters, stored));
  });
  QTX_ASSIGN_OR_RETURN(Tensor tensor,
                       format::MakeTensor(*format::QuantizedOf(spec.storage), real.dims,
                                          ToQuantization(parameters, spec)));
  format::PackInt32(integers, tensor);
  return tensor;
}

std::vector<float> LeastWeightScales(const Tensor& bias, float x_scale) {
  // A product of scales rounded to binary32 is off by 2^-24, which 2^31 makes 2^7 units.
  constexpr double kLargest = 0x1p31 - 0x1p9;
  std::vector<float> least;
  for (const float value : bias.As<float>()) {
    const double unit =
        std::max(std::abs(static_cast<double>(value)) / kLargest, 0x1p-125);  // normal
    // Both roundings of binary64 and the one to binary32 lie within the 2^9 - 2^7 that are left.
    least.push_back(static_cast<float>(unit / static_cast<double>(x_scale)));
  }
  return least;
}

Tensor StoreBias(const Tensor& bias, float x_scale, std::span<const float> w_scales,
                 std::int64_t axis) {
  Quantization q;
  for (const float w : w_scales) q.scale.push_back(x_scale * w);
  if (w_scales.size() > 1) q.axis = {axis};
  q.scheme = format::Scheme::kSymmetric;
  const auto values = bias.As<float>();
  const format::IntegerRange stored = format::StorageRange(ElementType::kInt32);
  std::vector<std::int32_t> integers(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Parameters unit{format::ScaleAt(q, static_cast<std::int64_t>(i)), 0};
    integers[i] = static_cast<std::int32_t>(StoredOf(static_cast<double>(values[i]), unit, stored));
  }
  Tensor tensor{ElementType::kInt32Q, bias.dims, std::move(q), bias.bytes};  // both have 32 bits
  format::PackInt32(integers, tensor);
  return tensor;
}

}  // namespace qtx::quantize
