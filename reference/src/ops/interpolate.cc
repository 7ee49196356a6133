#include "ops/interpolate.h"

#include <array>
#include <optional>

#include "ops/move.h"

namespace qtx::reference {
namespace {

using format::Dims;

// Walks the elements of `dims`, giving the samples of each.
class SampleWalk {
 public:
  SampleWalk(const Dims& dims, const AxisSamples& samples)
      : dims_(dims), samples_(samples), at_(dims.size(), 0) {}
  const Sample& operator[](std::size_t axis) const {
    return samples_[axis][static_cast<std::size_t>(at_[axis])];
  }
  std::size_t rank() const { return dims_.size(); }
  bool Outside() const {
    for (std::size_t axis = 0; axis < rank(); ++axis) {
      if ((*this)[axis].outside) return true;
    }
    return false;
  }
  void Next() {
    for (std::size_t axis = rank(); axis-- > 0;) {
      if (++at_[axis] < dims_[axis]) return;
      at_[axis] = 0;
    }
  }

 private:
  const Dims& dims_;
  const AxisSamples& samples_;
  Dims at_;
};

template <typename Weight>
struct Corner {
  std::int64_t source = 0;
  Weight weight = 1;
};

// The corners that have a weight, in row-major order. `weights` gives those of low and high.
template <typename Weight, typename WeightsOf>
std::vector<Corner<Weight>> CornersOf(const SampleWalk& at, const Dims& strides,
                                      const WeightsOf& weights) {
  std::vector<Corner<Weight>> corners = {{}};
  for (std::size_t axis = 0; axis < at.rank(); ++axis) {
    const Sample& sample = at[axis];
    if (sample.single()) {
      for (Corner<Weight>& corner : corners) corner.source += sample.low * strides[axis];
      continue;
    }
    const std::array<Weight, 2> weight = weights(sample);
    std::vector<Corner<Weight>> next;
    for (const Corner<Weight>& corner : corners) {
      next.push_back({corner.source + sample.low * strides[axis],
                      static_cast<Weight>(corner.weight * weight[0])});
      next.push_back({corner.source + sample.high * strides[axis],
                      static_cast<Weight>(corner.weight * weight[1])});
    }
    corners.swap(next);
  }
  return corners;
}

std::vector<Corner<Rational>> ExactCorners(const SampleWalk& at, const Dims& strides) {
  return CornersOf<Rational>(at, strides, [](const Sample& sample) {
    return std::array<Rational, 2>{1 - sample.high_weight, sample.high_weight};
  });
}

// The product of the weights' denominators when that is a small divisor.
std::optional<std::int64_t> SmallDivisor(const SampleWalk& at) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 29;  // of Output::PutTerms
  std::int64_t divisor = 1;
  for (std::size_t axis = 0; axis < at.rank(); ++axis) {
    if (at[axis].single()) continue;
    const mpz_class denominator = at[axis].high_weight.get_den();
    if (denominator >= static_cast<long>(kLimit / divisor)) return std::nullopt;
    divisor *= denominator.get_si();
  }
  return divisor;
}

// Integers of one scale: whole weights over a divisor. A weight is below 2^29 and an element below
// 2^33, and the weights add up to the divisor: the sum stays below 2^62.
void PutIntegers(const Operand& x, const SampleWalk& at, const Dims& strides, std::int64_t divisor,
                 std::int64_t element, Output* output) {
  const auto corners = CornersOf<std::int64_t>(at, strides, [](const Sample& sample) {
    const std::int64_t high = sample.high_weight.get_num().get_si();
    return std::array<std::int64_t, 2>{sample.high_weight.get_den().get_si() - high, high};
  });
  std::int64_t sum = 0;
  for (const auto& corner : corners) sum += corner.weight * x.integer(corner.source);
  const Term term{sum, static_cast<double>(x.scale(0))};
  output->PutTerms(element, {&term, 1}, divisor);
}

// Infinities and NaN that have a weight take part as in IEEE 754.
Real WeightedMean(const Operand& x, const std::vector<Corner<Rational>>& corners) {
  Real mean;
  for (const auto& corner : corners) {
    const Real value = ToReal(x.exact(corner.source));
    if (!value.finite) {
      mean.special += value.special;
      mean.finite = false;
    } else {
      mean.value += corner.weight * value.value;
    }
  }
  return mean;
}

// Source: resize.S8.
float WeightedMean32(const Operand& x, const std::vector<Corner<Rational>>& corners) {
  float sum = NearestFloat(corners[0].weight) * x.binary32(corners[0].source);
  for (std::size_t i = 1; i < corners.size(); ++i) {
    sum += NearestFloat(corners[i].weight) * x.binary32(corners[i].source);
  }
  return sum;
}

format::Tensor ExtrapolationValue(const Call& call) {
  format::Tensor value = *format::MakeTensor(format::ElementType::kFloat, {});
  value.As<float>()[0] = call.Float("extrapolation_value");
  return value;
}

}  // namespace

Result<format::Tensor> PickNearest(const Call& call, const Dims& dims, const AxisSamples& samples) {
  const Dims strides = format::RowMajorStrides(call.inputs[0]->dims);
  const std::int64_t count = Product(dims, 0, dims.size());
  std::vector<std::int64_t> elements;
  std::vector<std::int64_t> sources;
  std::vector<std::int64_t> outside;
  SampleWalk at(dims, samples);
  for (std::int64_t element = 0; element < count; ++element, at.Next()) {
    if (at.Outside()) {
      outside.push_back(element);
      continue;
    }
    std::int64_t source = 0;
    for (std::size_t axis = 0; axis < at.rank(); ++axis) source += at[axis].low * strides[axis];
    elements.push_back(element);
    sources.push_back(source);
  }
  QTX_ASSIGN_OR_RETURN(Mover mover, Mover::Make(call, *call.inputs[0], dims));
  QTX_RETURN_IF_ERROR(mover.Copy(*call.inputs[0], elements, sources));
  const format::Tensor value = ExtrapolationValue(call);
  QTX_RETURN_IF_ERROR(mover.Fill(&value, outside));
  return mover.Take();
}

Result<format::Tensor> Interpolate(const Call& call, const Dims& dims, const AxisSamples& samples) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Make(call, dims));
  const Dims strides = format::RowMajorStrides(x.tensor().dims);
  const std::int64_t count = Product(dims, 0, dims.size());
  const format::Tensor value = ExtrapolationValue(call);
  QTX_ASSIGN_OR_RETURN(const Operand extrapolation, Operand::Make(value));
  Converter converter(call.arithmetic, x, &output, Purpose::kSelect);
  const bool one_scale = x.is_integer() && x.per_tensor();
  const bool float32 = DomainFor(call.arithmetic, output) == Domain::kFloat32;
  SampleWalk at(dims, samples);
  for (std::int64_t element = 0; element < count; ++element, at.Next()) {
    if (at.Outside()) {
      converter.PutValue(element, extrapolation, 0);
      continue;
    }
    const auto divisor = float32 || !one_scale ? std::nullopt : SmallDivisor(at);
    if (divisor) {
      PutIntegers(x, at, strides, *divisor, element, &output);
      continue;
    }
    const std::vector<Corner<Rational>> corners = ExactCorners(at, strides);
    if (corners.size() == 1) {
      converter.Put(element, corners[0].source);
    } else if (float32) {
      output.PutFloat(element, WeightedMean32(x, corners));
    } else {
      output.PutReal(element, WeightedMean(x, corners));
    }
  }
  return output.Take();
}

}  // namespace qtx::reference
