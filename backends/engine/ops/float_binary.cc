#include "engine/ops/float_binary.h"

#include <algorithm>
#include <array>

#include "engine/ops/broadcast.h"
#include "engine/ops/types.h"

namespace qtx::backend::engine {
namespace {

constexpr std::int64_t kBlock = 1024;

template <typename Operation>
class FloatBinary : public Step {
 public:
  FloatBinary(const Value* a, const Value* b, Value* y, Threads& threads)
      : threads_(threads),
        operands_{a, b},
        y_(y),
        broadcasts_{
            Broadcast(a->tensor.dims, Layout::kRowMajor, y->tensor.dims, Layout::kRowMajor),
            Broadcast(b->tensor.dims, Layout::kRowMajor, y->tensor.dims, Layout::kRowMajor)} {}

  std::string_view Path() const override { return "floats"; }
  Result<void> Run() override {
    const std::int64_t count = format::ElementCount(y_->tensor);
    threads_.ForBlocks(count, kBlock, count,
                       [this](std::int64_t first, std::int64_t n) { RunBlock(first, n); });
    return {};
  }

 private:
  void RunBlock(std::int64_t first, std::int64_t n) const {
    std::array<float, kBlock> copy_of_a;
    std::array<float, kBlock> copy_of_b;
    const float* a = Take(0, first, n, copy_of_a.data());
    const float* b = Take(1, first, n, copy_of_b.data());
    float* y = y_->tensor.As<float>().data() + first;
    for (std::int64_t i = 0; i < n; ++i) y[i] = Operation::Of(a[i], b[i]);
  }
  const float* Take(std::size_t operand, std::int64_t first, std::int64_t n, float* copy) const {
    const float* elements = operands_[operand]->tensor.As<float>().data();
    return broadcasts_[operand].Take(elements, first, n, copy);
  }

  Threads& threads_;
  std::array<const Value*, 2> operands_;
  Value* y_;
  std::array<Broadcast, 2> broadcasts_;
};

struct Plus {
  static float Of(float a, float b) { return a + b; }
};
struct Minus {
  static float Of(float a, float b) { return a - b; }
};
struct Times {
  static float Of(float a, float b) { return a * b; }
};

// A zero has no sign here (div.S3).
struct Over {
  static float Of(float a, float b) { return a / (b + 0.0F); }
};
// NaN if one is NaN (max.S3).
struct Greater2 {
  static float Of(float a, float b) { return a > b || a != a ? a : b; }
};
struct Lesser2 {
  static float Of(float a, float b) { return a < b || a != a ? a : b; }
};
struct Sloped {
  static float Of(float a, float b) { return a < 0 ? a * b : a; }
};

template <typename Operation>
std::unique_ptr<Step> Make(std::span<const Value* const> inputs, Value* y, Threads& threads) {
  return std::make_unique<FloatBinary<Operation>>(inputs[0], inputs[1], y, threads);
}

struct Named {
  std::string_view op_type;
  std::unique_ptr<Step> (*make)(std::span<const Value* const>, Value*, Threads&);
};
constexpr std::array kOperations{Named{"Add", Make<Plus>},     Named{"Div", Make<Over>},
                                 Named{"Max", Make<Greater2>}, Named{"Min", Make<Lesser2>},
                                 Named{"Mul", Make<Times>},    Named{"PRelu", Make<Sloped>},
                                 Named{"Sub", Make<Minus>},    Named{"Sum", Make<Plus>}};

}  // namespace

std::unique_ptr<Step> MakeFloatBinary(const NodePlan& node, std::span<const Value* const> inputs,
                                      Value* y) {
  const auto is_float = [](const Value* value) { return IsFloat(*value); };
  if (inputs.size() != 2 || !std::ranges::all_of(inputs, is_float) || !IsFloat(*y)) return nullptr;
  const auto* found = std::ranges::find(kOperations, node.node().op_type, &Named::op_type);
  return found == kOperations.end() ? nullptr : found->make(inputs, y, node.threads());
}

}  // namespace qtx::backend::engine
