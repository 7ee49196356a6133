#include "ops/move.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::AttributeType;
using format::Dims;

constexpr std::int64_t kNumOutputsSince = 18;

Error BadSizes(const Call& call, const std::string& found, std::int64_t size) {
  return Error{ErrorCode::kInvalid, InputName(call, 1),
               "found " + found + ", expected " + std::to_string(call.outputs.size()) +
                   " sizes of at least 0 whose sum is " + std::to_string(size)};
}

// Sizes as input `split` gives them.  Source: split.S2, split.C3.
Result<Dims> GivenSizes(const Call& call, std::int64_t size) {
  if (call.node.Find("num_outputs") != nullptr) {
    return Error{ErrorCode::kInvalid, "attribute 'num_outputs'", "is given, and input split too"};
  }
  QTX_ASSIGN_OR_RETURN(const Dims sizes, Int64sAt(call, 1));
  std::int64_t rest = size;
  for (const std::int64_t part : sizes) {
    if (part < 0 || part > rest) return BadSizes(call, format::ToString(sizes), size);
    rest -= part;
  }
  if (rest != 0 || sizes.size() != call.outputs.size()) {
    return BadSizes(call, format::ToString(sizes), size);
  }
  return sizes;
}

// Equal sizes, the last one what is left.  Source: split.S3, split.C4.
Result<Dims> EqualSizes(const Call& call, std::int64_t size) {
  const auto parts = static_cast<std::int64_t>(call.outputs.size());
  const bool counted = call.node.Find("num_outputs") != nullptr;
  if (!counted && call.opset >= kNumOutputsSince) {
    return Error{ErrorCode::kInvalid, "attribute 'num_outputs'",
                 "is required where input split is absent"};
  }
  if (call.node.IntOr("num_outputs", parts) != parts) {
    return Error{ErrorCode::kInvalid, "attribute 'num_outputs'",
                 "found " + std::to_string(call.node.IntOr("num_outputs", parts)) + ", expected " +
                     std::to_string(parts) + ", the number of outputs"};
  }
  const std::int64_t part = size / parts + (size % parts == 0 ? 0 : 1);
  const std::int64_t last = size - part * (parts - 1);
  if (last < 0 || (!counted && last != part)) {
    return Error{ErrorCode::kInvalid, InputName(call, 0),
                 "an axis of size " + std::to_string(size) + " does not split into " +
                     std::to_string(parts) + " parts"};
  }
  Dims sizes(static_cast<std::size_t>(parts), part);
  sizes.back() = last;
  return sizes;
}

// Output `i`: `size` positions of the axis, from `start`.
Result<format::Tensor> Part(const Call& call, std::size_t i, std::size_t axis, std::int64_t start,
                            std::int64_t size) {
  const Dims& from = call.inputs[0]->dims;
  Dims dims = from;
  dims[axis] = size;
  const Dims strides = format::RowMajorStrides(from);
  QTX_ASSIGN_OR_RETURN(Mover mover, Mover::Make(call, *call.inputs[0], dims, i));
  const std::vector<std::int64_t> sources = StridedSources(dims, strides, start * strides[axis]);
  if (!sources.empty()) QTX_RETURN_IF_ERROR(mover.Copy(*call.inputs[0], {}, sources));
  return mover.Take();
}

// Source: split.S1 to split.S4.
Result<std::vector<format::Tensor>> Split(const Call& call) {
  const Dims& from = call.inputs[0]->dims;
  QTX_ASSIGN_OR_RETURN(const std::size_t axis, AxisOf(call, 0, from.size()));
  QTX_ASSIGN_OR_RETURN(const Dims sizes, call.Input(1) != nullptr ? GivenSizes(call, from[axis])
                                                                  : EqualSizes(call, from[axis]));
  std::vector<format::Tensor> outputs(sizes.size());
  std::int64_t start = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (call.Wants(i)) {
      QTX_ASSIGN_OR_RETURN(outputs[i], Part(call, i, axis, start, sizes[i]));
    }
    start += sizes[i];
  }
  return outputs;
}

constexpr AttributeRule kSplitAttributes[] = {{"axis", AttributeType::kInt},
                                              {"num_outputs", AttributeType::kInt}};

}  // namespace

const Operator kSplit = {.op_type = "Split",
                         .min_inputs = 1,
                         .max_inputs = 2,
                         .max_outputs = kVariadic,
                         .attributes = kSplitAttributes,
                         .run_all = Split};

}  // namespace qtx::reference::ops
