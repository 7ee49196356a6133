#include "ops/unary.h"

#include <limits>

#include "ops/common.h"

namespace qtx::reference {

Result<format::Tensor> RunUnary(const Call& call, const RealFunction& f) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Of(call));
  FunctionPutter putter(call.arithmetic, f, x, &output);
  const std::int64_t count = format::ElementCount(x.tensor());
  for (std::int64_t i = 0; i < count; ++i) putter.Put(i, i);
  return output.Take();
}

std::optional<double> NanBeyondOne(const Rational& x) {
  if (::abs(x) <= 1) return std::nullopt;
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace qtx::reference
