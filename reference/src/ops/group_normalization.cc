#include "ops/normalization.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Neighbouring channels of an image are a group.
// Source: group_normalization.S1 to group_normalization.S3.
Result<format::Tensor> GroupNormalization(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const Operand gain, OperandAt(call, 1));
  QTX_ASSIGN_OR_RETURN(const Operand bias, OperandAt(call, 2));
  const format::Dims& dims = x.tensor().dims;
  QTX_ASSIGN_OR_RETURN(Output y, Output::Of(call));
  const float epsilon = call.Float("epsilon");
  Normalizer normalizer(call.arithmetic, &y);
  const std::int64_t count = format::ElementCount(x.tensor());
  const std::int64_t plane = format::RowMajorStrides(dims)[1];
  const std::int64_t size = dims[1] / call.Int("num_groups") * plane;
  for (std::int64_t first = 0; first < count; first += size) {
    normalizer.SetMoments(MomentsOf(x, first, size, Centre::kMean, epsilon));
    for (std::int64_t i = first; i < first + size; ++i) {
      const std::int64_t channel = i / plane % dims[1];
      normalizer.Put(i, {&x, i}, {&gain, channel}, {&bias, channel});
    }
  }
  return y.Take();
}

}  // namespace

const Operator kGroupNormalization = {
    .op_type = "GroupNormalization", .run = GroupNormalization, .supports = SupportsStash};

}  // namespace qtx::reference::ops
