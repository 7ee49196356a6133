#include "ops/linear.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Three inputs for each tensor: itself, its scale, its zero point.  Source: q_linear_concat.S1.
Result<format::Tensor> QLinearConcat(const Call& call) {
  const std::size_t count = call.inputs.size();
  if (count % 3 != 2) {
    return Error{ErrorCode::kInvalid, "inputs",
                 "found " + std::to_string(count) + ", expected 2 and 3 for each tensor"};
  }
  ExtendedCall concat(call);
  for (std::size_t i = 2; i < count; i += 3) QTX_RETURN_IF_ERROR(concat.Add(i, {i + 1, i + 2}));
  QTX_RETURN_IF_ERROR(concat.SetOutput({0, 1}));
  return concat.Run(kConcat.run);
}

}  // namespace

const Operator kQLinearConcat = {.op_type = "QLinearConcat",
                                 .domain = kMicrosoft,
                                 .min_inputs = 5,
                                 .max_inputs = kVariadic,
                                 .attributes = kConcat.attributes,
                                 .check = kConcat.check,
                                 .infer = TypeOfInput<1>,
                                 .run = QLinearConcat};

}  // namespace qtx::reference::ops
