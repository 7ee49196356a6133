#include "engine/ops/float_sum.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "engine/number.h"
#include "engine/ops/binary32.h"
#include "engine/ops/types.h"
#include "engine/product_epilogue.h"

namespace qtx::backend::engine {
namespace {

std::size_t At(std::int64_t i) { return static_cast<std::size_t>(i); }

// Calls put(element, plane, taps, divisor) for every element of y.
template <typename Put>
void ForEachElement(const Walk& walk, Put put) {
  std::vector<Pair> taps;
  for (std::int64_t position = 0; position < walk.positions; ++position) {
    const std::int64_t divisor = walk.taps_at(position, taps);
    for (std::size_t p = 0; p < walk.planes.size(); ++p) {
      put(static_cast<std::int64_t>(p) * walk.positions + position, p, taps, divisor);
    }
  }
}

class FloatSumStep : public Step {
 public:
  FloatSumStep(Sum sum, Walk walk, Value* y)
      : sum_(std::move(sum)), walk_(std::move(walk)), y_(y) {}

  std::string_view Path() const override { return IsMeanOfFloats() ? "float means" : kGeneralPath; }
  Result<void> Run() override {
    if (walk_.planes.empty()) return {};
    if (IsMeanOfFloats()) {
      RunMeans();
      return {};
    }
    const std::vector<float> a = Binary32Of(sum_.a->tensor);
    const std::vector<float> b =
        sum_.b != nullptr ? Binary32Of(sum_.b->tensor) : std::vector<float>();
    const std::vector<float> addend =
        sum_.addend != nullptr ? Binary32Of(sum_.addend->tensor) : std::vector<float>();
    FloatWriter writer(y_->tensor);
    ForEachElement(walk_, [&](std::int64_t element, std::size_t p, const std::vector<Pair>& taps,
                              std::int64_t divisor) {
      const Pair& plane = walk_.planes[p];
      float total = 0;
      for (const Pair& tap : taps) {
        const float left = a[At(plane.a + tap.a)];
        total += b.empty() ? left : left * b[At(plane.b + tap.b)];
      }
      if (sum_.factor != 1) total *= sum_.factor;
      if (!addend.empty()) {
        const float own = addend[At(sum_.addend_index[p])];
        total += sum_.addend_factor == 1 ? own : sum_.addend_factor * own;
      }
      writer.Put(element, sum_.b == nullptr ? total / static_cast<float>(divisor) : total);
    });
    writer.Finish();
    return {};
  }

 private:
  static constexpr std::size_t kTogether = 8;  // planes, whose sums do not wait for each other

  bool IsMeanOfFloats() const {
    return sum_.b == nullptr && sum_.addend == nullptr && sum_.factor == 1 && IsFloat(*sum_.a) &&
           IsFloat(*y_);
  }

  void RunMeans() {
    std::vector<Pair> taps;
    for (std::int64_t position = 0; position < walk_.positions; ++position) {
      const auto divisor = static_cast<float>(walk_.taps_at(position, taps));
      std::size_t p = 0;
      for (; p + kTogether <= walk_.planes.size(); p += kTogether) {
        PutMeans<kTogether>(taps, p, position, divisor);
      }
      for (; p < walk_.planes.size(); ++p) PutMeans<1>(taps, p, position, divisor);
    }
  }

  template <std::size_t kPlanes>
  void PutMeans(std::span<const Pair> taps, std::size_t first, std::int64_t position,
                float divisor) {
    const float* x = sum_.a->tensor.As<float>().data();
    std::array<const float*, kPlanes> planes;
    for (std::size_t i = 0; i < kPlanes; ++i) planes[i] = x + walk_.planes[first + i].a;
    std::array<float, kPlanes> sums{};
    for (const Pair& tap : taps) {
      for (std::size_t i = 0; i < kPlanes; ++i) sums[i] += planes[i][tap.a];
    }
    float* y = y_->tensor.As<float>().data() + position;
    for (std::size_t i = 0; i < kPlanes; ++i) {
      y[static_cast<std::int64_t>(first + i) * walk_.positions] = sums[i] / divisor;
    }
  }

  Sum sum_;
  Walk walk_;
  Value* y_;
};

// Where a bias belongs, in integers.
struct IntegerOperands {
  std::vector<std::int64_t> a, b;
  std::vector<Term> addend;
};

std::vector<std::int64_t> IntegersOf(const format::Tensor& tensor) {
  std::vector<std::int64_t> integers;
  for (const Term& term : RealsOf(tensor)) {
    integers.push_back(static_cast<std::int64_t>(term.integer));
  }
  return integers;
}

// Half to even.
mpz_class NearestInteger(const mpq_class& value) {
  const mpq_class up = value + mpq_class(1, 2);
  mpz_class nearest;
  mpz_fdiv_q(nearest.get_mpz_t(), up.get_num_mpz_t(), up.get_den_mpz_t());
  const bool tie = up.get_den() == 1;
  return tie && mpz_odd_p(nearest.get_mpz_t()) != 0 ? mpz_class(nearest - 1) : nearest;
}

// The binary32 nearest to products and bias, an integer of any size: float32.S4, float32.S5.
float Binary32Sum(__int128 products, const Term* bias, double unit) {
  if (bias == nullptr) return static_cast<float>(products);
  const auto addend =
      IntegerBias({unit, 0, bias->integer, bias->scale}, {Epilogue::Kind::kFloat32});
  if (addend.has_value()) return static_cast<float>(products + *addend);
  const auto rounded_unit = static_cast<double>(static_cast<float>(unit));
  mpz_class sum = static_cast<long>(products >> 64);
  sum = (sum << 64) + mpz_class(static_cast<unsigned long>(products));
  sum +=
      NearestInteger(mpq_class(bias->integer) * mpq_class(bias->scale) / mpq_class(rounded_unit));
  return static_cast<float>(RoundToOdd(mpq_class(sum)));
}

class IntegerSumStep : public Step {
 public:
  IntegerSumStep(Sum sum, Walk walk, Value* y, std::vector<double> units,
                 std::optional<Scaling> scaling)
      : sum_(std::move(sum)),
        walk_(std::move(walk)),
        y_(y),
        units_(std::move(units)),
        scaling_(std::move(scaling)) {}

  Result<void> Run() override {
    if (walk_.planes.empty()) return {};
    operands_ = {IntegersOf(sum_.a->tensor), IntegersOf(sum_.b->tensor), {}};
    if (sum_.addend != nullptr) operands_.addend = RealsOf(sum_.addend->tensor);
    if (scaling_.has_value()) {
      RunScaled();
    } else {
      FloatWriter writer(y_->tensor);
      ForEachSum([&](std::int64_t element, std::int64_t channel, __int128 sum, const Term* bias) {
        const double unit = units_[At(channel)];
        writer.PutProduct(element, Binary32Sum(sum, bias, unit), static_cast<float>(unit));
      });
      writer.Finish();
    }
    return {};
  }

 private:
  template <typename Put>
  void ForEachSum(Put put) const {
    ForEachElement(walk_, [&](std::int64_t element, std::size_t p, const std::vector<Pair>& taps,
                              std::int64_t) {
      const Pair& plane = walk_.planes[p];
      const std::int64_t channel = sum_.channel[p];
      __int128 total = 0;  // differences of 33 bits
      for (const Pair& tap : taps) {
        total += static_cast<__int128>(operands_.a[At(plane.a + tap.a)]) *
                 operands_.b[At(plane.b + tap.b)];
      }
      const bool has_bias = !operands_.addend.empty();
      put(element, channel, total,
          has_bias ? &operands_.addend[At(sum_.addend_index[p])] : nullptr);
    });
  }

  // TFLite's: operands of at most 16 bits, a bias in units of theirs (tflite.S4).
  void RunScaled() {
    const bool plain = sum_.addend != nullptr && !sum_.addend->tensor.quantization.has_value();
    const auto addend_of = [&](std::int64_t channel, const Term& bias) {
      const Channel own{units_[At(channel)], 0, bias.integer, plain ? 0 : bias.scale};
      return *IntegerBias(own, {Epilogue::Kind::kOnce});  // saturates, so that it has no error
    };
    std::vector<std::int32_t> stored(At(format::ElementCount(y_->tensor)));
    ForEachSum([&](std::int64_t element, std::int64_t channel, __int128 sum, const Term* bias) {
      const std::int64_t addend = bias == nullptr ? 0 : addend_of(channel, *bias);
      stored[At(element)] = static_cast<std::int32_t>(
          scaling_->Stored(static_cast<std::int64_t>(sum) + addend, channel));
    });
    format::PackInt32(stored, y_->tensor);
  }

  Sum sum_;
  Walk walk_;
  Value* y_;
  std::vector<double> units_;       // x_scale * w_scale of each channel
  std::optional<Scaling> scaling_;  // of integer multipliers
  IntegerOperands operands_;
};

// x_scale * w_scale, exactly, for as many channels as the planes name.
std::vector<double> UnitsOf(const Sum& sum) {
  const format::Quantization& a = *sum.a->tensor.quantization;
  const format::Quantization& b = *sum.b->tensor.quantization;
  std::int64_t channels = 0;
  for (const std::int64_t channel : sum.channel) channels = std::max(channels, channel + 1);
  std::vector<double> units;
  for (std::int64_t c = 0; c < channels; ++c) {
    const double scale = format::ScaleAt(b, b.axis.empty() ? 0 : c);
    units.push_back(static_cast<double>(format::ScaleAt(a, 0)) * scale);
  }
  return units;
}

class StoredMeanStep : public Step {
 public:
  StoredMeanStep(const Value* x, Walk walk, Value* y)
      : x_(x), walk_(std::move(walk)), y_(y), type_(*PerTensorOf(y->tensor)) {}

  Result<void> Run() override {
    if (walk_.planes.empty()) return {};
    const std::vector<std::int32_t> x = format::UnpackInt32(x_->tensor);
    std::vector<std::int32_t> means(At(format::ElementCount(y_->tensor)));
    ForEachElement(walk_, [&](std::int64_t element, std::size_t p, const std::vector<Pair>& taps,
                              std::int64_t divisor) {
      std::int64_t sum = 0;
      for (const Pair& tap : taps) sum += x[At(walk_.planes[p].a + tap.a)];
      means[At(element)] =
          static_cast<std::int32_t>(Mean(sum, static_cast<std::int64_t>(taps.size()), divisor));
    });
    format::PackInt32(means, y_->tensor);
    return {};
  }

 private:
  std::int64_t Mean(std::int64_t sum, std::int64_t count, std::int64_t divisor) const {
    if (divisor == count) {
      return std::clamp(DivideHalfAway(sum, count), type_.stored.min, type_.stored.max);
    }
    const Term term{static_cast<double>(sum - count * type_.offset), type_.scale};
    return RoundHalfEven({{&term, 1}, type_.scale, divisor}, type_.Rounded()) + type_.offset;
  }

  const Value* x_;
  Walk walk_;
  Value* y_;
  PerTensor type_;
};

}  // namespace

bool AveragesStored(Arithmetic arithmetic, const format::Tensor& x, const format::Tensor& y) {
  if (!IsTflite(arithmetic) || x.elem_type != y.elem_type) return false;
  using format::ElementType;
  const bool wide = x.elem_type == ElementType::kInt16Q;
  if (!wide && x.elem_type != ElementType::kInt8Q && x.elem_type != ElementType::kUint8Q) {
    return false;
  }
  const auto from = PerTensorOf(x);
  const auto to = PerTensorOf(y);
  return from.has_value() && to.has_value() && from->scale == to->scale &&
         from->offset == to->offset && (!wide || from->offset == 0);
}

std::unique_ptr<Step> MakeStoredMean(const Value* x, Walk walk, Value* y) {
  return std::make_unique<StoredMeanStep>(x, std::move(walk), y);
}

std::unique_ptr<Step> MakeFloatSum(Sum sum, Walk walk, Value* y) {
  return std::make_unique<FloatSumStep>(std::move(sum), std::move(walk), y);
}

Result<std::unique_ptr<Step>> MakeIntegerSum(const NodePlan& node, Sum sum, Walk walk, Value* y,
                                             Epilogue epilogue) {
  std::vector<double> units = UnitsOf(sum);
  std::optional<Scaling> scaling;
  if (epilogue.kind != Epilogue::Kind::kFloat32) {
    const auto output = PerTensorOf(y->tensor);
    if (!output.has_value()) return node.Because(output.error());
    std::vector<ScaledSum> sums;
    for (const double unit : units) sums.push_back({unit, 0});
    auto made = Scaling::Make(epilogue, sums, output->AsStored(), 0);
    if (!made.has_value()) return node.Because(made.error());
    scaling = *std::move(made);
  }
  return std::make_unique<IntegerSumStep>(std::move(sum), std::move(walk), y, std::move(units),
                                          std::move(scaling));
}

}  // namespace qtx::backend::engine
