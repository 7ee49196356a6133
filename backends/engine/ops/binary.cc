// Add, Sub and Mul on any types whose reals are exact terms; Add of 8-bit operands goes to its
// kernel.
#include <cmath>
#include <utility>

#include "engine/ops/indexing.h"
#include "engine/ops/reals.h"
#include "engine/plan.h"

namespace qtx::backend::engine {
namespace {

using format::ElementType;

enum class Operation { kAdd, kSub, kMul };

class Binary : public Step {
 public:
  Binary(Operation operation, const Value* a, const Value* b, Value* y, std::string place)
      : operation_(operation),
        a_(a),
        b_(b),
        y_(y),
        a_index_(BroadcastIndex(a->tensor.dims, y->tensor.dims)),
        b_index_(BroadcastIndex(b->tensor.dims, y->tensor.dims)),
        place_(std::move(place)) {}

  Result<void> Run() override {
    if (!AllFinite(a_->tensor) || !AllFinite(b_->tensor)) {
      return Error{ErrorCode::kUnsupported, place_, "an operand that is not finite"};
    }
    const std::vector<Term> a = RealsOf(a_->tensor);
    const std::vector<Term> b = RealsOf(b_->tensor);
    std::vector<Term> terms;
    for (std::size_t i = 0; i < a_index_.size(); ++i) {
      const Term& left = a[static_cast<std::size_t>(a_index_[i])];
      const Term& right = b[static_cast<std::size_t>(b_index_[i])];
      if (operation_ == Operation::kMul) {
        // Integers of at most 17 bits and scales of 24: both products are exact.
        terms.push_back({left.integer * right.integer, left.scale * right.scale});
      } else {
        terms.push_back(left);
        terms.push_back(
            {operation_ == Operation::kSub ? -right.integer : right.integer, right.scale});
      }
    }
    StoreReals(terms, operation_ == Operation::kMul ? 1 : 2, y_->tensor);
    return {};
  }

 private:
  Operation operation_;
  const Value* a_;
  const Value* b_;
  Value* y_;
  std::vector<std::int64_t> a_index_, b_index_;
  std::string place_;
};

StepResult PrepareBinary(const NodePlan& node, Operation operation) {
  QTX_ASSIGN_OR_RETURN(const Value* a, node.Input(0));
  QTX_ASSIGN_OR_RETURN(const Value* b, node.Input(1));
  auto dims = BroadcastDims(a->tensor.dims, b->tensor.dims);
  if (!dims.has_value()) return node.Because(dims.error());
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(*std::move(dims)));
  const bool product = operation == Operation::kMul;
  for (const Value* value : {a, b, static_cast<const Value*>(y)}) {
    const bool supported =
        product && value != y ? HasShortReals(value->tensor) : HasReals(value->tensor);
    if (supported && !(value == y && y->tensor.elem_type == ElementType::kBipolar1Q)) continue;
    return node.Unsupported("'" + value->name + "' of type " +
                            std::string(format::Name(value->tensor.elem_type)));
  }
  return std::make_unique<Binary>(operation, a, b, y, node.Because({}).where);
}

}  // namespace

StepResult PrepareAdd(const NodePlan& node) {
  if (EightBitOperand(node, 0).has_value() && EightBitOperand(node, 1).has_value() &&
      node.EightBitOutput()) {
    return PrepareEightBitAdd(node);
  }
  return PrepareBinary(node, Operation::kAdd);
}
StepResult PrepareSub(const NodePlan& node) { return PrepareBinary(node, Operation::kSub); }
StepResult PrepareMul(const NodePlan& node) { return PrepareBinary(node, Operation::kMul); }

}  // namespace qtx::backend::engine
