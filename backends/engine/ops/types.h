// Limits of the engine on element types.
#pragma once

#include <span>
#include <vector>

#include "engine/plan.h"

namespace qtx::backend::engine {

/// FLOAT or quantized; as an input FLOAT16 and BFLOAT16 too (spec/glossary.md: real operand).
bool IsRealInput(format::ElementType type);
bool IsRealOutput(format::ElementType type);
inline bool IsFloat(const Value& value) {
  return value.tensor.elem_type == format::ElementType::kFloat;
}
/// Integers of 2 to 64 bits and floats that are neither FLOAT nor quantized; not BOOL.
bool IsPlainNumeric(format::ElementType type);

/// Types that an operator computes besides real operands, if all its tensors have the same one.
enum class Plain { kNone, kDouble, kNumbers, kNumbersAndBool, kAny };

/// Checks that inputs and outputs are real operands or all of one plain type, that quantized ones
/// fulfil CheckReals, and that there are not too many elements.  Errors: kUnsupported.
Result<void> CheckTypes(const NodePlan& node, std::span<const Value* const> inputs,
                        std::span<const Value* const> outputs, Plain plain);
/// The same for operators of one output.
Result<void> CheckTypes(const NodePlan& node, std::span<const Value* const> inputs, const Value* y,
                        Plain plain);

}  // namespace qtx::backend::engine
