#include "ops/registry.h"
#include "ops/softmax_rows.h"

namespace qtx::reference::ops {
namespace {

// Source: log_softmax.S1.
Result<format::Tensor> LogSoftmax(const Call& call) {
  return RunSoftmax(call, RowFunction::kLogSoftmax);
}

constexpr AttributeRule kLogSoftmaxAttributes[] = {{"axis", format::AttributeType::kInt}};

}  // namespace

const Operator kLogSoftmax = {.op_type = "LogSoftmax",
                              .min_inputs = 1,
                              .max_inputs = 1,
                              .attributes = kLogSoftmaxAttributes,
                              .run = LogSoftmax};

}  // namespace qtx::reference::ops
