#include "ops/common.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::AttributeType;
using format::Dims;

// [product of the axes before `axis`, product of the rest].  Source: flatten.S1, flatten.S2.
Result<format::Tensor> Flatten(const Call& call) {
  const Dims& dims = call.inputs[0]->dims;
  const auto rank = static_cast<std::int64_t>(dims.size());
  std::int64_t axis = call.node.IntOr("axis", 1);
  if (axis < -rank || axis > rank) {
    return Error{ErrorCode::kInvalid, "attribute 'axis'",
                 "found " + std::to_string(axis) + ", expected -" + std::to_string(rank) + " to " +
                     std::to_string(rank)};
  }
  if (axis < 0) axis += rank;
  const std::span<const std::int64_t> all(dims);
  const auto split = static_cast<std::size_t>(axis);
  QTX_ASSIGN_OR_RETURN(const std::int64_t rows, format::ElementCount(all.first(split)));
  QTX_ASSIGN_OR_RETURN(const std::int64_t columns, format::ElementCount(all.subspan(split)));
  return Reshaped(call, {rows, columns});
}

constexpr AttributeRule kFlattenAttributes[] = {{"axis", AttributeType::kInt}};

}  // namespace

const Operator kFlatten = {.op_type = "Flatten",
                           .min_inputs = 1,
                           .max_inputs = 1,
                           .attributes = kFlattenAttributes,
                           .run = Flatten};

}  // namespace qtx::reference::ops
