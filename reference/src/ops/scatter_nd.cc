#include "ops/registry.h"
#include "ops/scatter.h"
#include "ops/tuples.h"

namespace qtx::reference::ops {
namespace {

// Source: scatter_nd.S1.
Result<format::Tensor> ScatterNd(const Call& call) {
  const IndexTuples tuples = TuplesAt(call, 0);
  std::vector<std::int64_t> elements;
  for (const std::int64_t start : tuples.starts) {
    for (std::int64_t i = 0; i < tuples.slice_size; ++i) elements.push_back(start + i);
  }
  return Scattered(call, elements);
}

}  // namespace

const Operator kScatterND = {.op_type = "ScatterND", .run = ScatterNd};

}  // namespace qtx::reference::ops
