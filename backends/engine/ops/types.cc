#include "engine/ops/types.h"

#include <algorithm>
#include <string>

#include "engine/ops/reals.h"

namespace qtx::backend::engine {
namespace {

using format::ElementType;

bool IsAllowed(ElementType type, Plain plain) {
  switch (plain) {
    case Plain::kNone:
      return false;
    case Plain::kDouble:
      return type == ElementType::kDouble;
    case Plain::kNumbers:
      return IsPlainNumeric(type);
    case Plain::kNumbersAndBool:
      return IsPlainNumeric(type) || type == ElementType::kBool;
    case Plain::kAny:
      break;
  }
  return format::BitWidth(type) > 0 && type != ElementType::kComplex64 &&
         type != ElementType::kComplex128 && !IsRealOutput(type);
}

// Parameters fit, and elements are not too many; plain types have neither question but the last.
Result<void> CheckElements(const NodePlan& node, const Value& value) {
  if (format::IsQuantized(value.tensor.elem_type)) return CheckReals(node, value);
  if (format::ElementCount(value.tensor) <= kMostReals) return {};
  return node.Unsupported("'" + value.name + "': more than " + std::to_string(kMostReals) +
                          " elements where there is no kernel");
}

}  // namespace

bool IsRealOutput(ElementType type) {
  return type == ElementType::kFloat || format::IsQuantized(type);
}
bool IsRealInput(ElementType type) {
  return IsRealOutput(type) || type == ElementType::kFloat16 || type == ElementType::kBfloat16;
}
bool IsPlainNumeric(ElementType type) {
  return format::BitWidth(type) > 0 && !IsRealOutput(type) && type != ElementType::kBool &&
         type != ElementType::kComplex64 && type != ElementType::kComplex128;
}

Result<void> CheckTypes(const NodePlan& node, std::span<const Value* const> inputs,
                        std::span<const Value* const> outputs, Plain plain) {
  const auto type = [](const Value* value) { return value->tensor.elem_type; };
  const bool real =
      std::ranges::all_of(inputs, [&](const Value* v) { return IsRealInput(type(v)); }) &&
      std::ranges::all_of(outputs, [&](const Value* v) { return IsRealOutput(type(v)); });
  const ElementType first = type(inputs.empty() ? outputs.front() : inputs.front());
  const auto same = [&](const Value* v) { return type(v) == first; };
  const bool one = IsAllowed(first, plain) && std::ranges::all_of(inputs, same) &&
                   std::ranges::all_of(outputs, same);
  if (!real && !one) {
    std::string found;
    for (const Value* v : inputs) found += std::string(format::Name(type(v))) + " ";
    found += "to";
    for (const Value* v : outputs) found += " " + std::string(format::Name(type(v)));
    return node.Unsupported("found elements " + found +
                            ", expected reals, or one plain type it takes");
  }
  for (const Value* v : inputs) QTX_RETURN_IF_ERROR(CheckElements(node, *v));
  for (const Value* v : outputs) QTX_RETURN_IF_ERROR(CheckElements(node, *v));
  return {};
}

Result<void> CheckTypes(const NodePlan& node, std::span<const Value* const> inputs, const Value* y,
                        Plain plain) {
  return CheckTypes(node, inputs, std::span(&y, 1), plain);
}

}  // namespace qtx::backend::engine
