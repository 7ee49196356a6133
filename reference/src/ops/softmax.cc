#include "ops/registry.h"
#include "ops/softmax_rows.h"

namespace qtx::reference::ops {
namespace {

// Source: softmax.S1.
Result<format::Tensor> Softmax(const Call& call) { return RunSoftmax(call, RowFunction::kSoftmax); }

}  // namespace

const Operator kSoftmax = {.op_type = "Softmax", .run = Softmax};

}  // namespace qtx::reference::ops
