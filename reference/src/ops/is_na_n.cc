#include <cmath>

#include "ops/condition.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Source: is_na_n.S1.
Result<format::Tensor> IsNaN(const Call& call) {
  return RunQuestion(call, [](double x) { return std::isnan(x); });
}

}  // namespace

const Operator kIsNaN = {.op_type = "IsNaN", .run = IsNaN};

}  // namespace qtx::reference::ops
