#include "ops/linear.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Three inputs for each tensor: itself, its scale, its zero point.  Source: q_linear_concat.S1.
Result<format::Tensor> QLinearConcat(const Call& call) {
  ExtendedCall concat(call);
  for (std::size_t i = 2; i < call.inputs.size(); i += 3) concat.Add(i, {i + 1, i + 2});
  concat.SetOutput({0, 1});
  return concat.Run(kConcat.run);
}

}  // namespace

const Operator kQLinearConcat = {
    .op_type = "QLinearConcat", .domain = kMicrosoft, .run = QLinearConcat};

}  // namespace qtx::reference::ops
