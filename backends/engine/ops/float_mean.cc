#include "engine/ops/float_mean.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <utility>

#include "engine/ops/reals.h"
#include "engine/ops/types.h"

namespace qtx::backend::engine {
namespace {

constexpr std::size_t kChains = 4;  // sums of their own, as one is slower

class FloatMean : public Step {
 public:
  FloatMean(const NodePlan& node, Sum sum, Walk walk, Value* y)
      : sum_(std::move(sum)), walk_(std::move(walk)), y_(y), threads_(node.threads()) {}

  std::string_view Path() const override { return "float sums"; }
  Result<void> Run() override {
    constexpr std::int64_t kPlanes = 16;
    const auto planes = static_cast<std::int64_t>(walk_.planes.size());
    if (planes == 0) return {};
    RealWriter writer(y_->tensor);
    const auto nanoseconds =
        static_cast<std::int64_t>(walk_.terms / static_cast<double>(walk_.positions));
    for (std::int64_t position = 0; position < walk_.positions; ++position) {
      const std::int64_t divisor = walk_.taps_at(position, taps_);
      threads_.For((planes + kPlanes - 1) / kPlanes, nanoseconds, [&](std::int64_t i) {
        for (std::int64_t p = i * kPlanes; p < std::min(planes, (i + 1) * kPlanes); ++p) {
          RunElement(position, p, divisor, writer);
        }
      });
    }
    return {};
  }

 private:
  // A square of 24 bits is a binary64.
  double TermAt(const float* plane, std::size_t tap) const {
    const double value = plane[taps_[tap].a];
    return sum_.b == nullptr ? value : value * value;
  }

  void RunElement(std::int64_t position, std::int64_t p, std::int64_t divisor, RealWriter& writer) {
    const float* plane =
        sum_.a->tensor.As<float>().data() + walk_.planes[static_cast<std::size_t>(p)].a;
    const std::int64_t element = p * walk_.positions + position;
    if (PutMean(element, PlainMean(plane, divisor))) return;
    if (!PutMean(element, CompensatedMean(plane, divisor))) {
      PutExactly(element, plane, divisor, writer);
    }
  }

  // False if it is not certain how it rounds.
  bool PutMean(std::int64_t element, const BoundedMean& mean) {
    const auto low = static_cast<float>(mean.value - mean.error);
    const auto high = static_cast<float>(mean.value + mean.error);
    y_->tensor.As<float>()[static_cast<std::size_t>(element)] = high;
    return low == high;
  }

  // Each sum errs by at most 2^-53 of the magnitudes before it (Higham, Accuracy and Stability of
  // Numerical Algorithms, 4.2): one a term and one a chain, twice for what is of second order.
  BoundedMean PlainMean(const float* plane, std::int64_t divisor) const {
    std::array<double, kChains> sums{}, magnitudes{};
    std::size_t i = 0;
    for (; i + kChains <= taps_.size(); i += kChains) {
      for (std::size_t k = 0; k < kChains; ++k) {
        const double term = TermAt(plane, i + k);
        sums[k] += term;
        magnitudes[k] += std::fabs(term);
      }
    }
    for (; i < taps_.size(); ++i) {
      const double term = TermAt(plane, i);
      sums[0] += term;
      magnitudes[0] += std::fabs(term);
    }
    static_assert(kChains == 4);
    const auto of = static_cast<double>(divisor);
    const double value = ((sums[0] + sums[1]) + (sums[2] + sums[3])) / of;
    const double magnitude = (magnitudes[0] + magnitudes[1]) + (magnitudes[2] + magnitudes[3]);
    const auto roundings = static_cast<double>(taps_.size() + kChains);
    return {value, magnitude * roundings * 0x1p-52 / of + std::fabs(value) * 0x1p-51};
  }

  BoundedMean CompensatedMean(const float* plane, std::int64_t divisor) const {
    std::array<CompensatedSum, kChains> sums;
    std::size_t i = 0;
    for (; i + kChains <= taps_.size(); i += kChains) {
      for (std::size_t k = 0; k < kChains; ++k) sums[k].Add(TermAt(plane, i + k));
    }
    for (; i < taps_.size(); ++i) sums[0].Add(TermAt(plane, i));
    CompensatedSum all;
    for (const CompensatedSum& sum : sums) {
      all.Add(sum.sum);
      all.lost += sum.lost;
      all.losses += sum.losses;
    }
    const auto terms = static_cast<std::int64_t>(taps_.size() + kChains);
    return MeanOf(all, terms, divisor);
  }

  void PutExactly(std::int64_t element, const float* plane, std::int64_t divisor,
                  RealWriter& writer) {
    const std::lock_guard lock(exactly_);
    terms_.clear();
    for (std::size_t i = 0; i < taps_.size(); ++i) {
      const Term term{1, plane[taps_[i].a]};
      AppendProduct(term, sum_.b == nullptr ? Term{1, 1} : term, 1, terms_);
    }
    writer.Put(element, terms_, divisor);
  }

  Sum sum_;
  Walk walk_;
  Value* y_;
  Threads& threads_;
  std::vector<Pair> taps_;
  std::mutex exactly_;
  std::vector<Term> terms_;
};

}  // namespace

bool TakesFloatMean(const NodePlan& node, const Sum& sum, const Value& y) {
  return node.arithmetic() == Arithmetic::kExact && IsFloat(*sum.a) && IsFloat(y) &&
         (sum.b == nullptr || sum.b == sum.a) && sum.addend == nullptr && sum.factor == 1;
}

std::unique_ptr<Step> MakeFloatMean(const NodePlan& node, Sum sum, Walk walk, Value* y) {
  return std::make_unique<FloatMean>(node, std::move(sum), std::move(walk), y);
}

}  // namespace qtx::backend::engine
