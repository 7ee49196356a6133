#include "arithmetic/quotient.h"
#include "ops/common.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Errors: kInvalid for a zero among plain integers (div.C4).
Result<void> CheckDivisor(const Call& call, const Operand& b) {
  if (b.tensor().quantization || !format::IsIntegerStorage(b.tensor().elem_type)) return {};
  const std::int64_t count = format::ElementCount(b.tensor());
  for (std::int64_t i = 0; i < count; ++i) {
    if (b.integer(i) != 0) continue;
    return Error{ErrorCode::kInvalid, InputName(call, 1),
                 "element " + std::to_string(i) + " is 0, expected integers other than 0"};
  }
  return {};
}

// y = a / b over the reals.  Source: div.S1 to div.S4.
Result<format::Tensor> Div(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand a, NumberAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const Operand b, NumberAt(call, 1));
  QTX_ASSIGN_OR_RETURN(const format::Dims dims, Broadcast(a.tensor().dims, b.tensor().dims));
  QTX_RETURN_IF_ERROR(CheckDivisor(call, b));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Make(call, dims));
  Divider divider(call.arithmetic, a, b, &output);
  const std::vector<std::int64_t> ia = BroadcastIndices(a.tensor().dims, dims);
  const std::vector<std::int64_t> ib = BroadcastIndices(b.tensor().dims, dims);
  for (std::size_t i = 0; i < ia.size(); ++i) {
    divider.Put(static_cast<std::int64_t>(i), ia[i], ib[i]);
  }
  return output.Take();
}

}  // namespace

const Operator kDiv = {
    .op_type = "Div", .min_inputs = 2, .max_inputs = 2, .attributes = {}, .run = Div};

}  // namespace qtx::reference::ops
