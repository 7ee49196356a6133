#include <algorithm>

#include "ops/common.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// All elements of x, as where nothing is trained.  Source: dropout.S1, dropout.S2.
Result<std::vector<format::Tensor>> Dropout(const Call& call) {
  QTX_ASSIGN_OR_RETURN(format::Tensor y, Reshaped(call));
  std::vector<format::Tensor> outputs;
  outputs.push_back(std::move(y));
  if (call.outputs.size() < 2) return outputs;
  format::Tensor mask;
  if (call.Wants(1)) {
    QTX_ASSIGN_OR_RETURN(format::Dims dims, call.OutputDims(1));
    QTX_ASSIGN_OR_RETURN(mask, format::MakeTensor(format::ElementType::kBool, std::move(dims)));
    std::ranges::fill(mask.As<std::uint8_t>(), std::uint8_t{1});
  }
  outputs.push_back(std::move(mask));
  return outputs;
}

}  // namespace

const Operator kDropout = {.op_type = "Dropout", .run_all = Dropout};

}  // namespace qtx::reference::ops
