#include "engine/ops/float_function.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <utility>

#include "engine/elements.h"
#include "engine/ops/types.h"

namespace qtx::backend::engine {
namespace {

constexpr std::int64_t kBlock = 1024;

// Rounds y[i] = f(x[i]) for i < n <= kBlock, lists the doubtful elements and returns their number.
using BlockFunction =
    std::function<std::int64_t(const float* x, std::int64_t n, float* y, std::int32_t* doubtful)>;

class FloatFunctionStep : public Step {
 public:
  FloatFunctionStep(const Value* x, Value* y, BlockFunction block, Function exactly,
                    Threads& threads)
      : x_(x), y_(y), block_(std::move(block)), exactly_(std::move(exactly)), threads_(threads) {}

  std::string_view Path() const override { return "floats"; }
  Result<void> Run() override {
    const std::int64_t count = format::ElementCount(y_->tensor);
    threads_.ForBlocks(count, kBlock, count * 2,
                       [this](std::int64_t first, std::int64_t n) { RunBlock(first, n); });
    return {};
  }

 private:
  void RunBlock(std::int64_t first, std::int64_t n) {
    std::array<std::int32_t, kBlock> doubtful;
    const std::int64_t count = block_(x_->tensor.As<float>().data() + first, n,
                                      y_->tensor.As<float>().data() + first, doubtful.data());
    if (count == 0) return;
    const std::lock_guard lock(one_by_one_);
    const NumberReader x(x_->tensor);
    NumberWriter writer(y_->tensor);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t element = first + doubtful[static_cast<std::size_t>(i)];
      writer.Put(element, exactly_(x(element)));
    }
  }

  const Value* x_;
  Value* y_;
  BlockFunction block_;
  Function exactly_;
  Threads& threads_;
  std::mutex one_by_one_;
};

// Of a function that gives a value in binary64 and its greatest error.
template <typename Bounded>
BlockFunction ByBounds(Bounded bounded) {
  return [bounded](const float* x, std::int64_t n, float* y, std::int32_t* doubtful) {
    std::array<float, kBlock> low;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto [value, error] = bounded(static_cast<double>(x[i]));
      low[static_cast<std::size_t>(i)] = static_cast<float>(value - error);
      y[i] = static_cast<float>(value + error);
    }
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      if (!(low[static_cast<std::size_t>(i)] == y[i])) {
        doubtful[count++] = static_cast<std::int32_t>(i);
      }
    }
    return count;
  };
}

// Of one binary32 operation, or one that moves bits: no element is doubtful.
template <typename Operation>
BlockFunction ByOperation(Operation operation) {
  return [operation](const float* x, std::int64_t n, float* y, std::int32_t*) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = operation(x[i]);
    return std::int64_t{0};
  };
}

struct Bounds {
  double value, error;
};

// One rounding, and those of the bound.
BlockFunction HardSigmoid(double alpha, double beta) {
  return ByBounds([alpha, beta](double x) {
    const double product = alpha * x;  // exact: 48 bits
    const double sum = product + beta;
    const double error = (std::fabs(product) + std::fabs(beta)) * 0x1p-52;
    return sum - error > 1 ? Bounds{1, 0} : sum + error < 0 ? Bounds{0, 0} : Bounds{sum, error};
  });
}

// Three roundings, each of 2^-53 of a value: x + 3 has exact operands.
Bounds HardSwish(double x) {
  if (x <= -3) return {0, 0};
  if (x >= 3) return {x, 0};
  const double value = x * (x + 3) / 6;
  return {value, std::fabs(value) * 0x1p-50};
}

BlockFunction WithAttributes(const NodePlan& node) {
  const std::string& op = node.node().op_type;
  if (op == "HardSigmoid") return HardSigmoid(node.Float("alpha"), node.Float("beta"));
  if (op != "LeakyRelu") return nullptr;
  return ByOperation([alpha = node.Float("alpha")](float x) { return x < 0 ? alpha * x : x; });
}

BlockFunction BlockOf(const NodePlan& node) {
  const std::string& op = node.node().op_type;
  const Kernels& kernels = node.kernels();
  if (op == "Exp") return kernels.exp;
  if (op == "Sigmoid") return kernels.sigmoid;
  if (op == "Tanh") return kernels.tanh;
  if (op == "Abs") return ByOperation([](float x) { return std::fabs(x); });
  if (op == "Neg") return ByOperation([](float x) { return -x; });
  if (op == "Sqrt") return ByOperation([](float x) { return std::sqrt(x); });
  // A zero has no sign here.
  if (op == "Reciprocal") return ByOperation([](float x) { return 1.0F / (x + 0.0F); });
  if (op == "HardSwish") return ByBounds(HardSwish);
  return WithAttributes(node);
}

}  // namespace

std::unique_ptr<Step> MakeFloatFunction(const NodePlan& node, const Value* x, Value* y,
                                        Function exactly) {
  if (!IsFloat(*x) || !IsFloat(*y)) return nullptr;
  BlockFunction block = BlockOf(node);
  if (block == nullptr) return nullptr;
  return std::make_unique<FloatFunctionStep>(x, y, std::move(block), std::move(exactly),
                                             node.threads());
}

}  // namespace qtx::backend::engine
