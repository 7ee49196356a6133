#include <numeric>

#include "arithmetic/extreme_finder.h"
#include "ops/pool.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// The greatest over all spatial positions.  Source: global_max_pool.S1 and .S2.
Result<format::Tensor> GlobalMaxPool(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Of(call));
  const Planes planes = PlanesOf(call);
  const ExtremeFinder finder(End::kGreatest, x);
  Converter converter(call.arithmetic, x, &output, Purpose::kSelect);
  std::vector<std::int64_t> sources(static_cast<std::size_t>(planes.pixels));
  for (std::int64_t plane = 0; plane < planes.count; ++plane) {
    std::iota(sources.begin(), sources.end(), plane * planes.pixels);
    converter.Put(plane, finder.At(sources));
  }
  return output.Take();
}

}  // namespace

const Operator kGlobalMaxPool = {.op_type = "GlobalMaxPool", .run = GlobalMaxPool};

}  // namespace qtx::reference::ops
