// Operators whose result is BOOL: And, Or, Xor and Not of BOOL, IsNaN of FLOAT.
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "engine/ops/broadcast.h"
#include "engine/ops/operators.h"
#include "engine/ops/types.h"

namespace qtx::backend::engine {
namespace {

constexpr std::int64_t kBlock = 1024;

// y[i] = of(a[i], b[i]) for i < n. Any byte but 0 is true.
using Condition = void (*)(const std::uint8_t* a, const std::uint8_t* b, std::int64_t n,
                           std::uint8_t* y);
template <typename Of>
constexpr Condition Make(Of) {
  return [](const std::uint8_t* a, const std::uint8_t* b, std::int64_t n, std::uint8_t* y) {
    for (std::int64_t i = 0; i < n; ++i) {
      y[i] = static_cast<std::uint8_t>(Of()(a[i] != 0 ? 1 : 0, b[i] != 0 ? 1 : 0));
    }
  };
}

struct NamedCondition {
  std::string_view op_type;
  Condition condition;
};
constexpr std::array kConditions{NamedCondition{"And", Make([](int a, int b) { return a & b; })},
                                 NamedCondition{"Not", Make([](int a, int) { return a ^ 1; })},
                                 NamedCondition{"Or", Make([](int a, int b) { return a | b; })},
                                 NamedCondition{"Xor", Make([](int a, int b) { return a ^ b; })}};

class ConditionStep : public Step {
 public:
  ConditionStep(Condition condition, const Value* a, const Value* b, Value* y, Threads& threads)
      : condition_(condition),
        operands_{a, b},
        broadcasts_{BroadcastOf(*a, *y), BroadcastOf(*b, *y)},
        y_(y),
        threads_(threads) {}

  std::string_view Path() const override { return "conditions"; }
  Result<void> Run() override {
    const std::int64_t count = format::ElementCount(y_->tensor);
    threads_.ForBlocks(count, kBlock, count, [this](std::int64_t first, std::int64_t n) {
      std::array<std::array<std::uint8_t, kBlock>, 2> copies;
      const auto take = [&](std::size_t i) {
        return broadcasts_[i].Take(Bytes(operands_[i]->tensor), first, n, copies[i].data());
      };
      condition_(take(0), take(1), n, Bytes(y_->tensor) + first);
    });
    return {};
  }

 private:
  static Broadcast BroadcastOf(const Value& from, const Value& to) {
    return {from.tensor.dims, Layout::kRowMajor, to.tensor.dims, Layout::kRowMajor};
  }

  Condition condition_;
  std::array<const Value*, 2> operands_;
  std::array<Broadcast, 2> broadcasts_;
  Value* y_;
  Threads& threads_;
};

class IsNanStep : public Step {
 public:
  IsNanStep(const Value* x, Value* y) : x_(x), y_(y) {}
  std::string_view Path() const override { return "conditions"; }
  Result<void> Run() override {
    std::ranges::transform(x_->tensor.As<float>(), Bytes(y_->tensor),
                           [](float x) { return static_cast<std::uint8_t>(x != x ? 1 : 0); });
    return {};
  }

 private:
  const Value* x_;
  Value* y_;
};

}  // namespace

StepResult PrepareCondition(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(format::Dims dims, node.InferredDims());
  QTX_ASSIGN_OR_RETURN(const Value* a, node.Input(0));
  QTX_ASSIGN_OR_RETURN(const Value* b, node.Input(node.HasInput(1) ? 1 : 0));
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(std::move(dims)));
  const auto* found = std::ranges::find(kConditions, node.node().op_type, &NamedCondition::op_type);
  return std::make_unique<ConditionStep>(found->condition, a, b, y, node.threads());
}

StepResult PrepareIsNan(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const format::Tensor* type, node.TypeOf(0));
  if (type->elem_type != format::ElementType::kFloat) {
    return node.Unsupported("elements of type " + std::string(format::Name(type->elem_type)));
  }
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(type->dims));
  return std::make_unique<IsNanStep>(x, y);
}

}  // namespace qtx::backend::engine
