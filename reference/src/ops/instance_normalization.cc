#include "ops/normalization.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Each channel of each image is a group.  Source: instance_normalization.S1 to .S3.
Result<format::Tensor> InstanceNormalization(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const Operand gain, OperandAt(call, 1));
  QTX_ASSIGN_OR_RETURN(const Operand bias, OperandAt(call, 2));
  const format::Dims& dims = x.tensor().dims;
  QTX_ASSIGN_OR_RETURN(Output y, Output::Of(call));
  const float epsilon = call.Float("epsilon");
  Normalizer normalizer(call.arithmetic, &y);
  const std::int64_t count = format::ElementCount(x.tensor());
  const std::int64_t size = format::RowMajorStrides(dims)[1];
  for (std::int64_t first = 0; first < count; first += size) {
    normalizer.SetMoments(MomentsOf(x, first, size, Centre::kMean, epsilon));
    const std::int64_t channel = first / size % dims[1];
    for (std::int64_t i = first; i < first + size; ++i) {
      normalizer.Put(i, {&x, i}, {&gain, channel}, {&bias, channel});
    }
  }
  return y.Take();
}

}  // namespace

const Operator kInstanceNormalization = {.op_type = "InstanceNormalization",
                                         .run = InstanceNormalization};

}  // namespace qtx::reference::ops
