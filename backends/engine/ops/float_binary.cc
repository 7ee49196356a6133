#include "engine/ops/float_binary.h"

#include <algorithm>
#include <array>

#include "engine/ops/broadcast.h"

namespace qtx::backend::engine {
namespace {

constexpr std::int64_t kBlock = 1024;

template <typename Operation>
class FloatBinary : public Step {
 public:
  FloatBinary(const Value* a, const Value* b, Value* y)
      : operands_{a, b},
        y_(y),
        broadcasts_{
            Broadcast(a->tensor.dims, Layout::kRowMajor, y->tensor.dims, Layout::kRowMajor),
            Broadcast(b->tensor.dims, Layout::kRowMajor, y->tensor.dims, Layout::kRowMajor)} {}

  std::string_view Path() const override { return "floats"; }
  Result<void> Run() override {
    const std::int64_t count = format::ElementCount(y_->tensor);
    float* y = y_->tensor.As<float>().data();
    std::array<float, kBlock> copy_of_a;
    std::array<float, kBlock> copy_of_b;
    for (std::int64_t first = 0; first < count; first += kBlock) {
      const std::int64_t n = std::min(kBlock, count - first);
      const float* a = Take(0, first, n, copy_of_a.data());
      const float* b = Take(1, first, n, copy_of_b.data());
      for (std::int64_t i = 0; i < n; ++i) y[first + i] = Operation::Of(a[i], b[i]);
    }
    return {};
  }

 private:
  const float* Take(std::size_t operand, std::int64_t first, std::int64_t n, float* copy) const {
    const float* elements = operands_[operand]->tensor.As<float>().data();
    return broadcasts_[operand].Take(elements, first, n, copy);
  }

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

}  // namespace

std::unique_ptr<Step> MakeFloatBinary(std::string_view op_type,
                                      std::span<const Value* const> inputs, Value* y) {
  const auto is_float = [](const Value* value) {
    return value->tensor.elem_type == format::ElementType::kFloat;
  };
  if (inputs.size() != 2 || !std::ranges::all_of(inputs, is_float) || !is_float(y)) return nullptr;
  if (op_type == "Add") return std::make_unique<FloatBinary<Plus>>(inputs[0], inputs[1], y);
  if (op_type == "Sub") return std::make_unique<FloatBinary<Minus>>(inputs[0], inputs[1], y);
  if (op_type == "Mul") return std::make_unique<FloatBinary<Times>>(inputs[0], inputs[1], y);
  return nullptr;
}

}  // namespace qtx::backend::engine
