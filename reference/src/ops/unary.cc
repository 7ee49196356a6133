#include "ops/unary.h"

#include <cmath>

#include "ops/common.h"

namespace qtx::reference {

Result<format::Tensor> RunUnary(const Call& call, const RealFunction& f, Integers integers) {
  QTX_ASSIGN_OR_RETURN(const Operand x,
                       integers == Integers::kAccepted ? NumberAt(call, 0) : RealAt(call, 0));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Make(call, x.tensor().dims));
  FunctionPutter putter(call.arithmetic, f, x, &output);
  const std::int64_t count = format::ElementCount(x.tensor());
  for (std::int64_t i = 0; i < count; ++i) putter.Put(i, i);
  return output.Take();
}

Result<void> CheckFinite(const format::Node& node) {
  for (const format::Attribute& attribute : node.attributes) {
    if (std::isfinite(attribute.f)) continue;
    return Error{ErrorCode::kInvalid, "attribute '" + attribute.name + "'",
                 "found " + std::to_string(attribute.f) + ", expected a finite number"};
  }
  return {};
}

}  // namespace qtx::reference
