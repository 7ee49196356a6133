#include "ops/blocks.h"
#include "ops/move.h"
#include "ops/registry.h"
#include "parameters.h"

namespace qtx::reference::ops {
namespace {

using format::AttributeType;
using format::Dims;

Result<void> CheckDepthToSpaceAttributes(const format::Node& node) {
  const std::string mode = node.StringOr("mode", "DCR");
  if (mode == "DCR" || mode == "CRD") return CheckBlockSize(node);
  return Error{ErrorCode::kInvalid, "attribute 'mode'",
               "found '" + mode + "', expected DCR or CRD"};
}

// Channels as (row, column, depth) or (depth, row, column); row and column of the block become part
// of y's.  Source: depth_to_space.S1 to depth_to_space.S3.
Result<format::Tensor> DepthToSpace(const Call& call) {
  QTX_RETURN_IF_ERROR(CheckDepthToSpaceAttributes(call.node));
  QTX_ASSIGN_OR_RETURN(const Dims from, ImageDims(call));
  const std::int64_t block = call.node.IntOr("blocksize", 0);
  QTX_ASSIGN_OR_RETURN(const std::int64_t depth, Divided(call, 1, block * block));
  if (from[2] > kMaxComputedElements || from[3] > kMaxComputedElements) {
    return Error{ErrorCode::kTooLarge, InputName(call, 0), format::ToString(from)};
  }
  Dims dims = {from[0], depth, from[2] * block, from[3] * block};
  QTX_RETURN_IF_ERROR(CheckComputable(dims));
  if (call.node.StringOr("mode", "DCR") == "CRD") {
    return Permuted(call, {from[0], depth, block, block, from[2], from[3]}, {0, 1, 4, 2, 5, 3},
                    std::move(dims));
  }
  return Permuted(call, {from[0], block, block, depth, from[2], from[3]}, {0, 3, 4, 1, 5, 2},
                  std::move(dims));
}

constexpr AttributeRule kDepthToSpaceAttributes[] = {{"blocksize", AttributeType::kInt},
                                                     {"mode", AttributeType::kString}};

}  // namespace

const Operator kDepthToSpace = {.op_type = "DepthToSpace",
                                .min_inputs = 1,
                                .max_inputs = 1,
                                .attributes = kDepthToSpaceAttributes,
                                .check = CheckDepthToSpaceAttributes,
                                .run = DepthToSpace};

}  // namespace qtx::reference::ops
