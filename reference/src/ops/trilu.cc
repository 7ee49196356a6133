#include "ops/move.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Elements on one side of a diagonal, and zeros.  Source: trilu.S1 to trilu.S3.
Result<format::Tensor> Trilu(const Call& call) {
  const format::Tensor& x = *call.inputs[0];
  QTX_ASSIGN_OR_RETURN(Mover mover, Mover::Of(call, x));
  const std::int64_t columns = x.dims.back();
  const std::int64_t rows = x.dims[x.dims.size() - 2];
  const __int128 k = call.Input(1) == nullptr ? 0 : IntegersAt(call, 1)[0];
  const bool upper = call.Int("upper") != 0;
  std::vector<std::int64_t> kept, others;
  for (std::int64_t i = 0; i < format::ElementCount(x); ++i) {
    const __int128 above = i % columns - i / columns % rows - k;  // the diagonal
    (upper ? above >= 0 : above <= 0) ? kept.push_back(i) : others.push_back(i);
  }
  QTX_RETURN_IF_ERROR(mover.Copy(x, kept, kept));
  QTX_RETURN_IF_ERROR(mover.Fill(nullptr, others));
  return mover.Take();
}

}  // namespace

const Operator kTrilu = {.op_type = "Trilu", .run = Trilu};

}  // namespace qtx::reference::ops
