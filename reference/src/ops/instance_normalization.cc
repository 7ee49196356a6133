#include "ops/normalization.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::AttributeType;

Result<void> CheckShapes(const Call& call, const format::Dims& dims) {
  if (dims.size() < 3) {
    return Error{ErrorCode::kInvalid, InputName(call, 0),
                 "found shape " + format::ToString(dims) + ", expected [N, C, spatial...]"};
  }
  for (std::size_t i : {1U, 2U}) QTX_RETURN_IF_ERROR(CheckPerChannel(call, i, dims[1]));
  return {};
}

// Each channel of each image is a group.  Source: instance_normalization.S1 to .S3.
Result<format::Tensor> InstanceNormalization(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, RealAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const Operand gain, RealAt(call, 1));
  QTX_ASSIGN_OR_RETURN(const Operand bias, RealAt(call, 2));
  const format::Dims& dims = x.tensor().dims;
  QTX_RETURN_IF_ERROR(CheckShapes(call, dims));
  QTX_ASSIGN_OR_RETURN(Output y, Output::Make(call, dims));
  Normalizer normalizer(call.arithmetic, &y);
  const std::int64_t count = format::ElementCount(x.tensor());
  const std::int64_t size = format::RowMajorStrides(dims)[1];
  for (std::int64_t first = 0; first < count; first += size) {
    normalizer.SetMoments(MomentsOf(x, first, size, Centre::kMean, EpsilonOf(call)));
    const std::int64_t channel = first / size % dims[1];
    for (std::int64_t i = first; i < first + size; ++i) {
      normalizer.Put(i, {&x, i}, {&gain, channel}, {&bias, channel});
    }
  }
  return y.Take();
}

constexpr AttributeRule kInstanceNormalizationAttributes[] = {{"epsilon", AttributeType::kFloat}};

}  // namespace

const Operator kInstanceNormalization = {.op_type = "InstanceNormalization",
                                         .min_inputs = 3,
                                         .max_inputs = 3,
                                         .attributes = kInstanceNormalizationAttributes,
                                         .check = CheckNormalization,
                                         .run = InstanceNormalization};

}  // namespace qtx::reference::ops
