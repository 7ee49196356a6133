#include "ops/blocks.h"

#include "parameters.h"

namespace qtx::reference {

Result<void> CheckBlockSize(const format::Node& node) {
  const std::int64_t size = node.IntOr("blocksize", 0);
  if (size >= 1 && size <= kMaxComputedElements) return {};
  return Error{ErrorCode::kInvalid, "attribute 'blocksize'",
               node.Find("blocksize") == nullptr
                   ? "is required"
                   : "found " + std::to_string(size) + ", expected 1 to " +
                         std::to_string(kMaxComputedElements)};
}

Result<format::Dims> ImageDims(const Call& call) {
  const format::Dims& dims = call.inputs[0]->dims;
  if (dims.size() == 4) return dims;
  return Error{ErrorCode::kInvalid, InputName(call, 0),
               "found shape " + format::ToString(dims) + ", expected rank 4"};
}

Result<std::int64_t> Divided(const Call& call, std::size_t axis, std::int64_t divisor) {
  const std::int64_t size = call.inputs[0]->dims[axis];
  if (size % divisor == 0) return size / divisor;
  return Error{ErrorCode::kInvalid, InputName(call, 0),
               "size " + std::to_string(size) + " of axis " + std::to_string(axis) +
                   " is no multiple of " + std::to_string(divisor)};
}

}  // namespace qtx::reference
