#include "arithmetic/fixed_quotient.h"
#include "arithmetic/quotient.h"
#include "ops/common.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// y = a / b over the reals.  Source: div.S1 to div.S4, tflite_float64.S14.
Result<format::Tensor> Div(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand a, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const Operand b, OperandAt(call, 1));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Of(call));
  const format::Dims& dims = output.tensor().dims;
  Divider divider(call.arithmetic, a, b, &output);
  const auto kernel = FixedQuotient::Make(call, a, b, output);
  const std::vector<std::int64_t> ia = BroadcastIndices(a.tensor().dims, dims);
  const std::vector<std::int64_t> ib = BroadcastIndices(b.tensor().dims, dims);
  for (std::size_t i = 0; i < ia.size(); ++i) {
    const auto element = static_cast<std::int64_t>(i);
    if (kernel) {
      const std::int64_t steps = (*kernel)(a.integer(ia[i]), b.integer(ib[i]));
      output.PutStored(element, steps + output.offset(element));
    } else {
      divider.Put(element, ia[i], ib[i]);
    }
  }
  return output.Take();
}

}  // namespace

const Operator kDiv = {.op_type = "Div", .run = Div};

}  // namespace qtx::reference::ops
