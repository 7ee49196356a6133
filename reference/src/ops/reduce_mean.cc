#include "arithmetic/average.h"
#include "ops/reduce.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// The mean over axes.  Source: reduce_mean.S1 to reduce_mean.S4.
Result<format::Tensor> ReduceMean(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(Reduction reduction, Reduction::Make(call));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Of(call));
  const bool image =
      x.tensor().dims.size() == 4 && reduction.Reduces({1, 2}) && call.Int("keepdims") == 1;
  Averager mean(call, x, &output, Averager::Kernel::kNone,
                image ? StoredSum::Kind::kImageMean : StoredSum::Kind::kMean, reduction.count());
  while (reduction.Next()) {
    mean.Put(reduction.element(), reduction.sources(), reduction.count());
  }
  return output.Take();
}

}  // namespace

const Operator kReduceMean = {.op_type = "ReduceMean", .run = ReduceMean};

}  // namespace qtx::reference::ops
