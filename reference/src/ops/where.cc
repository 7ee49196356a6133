#include "ops/move.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::Dims;
using format::ElementType;

// Copies the elements where `condition` is `chosen` from input `i`.
Result<void> CopyChosen(const Call& call, std::size_t i, const std::vector<std::int64_t>& condition,
                        bool chosen, const Dims& dims, Mover* mover) {
  const format::Tensor& input = *call.inputs[i];
  const std::vector<std::int64_t> places = BroadcastIndices(input.dims, dims);
  std::vector<std::int64_t> elements;
  std::vector<std::int64_t> sources;
  for (std::size_t e = 0; e < places.size(); ++e) {
    if ((condition[e] != 0) != chosen) continue;
    elements.push_back(static_cast<std::int64_t>(e));
    sources.push_back(places[e]);
  }
  auto copied = mover->Copy(input, elements, sources);
  if (!copied.has_value()) return At(InputName(call, i), std::move(copied).error());
  return {};
}

// Source: where.S1, where.S2.
Result<format::Tensor> Where(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Dims dims, call.OutputDims());
  QTX_ASSIGN_OR_RETURN(Mover mover, Mover::Make(call, *call.inputs[1], dims));
  const format::Tensor& condition = *call.inputs[0];
  const std::vector<std::int64_t> flags = format::UnpackIntegers(condition);
  std::vector<std::int64_t> chosen;
  for (const std::int64_t i : BroadcastIndices(condition.dims, dims)) {
    chosen.push_back(flags[static_cast<std::size_t>(i)]);
  }
  QTX_RETURN_IF_ERROR(CopyChosen(call, 1, chosen, true, dims, &mover));
  QTX_RETURN_IF_ERROR(CopyChosen(call, 2, chosen, false, dims, &mover));
  return mover.Take();
}

}  // namespace

const Operator kWhere = {.op_type = "Where", .run = Where};

}  // namespace qtx::reference::ops
