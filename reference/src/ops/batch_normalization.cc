#include "ops/normalization.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// One group a channel, with given statistics.
std::vector<Moments> GivenMoments(const Operand& mean, const Operand& variance, float epsilon) {
  const std::int64_t channels = format::ElementCount(mean.tensor());
  std::vector<Moments> all;
  for (std::int64_t c = 0; c < channels; ++c) {
    Moments moments;
    moments.mean = ToReal(mean.exact(c));
    moments.spread = ToReal(variance.exact(c));
    moments.spread.value += Rational(static_cast<double>(epsilon));
    moments.mean32 = mean.binary32(c);
    moments.spread32 = variance.binary32(c) + epsilon;
    all.push_back(std::move(moments));
  }
  return all;
}

// Source: batch_normalization.S1 to .S3.
Result<format::Tensor> BatchNormalization(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const Operand gain, OperandAt(call, 1));
  QTX_ASSIGN_OR_RETURN(const Operand bias, OperandAt(call, 2));
  QTX_ASSIGN_OR_RETURN(const Operand mean, OperandAt(call, 3));
  QTX_ASSIGN_OR_RETURN(const Operand variance, OperandAt(call, 4));
  const format::Dims& dims = x.tensor().dims;
  const std::int64_t channels = dims.size() > 1 ? dims[1] : 1;  // ONNX: of rank 1, C is 1
  QTX_ASSIGN_OR_RETURN(Output y, Output::Of(call));
  const std::vector<Moments> moments = GivenMoments(mean, variance, call.Float("epsilon"));
  const std::int64_t count = format::ElementCount(x.tensor());
  const std::int64_t size = dims.size() > 1 ? format::RowMajorStrides(dims)[1] : 1;
  Normalizer normalizer(call.arithmetic, &y);
  for (std::int64_t first = 0; first < count; first += size) {
    const std::int64_t channel = first / size % channels;
    normalizer.SetMoments(moments[static_cast<std::size_t>(channel)]);
    for (std::int64_t i = first; i < first + size; ++i) {
      normalizer.Put(i, {&x, i}, {&gain, channel}, {&bias, channel});
    }
  }
  return y.Take();
}

}  // namespace

const Operator kBatchNormalization = {.op_type = "BatchNormalization", .run = BatchNormalization};

}  // namespace qtx::reference::ops
