#include "weights.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "descent.h"
#include "gptq.h"

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

// Chooses the parameters of weights and stores them.
class Storing {
 public:
  Storing(const Tensor& weights, const Settings& settings, const WeightAxes& axes,
          std::span<const float> least_scales)
      : settings_(settings),
        spec_(settings.weights.type),
        stored_(StoredRange(spec_)),
        least_scales_(least_scales),
        dims_(weights.dims),
        axes_(axes),
        values_(weights.As<float>().begin(), weights.As<float>().end()),
        q_(LayoutOf(settings.weights, axes, weights)) {}

  Result<void> ChooseAll();
  Result<void> RoundBy(const WeightRounding& rounding);
  Result<StoredConstant> Finish();

 private:
  Result<void> Choose(std::size_t p, std::span<const float> values);
  Result<void> RoundGroup(const WeightRounding& rounding, std::int64_t first, std::int64_t count);
  Result<void> DescendAll(const Gram& gram, const std::vector<double>& reals, std::int64_t first);
  Filter FilterOf(std::int64_t column, std::int64_t size) const;
  Result<void> ChooseBlock(const std::vector<double>& matrix, std::int64_t k, std::int64_t first,
                           std::int64_t columns);
  // The place of a weight: k counts along all that is reduced, `column` the outputs.
  std::size_t At(std::int64_t k, std::int64_t column) const {
    const std::int64_t outputs = dims_[static_cast<std::size_t>(*axes_.output)];
    const std::int64_t size = std::ssize(values_) / outputs;
    return static_cast<std::size_t>(*axes_.reduced == 0 ? k * outputs + column : column * size + k);
  }
  Parameters Of(std::size_t p) const { return {q_.scale[p], q_.offset[p]}; }

  const Settings& settings_;
  const TypeSpec& spec_;
  const format::IntegerRange stored_;
  std::span<const float> least_scales_;
  const format::Dims& dims_;
  const WeightAxes& axes_;
  std::vector<float> values_;
  Quantization q_;
  std::vector<float> greatest_;
  StoredConstant result_;
};

Result<void> Storing::Choose(std::size_t p, std::span<const float> values) {
  QTX_ASSIGN_OR_RETURN(result_.ranges[p], WeightRange(values, settings_));
  float least = 0;
  if (least_scales_.size() == q_.scale.size()) {
    least = least_scales_[p];
  } else if (!least_scales_.empty()) {
    least = std::ranges::max(least_scales_);
  }
  QTX_ASSIGN_OR_RETURN(const Parameters chosen,
                       ChooseParameters(result_.ranges[p].range, spec_, least));
  q_.scale[p] = chosen.scale;
  q_.offset[p] = chosen.offset;
  greatest_[p] = GreatestMagnitude(values);
  return {};
}

Result<void> Storing::ChooseAll() {
  QTX_RETURN_IF_ERROR(format::ParameterDims(q_, dims_));
  const Buckets buckets = BucketsOf(values_, format::ParameterMap(q_, dims_));
  q_.scale.resize(buckets.size());
  q_.offset.resize(buckets.size());
  greatest_.resize(buckets.size());
  result_.ranges.resize(buckets.size());
  for (std::size_t p = 0; p < buckets.size(); ++p) QTX_RETURN_IF_ERROR(Choose(p, buckets[p]));
  if (settings_.weights.scale_type != ScaleType::kFloat) {
    result_.levels = BlockScalesOf(greatest_, spec_.storage, settings_.weights.scale_type);
    q_.scale = Products(*result_.levels);
  }
  return {};
}

// The parameters of the blocks that begin at row `k` of `matrix`, one a column from `first` on.
Result<void> Storing::ChooseBlock(const std::vector<double>& matrix, std::int64_t k,
                                  std::int64_t first, std::int64_t columns) {
  const format::ParameterMap map(q_, dims_);
  const std::int64_t size = std::ssize(matrix) / columns;
  std::vector<float> block;
  for (std::int64_t column = 0; column < columns; ++column) {
    block.clear();
    for (std::int64_t i = k; i < std::min(size, k + settings_.weights.block); ++i)
      block.push_back(static_cast<float>(matrix[static_cast<std::size_t>(i * columns + column)]));
    QTX_RETURN_IF_ERROR(CheckFinite(block));
    const auto p = static_cast<std::size_t>(map(static_cast<std::int64_t>(At(k, first + column))));
    QTX_RETURN_IF_ERROR(Choose(p, block));
  }
  return {};
}

// Rounds the weights of `count` outputs from `first` on, which share the rows of `gram`.
Result<void> Storing::RoundGroup(const WeightRounding& rounding, std::int64_t first,
                                 std::int64_t count) {
  const Gram& gram = *rounding.gram;
  const format::ParameterMap map(q_, dims_);
  std::vector<double> matrix(static_cast<std::size_t>(gram.size * count));
  for (std::int64_t k = 0; k < gram.size; ++k) {
    for (std::int64_t column = 0; column < count; ++column)
      matrix[static_cast<std::size_t>(k * count + column)] =
          static_cast<double>(values_[At(k, first + column)]);
  }
  if (!gram.cross.empty()) QTX_RETURN_IF_ERROR(Retarget(gram, matrix));
  const std::vector<double> reals = rounding.descends ? matrix : std::vector<double>();
  const auto choose = [&](std::int64_t k) -> Result<void> {
    return q_.axis.size() == 2 && k % settings_.weights.block == 0
               ? ChooseBlock(matrix, k, first, count)
               : Result<void>();
  };
  RowRounding rows{.begin = choose};
  if (rounding.by_diagonal) {
    for (std::int64_t k = 0; k < gram.size; ++k) QTX_RETURN_IF_ERROR(choose(k));
    rows.begin = [](std::int64_t) { return Result<void>(); };
    rows.order = ByDiagonal(gram);
  }
  rows.stored = [&](std::int64_t k, std::int64_t column, float real) {
    const std::size_t at = At(k, first + column);
    values_[at] = real;
    const Parameters own = Of(static_cast<std::size_t>(map(static_cast<std::int64_t>(at))));
    return static_cast<double>(own.scale) *
           static_cast<double>(StoredFloat(real, own, stored_) - own.offset);
  };
  QTX_RETURN_IF_ERROR(RoundRows(gram, matrix, rows));
  return rounding.descends ? DescendAll(gram, reals, first) : Result<void>();
}

// The weights of an output as GPTQ has left them, without their reals.
Filter Storing::FilterOf(std::int64_t column, std::int64_t size) const {
  const format::ParameterMap map(q_, dims_);
  Filter filter;
  filter.block = q_.axis.size() == 2 ? settings_.weights.block : size;
  filter.fits_scales = !q_.axis.empty() && spec_.scheme != format::Scheme::kAsymmetricPow2 &&
                       spec_.scheme != format::Scheme::kSymmetricPow2;
  for (std::int64_t k = 0; k < size; ++k) {
    const std::size_t at = At(k, column);
    const auto p = static_cast<std::size_t>(map(static_cast<std::int64_t>(at)));
    const std::int64_t offset = q_.offset[p];
    filter.codes.push_back(StoredFloat(values_[at], Of(p), stored_) - offset);
    if (k % filter.block != 0) continue;
    filter.scales.push_back(q_.scale[p]);
    filter.limits.push_back({stored_.min - offset, stored_.max - offset});
    if (least_scales_.size() == q_.scale.size())
      filter.least_scale = std::max(filter.least_scale, least_scales_[p]);
  }
  return filter;
}

// `reals`: the weights of the outputs from `first` on, as they were, [gram.size, outputs].
Result<void> Storing::DescendAll(const Gram& gram, const std::vector<double>& reals,
                                 std::int64_t first) {
  QTX_ASSIGN_OR_RETURN(const std::vector<double> h, DampedSums(gram));
  const format::ParameterMap map(q_, dims_);
  const std::int64_t count = std::ssize(reals) / gram.size;
  for (std::int64_t column = 0; column < count; ++column) {
    Filter filter = FilterOf(first + column, gram.size);
    for (std::int64_t k = 0; k < gram.size; ++k)
      filter.reals.push_back(reals[static_cast<std::size_t>(k * count + column)]);
    Descend(h, filter);
    for (std::int64_t k = 0; k < gram.size; ++k) {
      const std::size_t at = At(k, first + column);
      const float scale = filter.scales[static_cast<std::size_t>(k / filter.block)];
      const auto p = static_cast<std::size_t>(map(static_cast<std::int64_t>(at)));
      q_.scale[p] = scale;
      values_[at] = scale * static_cast<float>(filter.codes[static_cast<std::size_t>(k)]);
    }
  }
  return {};
}

Result<void> Storing::RoundBy(const WeightRounding& rounding) {
  const Gram& gram = *rounding.gram;
  const std::int64_t groups = gram.Groups();
  if (groups < 1) return Error{ErrorCode::kInvalid, "", "found no sums, expected a triangle"};
  const std::int64_t count = dims_[static_cast<std::size_t>(*axes_.output)] / groups;
  const auto triangle = std::ssize(gram.sums) / groups;
  for (std::int64_t group = 0; group < groups; ++group) {
    const auto begin = gram.sums.begin() + group * triangle;
    Gram own{gram.size, {begin, begin + triangle}};
    if (!gram.cross.empty()) {
      const auto cross = gram.cross.begin() + group * gram.size * gram.size;
      own.cross.assign(cross, cross + gram.size * gram.size);
    }
    QTX_RETURN_IF_ERROR(
        RoundGroup({&own, rounding.descends, rounding.by_diagonal}, group * count, count));
  }
  return {};
}

Result<StoredConstant> Storing::Finish() {
  const format::ParameterMap map(q_, dims_);
  std::vector<std::int32_t> integers(values_.size());
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const auto p = static_cast<std::size_t>(map(static_cast<std::int64_t>(i)));
    integers[i] = format::IsSmallFloat(spec_.storage)
                      ? StoredCode(values_[i], q_.scale[p], spec_.storage)
                      : static_cast<std::int32_t>(StoredFloat(values_[i], Of(p), stored_));
  }
  if (std::ranges::count(q_.offset, 0) == std::ssize(q_.offset)) q_.offset.clear();
  QTX_ASSIGN_OR_RETURN(result_.tensor, format::MakeTensor(*format::QuantizedOf(spec_.storage),
                                                          dims_, std::move(q_)));
  format::PackInt32(integers, result_.tensor);
  return std::move(result_);
}

}  // namespace

Result<StoredConstant> StoreWeights(const Tensor& weights, const Settings& settings,
                                    const WeightAxes& axes, std::span<const float> least_scales,
                                    const WeightRounding& rounding) {
  if (weights.As<float>().empty()) return Error{ErrorCode::kInvalid, "", "has no elements"};
  QTX_RETURN_IF_ERROR(CheckFinite(weights.As<float>()));
  Storing storing(weights, settings, axes, least_scales);
  QTX_RETURN_IF_ERROR(storing.ChooseAll());
  if (rounding.gram != nullptr) QTX_RETURN_IF_ERROR(storing.RoundBy(rounding));
  return storing.Finish();
}

Tensor Dequantized(const Tensor& stored) {
  const format::Quantization& q = *stored.quantization;
  const format::ParameterMap map(q, stored.dims);
  const std::vector<double> integers = format::StoredValues(stored);
  Tensor real{.elem_type = format::ElementType::kFloat, .dims = stored.dims};
  real.bytes.resize(integers.size() * sizeof(float));
  const auto values = real.As<float>();
  for (std::size_t i = 0; i < integers.size(); ++i) {
    const std::int64_t p = map(static_cast<std::int64_t>(i));
    values[i] = static_cast<float>(static_cast<double>(format::ScaleAt(q, p)) *
                                   (integers[i] - format::OffsetAt(q, p)));
  }
  return real;
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
