#include "ops/blocks.h"
#include "ops/move.h"
#include "ops/registry.h"
#include "parameters.h"

namespace qtx::reference::ops {
namespace {

using format::AttributeType;
using format::Dims;

// Row and column within the block come before the channel.  Source: space_to_depth.S1.
Result<format::Tensor> SpaceToDepth(const Call& call) {
  QTX_RETURN_IF_ERROR(CheckBlockSize(call.node));
  QTX_ASSIGN_OR_RETURN(const Dims from, ImageDims(call));
  const std::int64_t block = call.node.IntOr("blocksize", 0);
  QTX_ASSIGN_OR_RETURN(const std::int64_t rows, Divided(call, 2, block));
  QTX_ASSIGN_OR_RETURN(const std::int64_t columns, Divided(call, 3, block));
  if (from[1] > 0 && block * block > kMaxComputedElements / from[1]) {
    return Error{ErrorCode::kTooLarge, "attribute 'blocksize'", "found " + std::to_string(block)};
  }
  Dims dims = {from[0], from[1] * block * block, rows, columns};
  QTX_RETURN_IF_ERROR(CheckComputable(dims));
  return Permuted(call, {from[0], from[1], rows, block, columns, block}, {0, 3, 5, 1, 2, 4},
                  std::move(dims));
}

constexpr AttributeRule kSpaceToDepthAttributes[] = {{"blocksize", AttributeType::kInt}};

}  // namespace

const Operator kSpaceToDepth = {.op_type = "SpaceToDepth",
                                .min_inputs = 1,
                                .max_inputs = 1,
                                .attributes = kSpaceToDepthAttributes,
                                .check = CheckBlockSize,
                                .run = SpaceToDepth};

}  // namespace qtx::reference::ops
