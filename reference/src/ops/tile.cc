#include "ops/move.h"
#include "ops/registry.h"
#include "parameters.h"

namespace qtx::reference::ops {
namespace {

using format::Dims;

// Sizes times repeats.  Errors: kTooLarge before anything could overflow.
Result<Dims> TiledDims(const Call& call, const Dims& repeats) {
  const Dims& from = call.inputs[0]->dims;
  if (repeats.size() != from.size()) {
    return Error{ErrorCode::kInvalid, "",
                 "found " + std::to_string(repeats.size()) + " values, expected " +
                     std::to_string(from.size())};
  }
  Dims dims;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (repeats[i] < 0) {
      return Error{ErrorCode::kInvalid, "", "found " + std::to_string(repeats[i]) + " repeats"};
    }
    if (from[i] != 0 && repeats[i] > kMaxComputedElements / from[i]) {
      return Error{ErrorCode::kTooLarge, "",
                   "found " + std::to_string(repeats[i]) + " repeats of axis " + std::to_string(i)};
    }
    dims.push_back(from[i] * repeats[i]);
  }
  QTX_RETURN_IF_ERROR(CheckComputable(dims));
  return dims;
}

// Each axis becomes two: the repeats, which go nowhere in data, and its own.
// Source: tile.S1, tile.S2.
Result<format::Tensor> Tile(const Call& call) {
  const Dims& from = call.inputs[0]->dims;
  QTX_ASSIGN_OR_RETURN(const Dims repeats, Int64sAt(call, 1));
  const auto dims = TiledDims(call, repeats);
  if (!dims.has_value()) return At(InputName(call, 1), dims.error());
  if (Product(*dims, 0, dims->size()) == 0) return Selected(call, *dims, {});
  const Dims from_strides = format::RowMajorStrides(from);
  Dims view;
  Dims strides;
  for (std::size_t i = 0; i < from.size(); ++i) {
    view.insert(view.end(), {repeats[i], from[i]});
    strides.insert(strides.end(), {0, from_strides[i]});
  }
  return Selected(call, *dims, StridedSources(std::move(view), std::move(strides)));
}

}  // namespace

const Operator kTile = {
    .op_type = "Tile", .min_inputs = 2, .max_inputs = 2, .attributes = {}, .run = Tile};

}  // namespace qtx::reference::ops
