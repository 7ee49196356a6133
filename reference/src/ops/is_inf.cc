#include <cmath>

#include "ops/condition.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Source: is_inf.S1.
Result<format::Tensor> IsInf(const Call& call) {
  const bool positive = call.Int("detect_positive") == 1;
  const bool negative = call.Int("detect_negative") == 1;
  return RunQuestion(call,
                     [=](double x) { return std::isinf(x) && (x > 0 ? positive : negative); });
}

}  // namespace

const Operator kIsInf = {.op_type = "IsInf", .run = IsInf};

}  // namespace qtx::reference::ops
