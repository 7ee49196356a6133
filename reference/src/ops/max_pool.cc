#include "ops/pool.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::ElementType;

// Index of the greatest real among `sources`; the first NaN, if there is one, as in IEEE 754
// maximum.
std::int64_t Greatest(const Operand& x, const std::vector<std::int64_t>& sources) {
  std::int64_t best = sources[0];
  Dyadic value = x.exact(best);
  for (const std::int64_t source : sources) {
    if (value.kind == Dyadic::Kind::kNan) break;
    const Dyadic candidate = x.exact(source);
    if (candidate.kind == Dyadic::Kind::kNan || Compare(candidate, value) > 0) {
      best = source;
      value = candidate;
    }
  }
  return best;
}

// With one scale the greatest real is the greatest stored value.
std::int64_t GreatestStored(const Operand& x, const std::vector<std::int64_t>& sources) {
  std::int64_t best = sources[0];
  for (const std::int64_t source : sources) {
    if (x.stored(source) > x.stored(best)) best = source;
  }
  return best;
}

// Where element `at` of x lies when the first spatial axis of its plane varies fastest.
std::int64_t ColumnMajor(const format::Dims& dims, std::int64_t at) {
  const format::Dims strides = format::RowMajorStrides(dims);
  std::int64_t column_major = at - at % strides[1];  // the plane
  std::int64_t step = 1;
  for (std::size_t axis = 2; axis < dims.size(); ++axis) {
    column_major += at / strides[axis] % dims[axis] * step;
    step *= dims[axis];
  }
  return column_major;
}

// The greatest real of each window and where it is; padding never takes part.
// Source: max_pool.S1 to max_pool.S5.
Result<std::vector<format::Tensor>> MaxPool(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const Window window, PoolWindow(call));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Of(call));
  format::Tensor indices;
  if (call.Wants(1)) {
    QTX_ASSIGN_OR_RETURN(indices, format::MakeTensor(ElementType::kInt64, output.tensor().dims));
  }
  Converter converter(call.arithmetic, x, &output, Purpose::kSelect);
  const bool one_scale = x.is_integer() && x.per_tensor();
  const bool column_major = call.Int("storage_order") == 1;
  PoolWalk walk(call, window);
  while (walk.Next()) {
    const std::int64_t best =
        one_scale ? GreatestStored(x, walk.sources()) : Greatest(x, walk.sources());
    converter.Put(walk.element(), best);
    if (!call.Wants(1)) continue;
    indices.As<std::int64_t>()[static_cast<std::size_t>(walk.element())] =
        column_major ? ColumnMajor(x.tensor().dims, best) : best;
  }
  std::vector<format::Tensor> results = {output.Take()};
  if (call.outputs.size() > 1) results.push_back(std::move(indices));
  return results;
}

}  // namespace

const Operator kMaxPool = {.op_type = "MaxPool", .run_all = MaxPool};

}  // namespace qtx::reference::ops
