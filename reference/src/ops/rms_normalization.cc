#include "ops/normalization.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Source: rms_normalization.S1 to .S3.
Result<format::Tensor> RMSNormalization(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  const format::Dims& dims = x.tensor().dims;
  const Groups groups = GroupsOf(call, dims);
  QTX_ASSIGN_OR_RETURN(const Affine affine, AffineOf(call, dims, /*has_bias=*/false));
  QTX_ASSIGN_OR_RETURN(Output y, Output::Of(call));
  const float epsilon = call.Float("epsilon");
  Normalizer normalizer(call.arithmetic, &y);
  for (std::int64_t g = 0; g < groups.count && groups.size > 0; ++g) {
    const std::int64_t first = g * groups.size;
    normalizer.SetMoments(MomentsOf(x, first, groups.size, Centre::kZero, epsilon));
    for (std::int64_t i = first; i < first + groups.size; ++i) {
      normalizer.Put(i, {&x, i}, affine.Gain(i), {});
    }
  }
  return y.Take();
}

}  // namespace

const Operator kRMSNormalization = {
    .op_type = "RMSNormalization", .run = RMSNormalization, .supports = SupportsStash};

}  // namespace qtx::reference::ops
