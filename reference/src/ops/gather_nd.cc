#include "ops/move.h"
#include "ops/registry.h"
#include "ops/tuples.h"

namespace qtx::reference::ops {
namespace {

using format::Dims;

// One slice of data per tuple.  Source: gather_nd.S1 to gather_nd.S4.
Result<format::Tensor> GatherNd(const Call& call) {
  QTX_ASSIGN_OR_RETURN(Dims dims, call.OutputDims());
  const IndexTuples tuples = TuplesAt(call, call.Int("batch_dims"));
  std::vector<std::int64_t> sources;
  for (const std::int64_t start : tuples.starts) {
    for (std::int64_t i = 0; i < tuples.slice_size; ++i) sources.push_back(start + i);
  }
  return Selected(call, std::move(dims), sources);
}

}  // namespace

const Operator kGatherND = {.op_type = "GatherND", .run = GatherNd};

}  // namespace qtx::reference::ops
