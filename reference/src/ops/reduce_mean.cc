#include "arithmetic/average.h"
#include "ops/reduce.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// The mean over axes.  Source: reduce_mean.S1 to reduce_mean.S4.
Result<format::Tensor> ReduceMean(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, NumberAt(call, 0));
  QTX_ASSIGN_OR_RETURN(Reduction reduction, Reduction::Make(call, 18));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Make(call, reduction.dims()));
  Averager mean(call.arithmetic, x, &output, Averager::Kernel::kNone);
  while (reduction.Next()) {
    if (reduction.count() == 0) {  // reduce_mean.C5
      return Error{ErrorCode::kInvalid, InputName(call, 0), "a mean of no elements"};
    }
    mean.Put(reduction.element(), reduction.sources(), reduction.count());
  }
  return output.Take();
}

}  // namespace

const Operator kReduceMean = {.op_type = "ReduceMean",
                              .min_inputs = 1,
                              .max_inputs = 2,
                              .attributes = ReductionAttributes(),
                              .run = ReduceMean};

}  // namespace qtx::reference::ops
