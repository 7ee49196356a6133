#include "ops/move.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// The class that an index names, its fraction lost and a negative one counted from the end; -1 for
// none of them.  Source: one_hot.S2.
std::int64_t ClassOf(const Dyadic& index, std::int64_t depth) {
  if (index.kind != Dyadic::Kind::kFinite) return -1;
  const mpz_class whole = Round(ToRational(index), TieRule::kTowardZero);
  if (whole < -depth || whole >= depth) return -1;
  const std::int64_t at = whole.get_si();
  return at < 0 ? at + depth : at;
}

// Source: one_hot.S1 to one_hot.S3.
Result<format::Tensor> OneHot(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand indices, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const format::Dims dims, call.OutputDims());
  QTX_ASSIGN_OR_RETURN(Mover mover, Mover::Make(call, *call.inputs[2], dims));
  const std::size_t axis = AxisOf(call, dims.size());
  const std::int64_t depth = dims[axis];
  const std::int64_t inner = Product(dims, axis + 1, dims.size());
  const std::int64_t count = format::ElementCount(indices.tensor());
  std::vector<std::int64_t> chosen(static_cast<std::size_t>(count * depth), 0);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t at = ClassOf(indices.exact(i), depth);
    const std::int64_t line = i / inner * inner * depth + i % inner;
    if (at >= 0) chosen[static_cast<std::size_t>(line + at * inner)] = 1;
  }
  QTX_RETURN_IF_ERROR(mover.Copy(*call.inputs[2], {}, chosen));
  return mover.Take();
}

}  // namespace

const Operator kOneHot = {.op_type = "OneHot", .run = OneHot};

}  // namespace qtx::reference::ops
