#include "ops/common.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::AttributeType;
using format::Dims;

Result<void> CheckAxis(const format::Node& node) {
  if (node.Find("axis") != nullptr) return {};
  return Error{ErrorCode::kInvalid, "attribute 'axis'", "is required"};
}

// The sum of the inputs' sizes along `axis`; everything else must be equal.
Result<Dims> ConcatDims(const Call& call, std::size_t axis) {
  Dims dims = call.inputs[0]->dims;
  for (std::size_t i = 1; i < call.inputs.size(); ++i) {
    Dims other = call.inputs[i] == nullptr ? Dims{} : call.inputs[i]->dims;
    const std::int64_t size = axis < other.size() ? other[axis] : 0;
    if (axis < other.size()) other[axis] = dims[axis];
    if (other != dims) {
      return Error{ErrorCode::kInvalid, InputName(call, i),
                   "does not match input 0 of shape " + format::ToString(call.inputs[0]->dims) +
                       " off axis " + std::to_string(axis)};
    }
    dims[axis] += size;
  }
  return dims;
}

// One input after the other along `axis`.  Source: concat.S1, concat.S2.
Result<format::Tensor> Concat(const Call& call) {
  const auto rank = static_cast<std::int64_t>(call.inputs[0]->dims.size());
  const auto axis_or_error = format::NormalizeAxis(call.node.IntOr("axis", 0), rank);
  if (!axis_or_error.has_value()) return At("attribute 'axis'", axis_or_error.error());
  const auto axis = static_cast<std::size_t>(*axis_or_error);
  QTX_ASSIGN_OR_RETURN(const Dims dims, ConcatDims(call, axis));
  QTX_ASSIGN_OR_RETURN(Mover mover, Mover::Make(call, *call.inputs[0], dims));
  const std::int64_t inner = format::RowMajorStrides(dims)[axis];
  std::int64_t start = 0;  // of the input, along the axis
  for (std::size_t n = 0; n < call.inputs.size(); ++n) {
    const format::Tensor& input = *call.inputs[n];
    const std::int64_t run = input.dims[axis] * inner;  // contiguous in input and output
    const std::int64_t count = format::ElementCount(input);
    std::vector<std::int64_t> elements;
    std::vector<std::int64_t> sources;
    for (std::int64_t i = 0; i < count; ++i) {
      sources.push_back(i);
      elements.push_back(i / run * dims[axis] * inner + start * inner + i % run);
    }
    if (count > 0) {
      auto copied = mover.Copy(input, elements, sources);
      if (!copied.has_value()) return At(InputName(call, n), std::move(copied).error());
    }
    start += input.dims[axis];
  }
  return mover.Take();
}

constexpr AttributeRule kConcatAttributes[] = {{"axis", AttributeType::kInt}};

}  // namespace

const Operator kConcat = {.op_type = "Concat",
                          .min_inputs = 1,
                          .max_inputs = kVariadic,
                          .attributes = kConcatAttributes,
                          .check = CheckAxis,
                          .run = Concat};

}  // namespace qtx::reference::ops
