// Operators of one or more inputs, element by element over numbers: those that have no other path,
// and plain integers and DOUBLE of those that have (exact.S10).
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "engine/elements.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/float_binary.h"
#include "engine/ops/float_function.h"
#include "engine/ops/float_power.h"
#include "engine/ops/function.h"
#include "engine/ops/operators.h"

namespace qtx::backend::engine {
namespace {

using Operands = std::span<const Number>;

Number Total(Operands x) {
  Number sum;
  for (const Number& n : x) sum = sum + n;
  return sum;
}

Real GreatestOf(Operands x) {
  Number greatest = x[0];
  for (const Number& n : x.subspan(1)) greatest = Greater(greatest, n);
  return greatest;
}
Real LeastOf(Operands x) {
  Number least = x[0];
  for (const Number& n : x.subspan(1)) least = Lesser(least, n);
  return least;
}

// A bound that is NaN has no effect.
Real Clipped(Operands x) {
  Number y = x[0];
  if (y < x[1]) y = x[1];
  if (x[2] < y) y = x[2];
  return y;
}

struct Formula {
  std::string_view op_type;
  std::size_t inputs;  // 0: any number of at least one
  Plain plain;
  Real (*apply)(Operands);
};
constexpr std::array kFormulas{
    Formula{"Add", 2, Plain::kNumbers, [](Operands x) -> Real { return x[0] + x[1]; }},
    Formula{"Div", 2, Plain::kNumbers, [](Operands x) -> Real { return x[0] / x[1]; }},
    Formula{"Max", 0, Plain::kNumbers, GreatestOf},
    Formula{"Mean", 0, Plain::kDouble,
            [](Operands x) -> Real {
              return Total(x) / Number::Of(static_cast<std::int64_t>(x.size()));
            }},
    Formula{"Min", 0, Plain::kNumbers, LeastOf},
    Formula{"Mul", 2, Plain::kNumbers, [](Operands x) -> Real { return x[0] * x[1]; }},
    Formula{"PRelu", 2, Plain::kNumbers,
            [](Operands x) -> Real { return x[0].Sign() < 0 ? x[0] * x[1] : x[0]; }},
    Formula{"Sub", 2, Plain::kNumbers, [](Operands x) -> Real { return x[0] - x[1]; }},
    Formula{"Sum", 0, Plain::kDouble, [](Operands x) -> Real { return Total(x); }},
};

bool IsPlainInteger(format::ElementType type) {
  return IsPlainNumeric(type) && format::IsIntegerStorage(type);
}

// Checks the divisors, then divides.
class IntegerDivision : public Step {
 public:
  IntegerDivision(const Value* b, std::unique_ptr<Step> divide, Error error)
      : b_(b), divide_(std::move(divide)), error_(std::move(error)) {}
  Result<void> Run() override {
    const NumberReader divisors(b_->tensor);
    for (std::int64_t i = 0; i < format::ElementCount(b_->tensor); ++i) {
      if (divisors(i).Sign() == 0) return error_;
    }
    return divide_->Run();
  }

 private:
  const Value* b_;
  std::unique_ptr<Step> divide_;
  Error error_;
};

}  // namespace

StepResult PrepareArithmetic(const NodePlan& node) {
  const auto* op = std::ranges::find(kFormulas, node.node().op_type, &Formula::op_type);
  if (op == kFormulas.end()) return node.Unsupported("no such operator here");
  QTX_ASSIGN_OR_RETURN(const format::Dims dims, node.InferredDims());
  QTX_ASSIGN_OR_RETURN(auto operands, ElementwiseOperands::Of(node, dims));
  QTX_RETURN_IF_ERROR(CheckTypes(node, operands.inputs(), operands.y(), op->plain));
  auto floats = MakeFloatBinary(node, operands.inputs(), operands.y());
  if (floats != nullptr) return operands.Finish(node, std::move(floats));
  auto step = MakeElementwise(operands.inputs(), operands.y(), op->apply);
  const Value* last = operands.inputs().back();
  const bool divides = op->op_type == "Div" && IsPlainInteger(operands.y()->tensor.elem_type);
  if (!divides || last->constant) return operands.Finish(node, std::move(step));
  return std::make_unique<IntegerDivision>(last, std::move(step),
                                           node.Breaks("C4", "division of an integer by 0"));
}

StepResult PreparePow(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const format::Dims dims, node.InferredDims());
  QTX_ASSIGN_OR_RETURN(auto operands, ElementwiseOperands::Of(node, dims));
  const std::vector<const Value*>& inputs = operands.inputs();
  // The exponent may have any type of its own.
  QTX_RETURN_IF_ERROR(CheckTypes(node, std::span(inputs).first(1), operands.y(), Plain::kNumbers));
  if (IsRealInput(inputs[1]->tensor.elem_type)) {
    QTX_RETURN_IF_ERROR(CheckTypes(node, std::span(inputs).last(1), std::span<const Value* const>(),
                                   Plain::kNumbers));
  } else if (!IsPlainNumeric(inputs[1]->tensor.elem_type)) {
    return node.Unsupported("an exponent that is no number");
  }
  auto floats = MakeFloatPower(node, inputs[0], inputs[1], operands.y());
  if (floats != nullptr) return operands.Finish(node, std::move(floats));
  const bool integers = IsPlainInteger(operands.y()->tensor.elem_type);
  return operands.Finish(node,
                         MakeElementwise(inputs, operands.y(), [integers](Operands x) -> Real {
                           const auto power = integers ? ModularPower(x[0], x[1]) : std::nullopt;
                           return power.has_value() ? Real(*power) : PowerOf(x[0], x[1]);
                         }));
}

StepResult PrepareFunction(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const format::Tensor* x, node.TypeOf(0));
  const format::Dims dims = x->dims;
  QTX_ASSIGN_OR_RETURN(auto operands, ElementwiseOperands::Of(node, dims, 1));
  const std::string& op = node.node().op_type;
  const bool any = op == "Abs" || op == "Neg" || op == "Relu";
  QTX_RETURN_IF_ERROR(
      CheckTypes(node, operands.inputs(), operands.y(), any ? Plain::kNumbers : Plain::kDouble));
  QTX_ASSIGN_OR_RETURN(Function function, FunctionOf(node));
  auto floats = MakeFloatFunction(node, operands.inputs()[0], operands.y(), function);
  if (floats != nullptr) return operands.Finish(node, std::move(floats));
  return operands.Finish(
      node, MakeElementwise(operands.inputs(), operands.y(),
                            [f = std::move(function)](Operands o) { return f(o[0]); }));
}

// Bounds that the model computes, or of plain types.
StepResult PrepareGeneralClip(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(x->tensor.dims));
  if (!node.node().attributes.empty()) return node.Unsupported("bounds that are attributes");
  std::vector<const Value*> inputs{x};
  std::array<bool, 2> given{};
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    given[i - 1] = node.HasInput(i);
    if (!given[i - 1]) continue;
    QTX_ASSIGN_OR_RETURN(const Value* bound, node.Input(i));
    inputs.push_back(bound);
  }
  QTX_RETURN_IF_ERROR(CheckTypes(node, inputs, y, Plain::kNumbers));
  return MakeElementwise(std::move(inputs), y, [given](Operands o) -> Real {
    const Number low = given[0] ? o[1] : Number::Infinity(-1);
    const Number high = given[1] ? o[given[0] ? 2 : 1] : Number::Infinity(1);
    return Clipped(std::array{o[0], low, high});
  });
}

}  // namespace qtx::backend::engine
