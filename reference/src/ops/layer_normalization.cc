#include "ops/normalization.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::Dims;

// Output `i`, of statistics: one element a group.
Result<std::optional<Output>> StatisticsOutput(const Call& call, const Groups& groups,
                                               std::size_t i) {
  if (!call.Wants(i)) return std::optional<Output>();
  if (groups.size == 0) {
    return Error{ErrorCode::kInvalid, InputName(call, 0), "has groups without elements"};
  }
  QTX_ASSIGN_OR_RETURN(Output output, Output::Of(call, i));
  return std::optional<Output>(std::move(output));
}

// Source: layer_normalization.S1 to .S5.
Result<std::vector<format::Tensor>> LayerNormalization(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  const Dims& dims = x.tensor().dims;
  const Groups groups = GroupsOf(call, dims);
  QTX_ASSIGN_OR_RETURN(const Affine affine, AffineOf(call, dims, /*has_bias=*/true));
  QTX_ASSIGN_OR_RETURN(Output y, Output::Of(call));
  QTX_ASSIGN_OR_RETURN(std::optional<Output> means, StatisticsOutput(call, groups, 1));
  QTX_ASSIGN_OR_RETURN(std::optional<Output> inverses, StatisticsOutput(call, groups, 2));
  const float epsilon = call.Float("epsilon");
  Normalizer normalizer(call.arithmetic, &y);
  for (std::int64_t g = 0; g < groups.count && groups.size > 0; ++g) {
    const std::int64_t first = g * groups.size;
    const Moments moments = MomentsOf(x, first, groups.size, Centre::kMean, epsilon);
    normalizer.SetMoments(moments);
    for (std::int64_t i = first; i < first + groups.size; ++i) {
      normalizer.Put(i, {&x, i}, affine.Gain(i), affine.Bias(i));
    }
    if (means) PutMean(call.arithmetic, moments, g, &*means);
    if (inverses) PutInverse(call.arithmetic, moments, g, &*inverses);
  }
  std::vector<format::Tensor> results(call.outputs.size());
  results[0] = y.Take();
  if (means) results[1] = means->Take();
  if (inverses) results[2] = inverses->Take();
  return results;
}

}  // namespace

const Operator kLayerNormalization = {
    .op_type = "LayerNormalization", .run_all = LayerNormalization, .supports = SupportsStash};

}  // namespace qtx::reference::ops
