#include "ops/common.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// max(x, 0) over the reals: the bound is the offset in stored units.  Source: relu.S1, relu.S2.
Result<format::Tensor> Relu(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Of(call));
  Converter converter(call.arithmetic, x, &output, Purpose::kActivate);
  const std::int64_t count = format::ElementCount(x.tensor());
  for (std::int64_t i = 0; i < count; ++i) {
    const Dyadic value = x.exact(i);
    const bool negative = value.kind != Dyadic::Kind::kNan && value.mantissa < 0;
    if (negative) {
      converter.PutZero(i);
    } else {
      converter.Put(i, i);
    }
  }
  return output.Take();
}

}  // namespace

const Operator kRelu = {.op_type = "Relu", .run = Relu};

}  // namespace qtx::reference::ops
