#include "ops/common.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Ones on a diagonal.  Source: eye_like.S1, eye_like.S2.
Result<format::Tensor> EyeLike(const Call& call) {
  QTX_ASSIGN_OR_RETURN(Output output, Output::Of(call));
  const std::int64_t columns = output.tensor().dims[1];
  const __int128 k = call.Int("k");
  const std::int64_t count = format::ElementCount(output.tensor());
  for (std::int64_t i = 0; i < count; ++i) {
    const bool is_one = i % columns == i / columns + k;
    if (DomainFor(call.arithmetic, output) == Domain::kFloat32) {
      output.PutFloat(i, is_one ? 1 : 0);
    } else {
      output.PutReal(i, {true, 0, Rational(is_one ? 1 : 0)});
    }
  }
  return output.Take();
}

}  // namespace

const Operator kEyeLike = {.op_type = "EyeLike", .run = EyeLike};

}  // namespace qtx::reference::ops
