// Moving elements that no byte copy moves: packed ones, and those whose parameters depend on where
// they are.
#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/ops/movement.h"
#include "engine/ops/select.h"

namespace qtx::backend::engine {

StepResult MakeGeneralMove(const NodePlan& node, std::vector<const Value*> inputs, Value* y,
                           std::vector<std::int64_t> index, const Value* padding) {
  if (padding != nullptr) inputs.push_back(padding);
  QTX_RETURN_IF_ERROR(CheckTypes(node, inputs, y, Plain::kAny));
  // A selection rounds as exact does.
  const bool rounds = std::ranges::any_of(inputs, [&](const Value* input) {
    const ChangeRule rule = RuleFor(node.arithmetic(), Purpose::kMove, input->tensor, y->tensor);
    return rule.in_binary32() || OverlooksEqual(rule, input->tensor, y->tensor);
  });
  if (rounds) return node.Unsupported("elements that change their type on the way");
  if (index.empty()) {
    index.resize(static_cast<std::size_t>(format::ElementCount(y->tensor)));
    std::iota(index.begin(), index.end(), std::int64_t{0});
  }
  std::int64_t last = -1;  // the padding, which comes after all elements
  for (const Value* input : inputs) last += format::ElementCount(input->tensor);
  for (std::int64_t& from : index) from = from < 0 ? last : from;
  return MakeSelection(inputs, y, std::move(index));
}

}  // namespace qtx::backend::engine
