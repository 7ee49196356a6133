// Elements that depend on their place only by the elements that broadcast to it: for the same ones
// they are computed once.
#include <algorithm>

#include "evaluator.h"

namespace qtx::formula {

// Whether it asks for a coordinate. `seen`: the routines that were looked at.
bool Evaluator::DependsOnPlace(const Code& code, std::vector<bool>& seen) const {
  if (code.op == Code::Op::kCoordinate) return true;
  const auto calls = [&](const std::optional<int>& routine) {
    if (!routine || seen[Slot(*routine)]) return false;
    seen[Slot(*routine)] = true;
    return DependsOnPlace(program_.routines[Slot(*routine)].body, seen);
  };
  if (code.op == Code::Op::kRoutine && calls(code.index)) return true;
  return std::ranges::any_of(code.children,
                             [&](const Code& child) { return DependsOnPlace(child, seen); });
}

Evaluator::Pointwise Evaluator::MakePointwise(const Program::Result& result) const {
  Pointwise pointwise;
  std::vector<bool> seen(program_.routines.size());
  for (const auto& routine : {std::optional(result.routine), program_.operand, program_.operation,
                              program_.result, program_.movement}) {
    if (!routine) continue;
    if (DependsOnPlace(program_.routines[Slot(*routine)].body, seen)) return pointwise;
  }
  constexpr int kMostBits = 24;  // with more, few elements are the same
  int bits = 0;
  for (int i = 0; i < std::ssize(scope_.operands()); ++i) {
    const Operand& operand = OperandAt(i);
    if (!operand.has_elements() || operand.size() == 1) continue;
    pointwise.operands.push_back(i);
    bits += format::BitWidth(operand.type());
  }
  pointwise.holds = bits <= kMostBits;
  return pointwise;
}

// The elements that broadcast to that of the result, and the parameters of them and of it; false
// where an operand has no such element.
bool Evaluator::MakeKey(const Pointwise& pointwise, std::vector<std::int64_t>& key) const {
  const auto add = [&](const Operand& operand) {
    const auto element = operand.Broadcast(at_);
    if (!element) return false;
    if (operand.has_elements()) key.push_back(operand.Code(*element));
    if (operand.is_quantized() && !operand.per_tensor()) key.push_back(operand.Parameter(*element));
    return true;
  };
  return add(OperandAt(output_)) &&
         std::ranges::all_of(pointwise.operands, [&](int i) { return add(OperandAt(i)); });
}

}  // namespace qtx::formula
