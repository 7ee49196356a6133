#include "ops/common.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::AttributeType;
using format::Dims;

// `wanted` with every 0 (unless allowed) and the one -1 replaced.  Source: reshape.S2.
Result<Dims> Resolve(const Dims& from, Dims wanted, bool allow_zero) {
  std::size_t open = wanted.size();  // position of the -1
  Dims known;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const bool copied = wanted[i] == 0 && !allow_zero;
    if (wanted[i] < -1 || (wanted[i] == -1 && open != wanted.size()) ||
        (copied && i >= from.size())) {
      return Error{ErrorCode::kInvalid, "",
                   "value " + std::to_string(wanted[i]) + " at position " + std::to_string(i) +
                       " of " + format::ToString(wanted) + " for data of shape " +
                       format::ToString(from)};
    }
    if (copied) wanted[i] = from[i];
    if (wanted[i] == -1) {
      open = i;
    } else {
      known.push_back(wanted[i]);
    }
  }
  QTX_ASSIGN_OR_RETURN(const std::int64_t have, format::ElementCount(from));
  QTX_ASSIGN_OR_RETURN(const std::int64_t rest, format::ElementCount(known));
  if (open != wanted.size() && rest != 0 && have % rest == 0) wanted[open] = have / rest;
  QTX_ASSIGN_OR_RETURN(const std::int64_t count, [&wanted]() -> Result<std::int64_t> {
    for (const std::int64_t dim : wanted) {
      if (dim < 0) return std::int64_t{-1};
    }
    return format::ElementCount(wanted);
  }());
  if (count == have) return wanted;
  return Error{ErrorCode::kInvalid, "",
               "shape " + format::ToString(wanted) + " does not hold the " + std::to_string(have) +
                   " elements of data " + format::ToString(from)};
}

// Input 1, or before opset 5 the attribute.  Source: reshape.S4, reshape.C6.
Result<Dims> ShapeOf(const Call& call) {
  const format::Attribute* attribute = call.node.Find("shape");
  if (attribute == nullptr) return Int64sAt(call, 1);
  if (call.opset < 5 && call.Input(1) == nullptr) return attribute->ints;
  return Error{ErrorCode::kInvalid, "attribute 'shape'", "is an input from opset 5 on"};
}

// The same elements in another shape.  Source: reshape.S1 to reshape.S4.
Result<format::Tensor> Reshape(const Call& call) {
  QTX_ASSIGN_OR_RETURN(Dims wanted, ShapeOf(call));
  auto dims =
      Resolve(call.inputs[0]->dims, std::move(wanted), call.node.IntOr("allowzero", 0) != 0);
  if (!dims.has_value()) {
    return At(call.Input(1) != nullptr ? InputName(call, 1) : "attribute 'shape'",
              std::move(dims).error());
  }
  return Reshaped(call, *dims);
}

constexpr AttributeRule kReshapeAttributes[] = {{"allowzero", AttributeType::kInt},
                                                {"shape", AttributeType::kInts}};

}  // namespace

const Operator kReshape = {.op_type = "Reshape",
                           .min_inputs = 1,
                           .max_inputs = 2,
                           .attributes = kReshapeAttributes,
                           .run = Reshape};

}  // namespace qtx::reference::ops
