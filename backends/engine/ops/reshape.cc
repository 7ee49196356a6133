// Reshape, Flatten, Squeeze, Unsqueeze: the elements stay in order.
#include <utility>

#include "engine/ops/movement.h"

namespace qtx::backend::engine {
namespace {

// Shape and axes are constants here.
Result<format::Dims> DimsAfter(const NodePlan& node) {
  if (node.HasInput(1)) QTX_RETURN_IF_ERROR(node.Constant(1));
  QTX_ASSIGN_OR_RETURN(format::Dims dims, node.InferredDims());
  const auto count = format::ElementCount(dims);
  if (!count.has_value()) return node.Because(count.error());
  return dims;
}

}  // namespace

StepResult PrepareReshapedNames(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(format::Dims dims, DimsAfter(node));
  return RenameElements(node, Layout::kRowMajor, std::move(dims), Layout::kRowMajor);
}

StepResult PrepareReshape(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  QTX_ASSIGN_OR_RETURN(format::Dims dims, DimsAfter(node));
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(std::move(dims)));
  return MakeMove(node, x, y, {});
}

}  // namespace qtx::backend::engine
