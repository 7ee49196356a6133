#include "ops/common.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// x, or slope * x below zero. No kernel of Mul applies: a negative x is multiplied by a row that
// has none.  Source: p_relu.S1 to p_relu.S4, tflite.S11.
Result<format::Tensor> PRelu(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const Operand slope, OperandAt(call, 1));
  const auto slopes = BroadcastIndices(slope.tensor().dims, x.tensor().dims);
  const bool binary32 = call.arithmetic.domain == Domain::kFloat32;
  QTX_ASSIGN_OR_RETURN(const Arithmetic* reals, FindArithmetic(binary32 ? "float32" : "exact"));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Of(call));
  Converter positive(*reals, x, &output, Purpose::kActivate);
  Combiner negative(Binary::kMul, call.node, *reals, x, slope, &output);
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

const Operator kPRelu = {.op_type = "PRelu", .run = PRelu};

}  // namespace qtx::reference::ops
