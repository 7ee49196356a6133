#include "ops/common.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// The number of elements of x, as INT64.  Source: size.S1.
Result<format::Tensor> Size(const Call& call) {
  QTX_ASSIGN_OR_RETURN(format::Tensor y, format::MakeTensor(format::ElementType::kInt64, {}));
  y.As<std::int64_t>()[0] = format::ElementCount(*call.inputs[0]);
  return y;
}

}  // namespace

const Operator kSize = {.op_type = "Size", .run = Size};

}  // namespace qtx::reference::ops
