#include "ops/binary.h"

#include "ops/common.h"

namespace qtx::reference {

Result<format::Tensor> RunBinary(const Call& call, Binary kind) {
  QTX_ASSIGN_OR_RETURN(const Operand a, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const Operand b, OperandAt(call, 1));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Of(call));
  const format::Dims& dims = output.tensor().dims;
  Combiner combiner(kind, call.node, call.arithmetic, a, b, &output);
  const std::vector<std::int64_t> ia = BroadcastIndices(a.tensor().dims, dims);
  const std::vector<std::int64_t> ib = BroadcastIndices(b.tensor().dims, dims);
  for (std::size_t i = 0; i < ia.size(); ++i) {
    combiner.Put(static_cast<std::int64_t>(i), ia[i], ib[i]);
  }
  return output.Take();
}

}  // namespace qtx::reference
