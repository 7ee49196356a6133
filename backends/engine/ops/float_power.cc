#include "engine/ops/float_power.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>

#include "engine/elements.h"
#include "engine/ops/broadcast.h"
#include "engine/ops/estimate.h"
#include "engine/ops/function.h"
#include "engine/ops/types.h"

namespace qtx::backend::engine {
namespace {

constexpr std::int64_t kBlock = 256;

constexpr Estimate kUnknown{0, std::numeric_limits<double>::infinity()};

// exp(p ln(x)). With u = 2^-53: the product errs by its own u and by |p| times the error of the
// logarithm, and moves the power by less than twice that. Where |p ln(x)| is 128 and more, the
// power rounds to 0 or to infinity, as 2^-200 and 2^200 do.
Estimate ByLogarithm(double x, double p) {
  const Estimate logarithm = EstimateLog(x);
  const double exponent = p * logarithm.value;
  const double error = std::fabs(p) * logarithm.error + std::fabs(exponent) * 0x1p-52;
  if (!(error < 0x1p-30)) return kUnknown;
  if (std::fabs(exponent) > 128) return {exponent > 0 ? 0x1p200 : 0x1p-200, 0};
  const Estimate power = EstimateExp(exponent);
  return {power.value, power.error + power.value * 2 * error};
}

// x^p; unknown unless x is positive. Integers of 24 bits have exact squares.
Estimate PowerNear(double x, double p) {
  const bool known = x > 0 && x < std::numeric_limits<double>::infinity() && std::isfinite(p);
  if (!known) return kUnknown;
  if (p == 2) return {x * x, 0};
  if (p == 3) return {x * x * x, x * x * x * 0x1p-52};
  if (p == 0.5) return {std::sqrt(x), std::sqrt(x) * 0x1p-52};
  if (p == -0.5) return {1 / std::sqrt(x), 1 / std::sqrt(x) * 0x1p-51};
  return ByLogarithm(x, p);
}

class FloatPower : public Step {
 public:
  FloatPower(const NodePlan& node, const Value* x, const Value* exponent, Value* y)
      : threads_(node.threads()),
        operands_{x, exponent},
        y_(y),
        broadcasts_{Broadcast(x->tensor.dims, Layout::kRowMajor, y->tensor.dims, Layout::kRowMajor),
                    Broadcast(exponent->tensor.dims, Layout::kRowMajor, y->tensor.dims,
                              Layout::kRowMajor)} {}

  std::string_view Path() const override { return "floats"; }
  Result<void> Run() override {
    const std::int64_t count = format::ElementCount(y_->tensor);
    threads_.ForBlocks(count, kBlock, count * 16,
                       [this](std::int64_t first, std::int64_t n) { RunBlock(first, n); });
    return {};
  }

 private:
  void RunBlock(std::int64_t first, std::int64_t n) {
    std::array<float, kBlock> copy_of_x, copy_of_exponent;
    const float* x = Take(0, first, n, copy_of_x.data());
    const float* p = Take(1, first, n, copy_of_exponent.data());
    float* y = y_->tensor.As<float>().data() + first;
    for (std::int64_t i = 0; i < n; ++i) {
      const Estimate power = PowerNear(static_cast<double>(x[i]), static_cast<double>(p[i]));
      const auto low = static_cast<float>(power.value - power.error);
      const auto high = static_cast<float>(power.value + power.error);
      y[i] = high;
      if (!(low == high)) PutExactly(first + i, x[i], p[i]);
    }
  }
  const float* Take(std::size_t operand, std::int64_t first, std::int64_t n, float* copy) const {
    const float* elements = operands_[operand]->tensor.As<float>().data();
    return broadcasts_[operand].Take(elements, first, n, copy);
  }
  void PutExactly(std::int64_t element, float x, float p) {
    const std::lock_guard lock(one_by_one_);
    NumberWriter writer(y_->tensor);
    writer.Put(element, PowerOf(Number::OfDouble(x), Number::OfDouble(p)));
  }

  Threads& threads_;
  std::array<const Value*, 2> operands_;
  Value* y_;
  std::array<Broadcast, 2> broadcasts_;
  std::mutex one_by_one_;
};

}  // namespace

std::unique_ptr<Step> MakeFloatPower(const NodePlan& node, const Value* x, const Value* exponent,
                                     Value* y) {
  if (!IsFloat(*x) || !IsFloat(*exponent) || !IsFloat(*y)) return nullptr;
  return std::make_unique<FloatPower>(node, x, exponent, y);
}

}  // namespace qtx::backend::engine
