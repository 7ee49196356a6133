// Add, Sub and Mul on all types of reals.
#include "engine/ops/binary.h"

#include <array>
#include <utility>

#include "engine/ops/elementwise.h"
#include "engine/ops/float_binary.h"
#include "engine/ops/indexing.h"
#include "engine/ops/inexact_binary.h"
#include "engine/ops/operators.h"
#include "engine/ops/reals.h"
#include "engine/ops/word_binary.h"
#include "engine/plan.h"

namespace qtx::backend::engine {
namespace {

class Binary : public Step {
 public:
  Binary(BinaryOperation operation, const Value* a, const Value* b, Value* y)
      : operation_(operation),
        a_(a),
        b_(b),
        y_(y),
        a_index_(BroadcastIndex(a->tensor.dims, y->tensor.dims)),
        b_index_(BroadcastIndex(b->tensor.dims, y->tensor.dims)) {}

  Result<void> Run() override {
    const std::vector<Term> a = RealsOf(a_->tensor);
    const std::vector<Term> b = RealsOf(b_->tensor);
    RealWriter writer(y_->tensor);
    std::vector<Term> terms;
    for (std::size_t i = 0; i < a_index_.size(); ++i) {
      const Term& left = a[static_cast<std::size_t>(a_index_[i])];
      const Term& right = b[static_cast<std::size_t>(b_index_[i])];
      terms.clear();
      if (operation_ == BinaryOperation::kMul) {
        AppendProduct(left, right, 1, terms);
      } else {
        terms.push_back(left);
        terms.push_back(
            {operation_ == BinaryOperation::kSub ? -right.integer : right.integer, right.scale});
      }
      writer.Put(static_cast<std::int64_t>(i), terms);
    }
    writer.Finish();
    return {};
  }

 private:
  BinaryOperation operation_;
  const Value* a_;
  const Value* b_;
  Value* y_;
  std::vector<std::int64_t> a_index_, b_index_;
};

StepResult PrepareBinary(const NodePlan& node, BinaryOperation operation) {
  if (node.arithmetic() == Arithmetic::kExact && EightBitInput(node, 0).has_value() &&
      EightBitInput(node, 1).has_value() && node.EightBitOutput()) {
    return PrepareByteBinary(node, operation);
  }
  auto inexact = PrepareInexactBinary(node, operation);
  if (!inexact.has_value()) return inexact.error();
  if (inexact->has_value()) return *std::move(*inexact);
  QTX_ASSIGN_OR_RETURN(format::Dims dims, node.InferredDims());
  if (IsFunctionOfByte(node, dims)) return PrepareArithmetic(node);
  QTX_ASSIGN_OR_RETURN(const Value* a, node.Input(0));
  QTX_ASSIGN_OR_RETURN(const Value* b, node.Input(1));
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(std::move(dims)));
  const format::ElementType type = y->tensor.elem_type;
  if (IsPlainNumber(type) && a->tensor.elem_type == type && b->tensor.elem_type == type) {
    return node.Unsupported("elements of type " + std::string(format::Name(type)));
  }
  if (FitsTable(std::array{a, b}, y)) return PrepareArithmetic(node);
  auto floats = MakeFloatBinary(node, std::array{a, b}, y);
  if (floats != nullptr) return floats;
  for (const Value* value : {a, b, static_cast<const Value*>(y)}) {
    QTX_RETURN_IF_ERROR(CheckReals(node, *value));
  }
  auto words = MakeWordBinary(node, operation, a, b, y);
  if (words != nullptr) return words;
  return std::make_unique<Binary>(operation, a, b, y);
}

}  // namespace

StepResult PrepareAdd(const NodePlan& node) { return PrepareBinary(node, BinaryOperation::kAdd); }
StepResult PrepareSub(const NodePlan& node) { return PrepareBinary(node, BinaryOperation::kSub); }
StepResult PrepareMul(const NodePlan& node) { return PrepareBinary(node, BinaryOperation::kMul); }

}  // namespace qtx::backend::engine
