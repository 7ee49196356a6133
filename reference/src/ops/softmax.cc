#include "ops/registry.h"
#include "ops/softmax_rows.h"

namespace qtx::reference::ops {
namespace {

// Source: softmax.S1.
Result<format::Tensor> Softmax(const Call& call) { return RunSoftmax(call, RowFunction::kSoftmax); }

constexpr AttributeRule kSoftmaxAttributes[] = {{"axis", format::AttributeType::kInt}};

}  // namespace

const Operator kSoftmax = {.op_type = "Softmax",
                           .min_inputs = 1,
                           .max_inputs = 1,
                           .attributes = kSoftmaxAttributes,
                           .run = Softmax};

}  // namespace qtx::reference::ops
