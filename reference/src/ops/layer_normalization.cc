#include "ops/normalization.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::AttributeType;
using format::Dims;
using format::ElementType;

// Output `i` of the statistics: x's shape with the normalised axes of size 1.
Result<std::optional<Output>> StatisticsOutput(const Call& call, const Groups& groups,
                                               std::size_t i) {
  if (!call.Wants(i)) return std::optional<Output>();
  if (groups.size == 0) {
    return Error{ErrorCode::kInvalid, InputName(call, 0), "has groups without elements"};
  }
  Dims dims = call.inputs[0]->dims;
  std::fill(dims.begin() + groups.axis, dims.end(), 1);
  QTX_ASSIGN_OR_RETURN(Output output, Output::Make(call, dims, i));
  return std::optional<Output>(std::move(output));
}

// Source: layer_normalization.S1 to .S5.
Result<std::vector<format::Tensor>> LayerNormalization(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, RealAt(call, 0));
  const Dims& dims = x.tensor().dims;
  QTX_ASSIGN_OR_RETURN(const Groups groups, GroupsOf(call, dims));
  QTX_ASSIGN_OR_RETURN(const Affine affine, AffineOf(call, dims, /*has_bias=*/true));
  QTX_ASSIGN_OR_RETURN(Output y, Output::Make(call, dims));
  QTX_ASSIGN_OR_RETURN(std::optional<Output> means, StatisticsOutput(call, groups, 1));
  QTX_ASSIGN_OR_RETURN(std::optional<Output> inverses, StatisticsOutput(call, groups, 2));
  Normalizer normalizer(call.arithmetic, &y);
  for (std::int64_t g = 0; g < groups.count && groups.size > 0; ++g) {
    const std::int64_t first = g * groups.size;
    const Moments moments = MomentsOf(x, first, groups.size, Centre::kMean, EpsilonOf(call));
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

// The statistics are FLOAT whatever x is.
ElementType InferLayerNormalizationType(const format::Node&, std::span<const ElementType> inputs,
                                        std::size_t i) {
  return i == 0 ? inputs[0] : ElementType::kFloat;
}

constexpr AttributeRule kLayerNormalizationAttributes[] = {{"axis", AttributeType::kInt},
                                                           {"epsilon", AttributeType::kFloat},
                                                           {"stash_type", AttributeType::kInt}};

}  // namespace

const Operator kLayerNormalization = {.op_type = "LayerNormalization",
                                      .min_inputs = 2,
                                      .max_inputs = 3,
                                      .max_outputs = 3,
                                      .attributes = kLayerNormalizationAttributes,
                                      .check = CheckNormalization,
                                      .infer = InferLayerNormalizationType,
                                      .run_all = LayerNormalization};

}  // namespace qtx::reference::ops
