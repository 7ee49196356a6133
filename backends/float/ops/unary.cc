// Operators of one variable: Relu, Clip and their like, exponential functions.
#include <algorithm>
#include <limits>

#include "float/operator.h"

namespace qtx::backend::floats {
namespace {

using format::Tensor;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::int64_t kElementsOfTask = 8192;

Result<Tensor> Map(const Context& context, const Tensor* x, Unary function, float p, float q) {
  QTX_ASSIGN_OR_RETURN(Tensor y, context.buffers.NewTensor(x->dims));
  const std::int64_t count = format::ElementCount(y);
  const auto run = context.kernels.unary[static_cast<int>(function)];
  context.workers.For((count + kElementsOfTask - 1) / kElementsOfTask, 8 * count,
                      [&](std::int64_t i) {
                        const std::int64_t first = i * kElementsOfTask;
                        run({DataOf(*x) + first, DataOf(y) + first,
                             std::min(kElementsOfTask, count - first), p, q});
                      });
  return y;
}

class UnaryOperator : public Operator {
 public:
  UnaryOperator(Unary function, float p, float q) : function_(function), p_(p), q_(q) {}

  Result<Tensor> Run(const Context& context, Inputs inputs) const override {
    return Map(context, InputOr(inputs, 0), function_, p_, q_);
  }

  std::optional<std::pair<float, float>> ClampOf(Inputs) const override {
    if (function_ != Unary::kClamp) return std::nullopt;
    return std::pair(p_, q_);
  }

 private:
  Unary function_;
  float p_, q_;
};

class Clip : public Operator {
 public:
  explicit Clip(const NodeInfo& info)
      : node_(info.node),
        low_(info.node.FloatOr("min", -kInfinity)),
        high_(info.node.FloatOr("max", kInfinity)) {}

  Result<Tensor> Run(const Context& context, Inputs inputs) const override {
    const auto [low, high] = BoundsOf(inputs);
    return Map(context, InputOr(inputs, 0), Unary::kClamp, low, high);
  }

  std::optional<std::pair<float, float>> ClampOf(Inputs constants) const override {
    if (constants.size() != node_.inputs.size()) return std::nullopt;
    for (std::size_t i = 1; i < constants.size(); ++i) {
      if (node_.inputs[i].empty()) continue;
      if (constants[i] == nullptr || constants[i]->elem_type != format::ElementType::kFloat) {
        return std::nullopt;
      }
    }
    return BoundsOf(constants);
  }

 private:
  std::pair<float, float> BoundsOf(Inputs inputs) const {
    float bounds[2] = {low_, high_};
    for (std::size_t i = 0; i < 2; ++i) {
      const Tensor* bound = InputOr(inputs, i + 1);
      if (bound != nullptr) bounds[i] = *DataOf(*bound);
    }
    return {bounds[0], bounds[1]};
  }

  const format::Node& node_;
  float low_, high_;
};

}  // namespace

Result<std::unique_ptr<Operator>> MakeUnary(const NodeInfo& info) {
  const format::Node& node = info.node;
  const auto make = [](Unary function, float p = 0,
                       float q = 0) -> Result<std::unique_ptr<Operator>> {
    return std::make_unique<UnaryOperator>(function, p, q);
  };
  if (node.op_type == "Relu") return make(Unary::kClamp, 0, kInfinity);
  if (node.op_type == "LeakyRelu") return make(Unary::kLeakyRelu, info.attributes.Float("alpha"));
  if (node.op_type == "HardSigmoid") {
    return make(Unary::kHardSigmoid, info.attributes.Float("alpha"), info.attributes.Float("beta"));
  }
  if (node.op_type == "HardSwish") return make(Unary::kHardSwish, 1.0F / 6, 0.5F);
  if (node.op_type == "Exp") return make(Unary::kExp);
  if (node.op_type == "Sigmoid") return make(Unary::kSigmoid);
  if (node.op_type == "Tanh") return make(Unary::kTanh);
  return make(Unary::kSqrt);
}

Result<std::unique_ptr<Operator>> MakeClip(const NodeInfo& info) {
  return std::make_unique<Clip>(info);
}

}  // namespace qtx::backend::floats
