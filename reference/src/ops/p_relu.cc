#include "ops/common.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Source: p_relu.S3, p_relu.C2.
Result<std::vector<std::int64_t>> SlopeIndices(const Call& call, const Operand& slope,
                                               const format::Dims& dims) {
  const auto joint = Broadcast(slope.tensor().dims, dims);
  if (joint.has_value() && *joint == dims) return BroadcastIndices(slope.tensor().dims, dims);
  return Error{ErrorCode::kInvalid, InputName(call, 1),
               "found shape " + format::ToString(slope.tensor().dims) +
                   ", expected one that is broadcast to " + format::ToString(dims)};
}

// x, or slope * x below zero. No kernel of Mul applies: a negative x is multiplied by a row that
// has none.  Source: p_relu.S1 to p_relu.S4, tflite.S11.
Result<format::Tensor> PRelu(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, NumberAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const Operand slope, NumberAt(call, 1));
  QTX_ASSIGN_OR_RETURN(const auto slopes, SlopeIndices(call, slope, x.tensor().dims));
  const bool binary32 = call.arithmetic.domain == Domain::kFloat32;
  QTX_ASSIGN_OR_RETURN(const Arithmetic* reals, FindArithmetic(binary32 ? "float32" : "exact"));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Make(call, x.tensor().dims));
  Converter positive(*reals, x, &output, Purpose::kActivate);
  Combiner negative(Binary::kMul, *reals, x, slope, &output);
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    const auto element = static_cast<std::int64_t>(i);
    const Dyadic value = x.exact(element);
    if (value.kind != Dyadic::Kind::kNan && value.mantissa < 0) {
      negative.Put(element, element, slopes[i]);
    } else {
      positive.Put(element, element);
    }
  }
  return output.Take();
}

}  // namespace

const Operator kPRelu = {
    .op_type = "PRelu", .min_inputs = 2, .max_inputs = 2, .attributes = {}, .run = PRelu};

}  // namespace qtx::reference::ops
