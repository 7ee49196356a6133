#include <numeric>

#include "arithmetic/average.h"
#include "ops/pool.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// The mean over all spatial positions.  Source: global_average_pool.S1 and .S2.
Result<format::Tensor> GlobalAveragePool(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Of(call));
  const Planes planes = PlanesOf(call);
  const auto kind =
      x.tensor().dims.size() == 4 ? StoredSum::Kind::kImageMean : StoredSum::Kind::kMean;
  Averager averager(call, x, &output, Averager::Kernel::kGlobalPool, kind, planes.pixels);
  if (planes.count == 0) return output.Take();
  std::vector<std::int64_t> sources(static_cast<std::size_t>(planes.pixels));
  for (std::int64_t plane = 0; plane < planes.count; ++plane) {
    std::iota(sources.begin(), sources.end(), plane * planes.pixels);
    averager.Put(plane, sources, planes.pixels);
  }
  return output.Take();
}

}  // namespace

const Operator kGlobalAveragePool = {.op_type = "GlobalAveragePool", .run = GlobalAveragePool};

}  // namespace qtx::reference::ops
