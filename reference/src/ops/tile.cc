#include "ops/move.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::Dims;

// Each axis becomes two: the repeats, which go nowhere in data, and its own.
// Source: tile.S1, tile.S2.
Result<format::Tensor> Tile(const Call& call) {
  const Dims& from = call.inputs[0]->dims;
  QTX_ASSIGN_OR_RETURN(const Dims dims, call.OutputDims());
  if (Product(dims, 0, dims.size()) == 0) return Selected(call, dims, {});
  const std::vector<std::int64_t> repeats = IntegersAt(call, 1);
  const Dims from_strides = format::RowMajorStrides(from);
  Dims view;
  Dims strides;
  for (std::size_t i = 0; i < from.size(); ++i) {
    view.insert(view.end(), {repeats[i], from[i]});
    strides.insert(strides.end(), {0, from_strides[i]});
  }
  return Selected(call, dims, StridedSources(std::move(view), std::move(strides)));
}

}  // namespace

const Operator kTile = {.op_type = "Tile", .run = Tile};

}  // namespace qtx::reference::ops
