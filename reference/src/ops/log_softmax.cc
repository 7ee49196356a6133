#include "ops/registry.h"
#include "ops/softmax_rows.h"

namespace qtx::reference::ops {
namespace {

// Source: log_softmax.S1.
Result<format::Tensor> LogSoftmax(const Call& call) {
  return RunSoftmax(call, RowFunction::kLogSoftmax);
}

}  // namespace

const Operator kLogSoftmax = {.op_type = "LogSoftmax", .run = LogSoftmax};

}  // namespace qtx::reference::ops
