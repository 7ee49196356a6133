// ReduceSum, ReduceMean, ReduceSumSquare, ReduceL2, ReduceMax, ReduceMin.
#include <string>
#include <utility>

#include "engine/ops/indexing.h"
#include "engine/ops/integer_reduce.h"
#include "engine/ops/operators.h"
#include "engine/ops/reduction.h"
#include "engine/ops/select.h"

namespace qtx::backend::engine {
namespace {

using format::Dims;

// Which axes are reduced.  Source: reduce_sum.S3 and its like.
Result<std::vector<bool>> ReducedAxes(const NodePlan& node, std::size_t rank) {
  std::vector<std::int64_t> axes = node.Ints("axes");
  if (node.HasInput(1)) {
    QTX_ASSIGN_OR_RETURN(axes, node.ConstantIntegers(1));
  }
  std::vector<bool> reduced(rank);
  if (axes.empty()) {
    if (node.Int("noop_with_empty_axes") == 0) reduced.assign(rank, true);
    return reduced;
  }
  for (const std::int64_t axis : axes) reduced[AxisOf(axis, rank)] = true;
  return reduced;
}

struct Reduced {
  Dims dims;  // of y
  Walk walk;
  std::int64_t count = 1;  // of elements in a group
};

Reduced WalkOf(const Dims& from, const std::vector<bool>& reduced, bool keep, bool mean) {
  const Dims strides = format::RowMajorStrides(from);
  Dims group;
  Dims group_strides;
  Dims rest;
  Dims rest_strides;
  Reduced result;
  for (std::size_t d = 0; d < from.size(); ++d) {
    (reduced[d] ? group : rest).push_back(from[d]);
    (reduced[d] ? group_strides : rest_strides).push_back(strides[d]);
    if (!reduced[d] || keep) result.dims.push_back(reduced[d] ? 1 : from[d]);
  }
  std::vector<Pair> taps;
  for (const std::int64_t at : StridedIndex(group, group_strides)) taps.push_back({at, at});
  for (const std::int64_t at : StridedIndex(rest, rest_strides)) {
    result.walk.planes.push_back({at, at});
  }
  result.count = static_cast<std::int64_t>(taps.size());
  result.walk.terms = static_cast<double>(taps.size() * result.walk.planes.size());
  result.walk.taps_at = [taps = std::move(taps), divisor = mean ? result.count : 1](
                            std::int64_t, std::vector<Pair>& out) {
    out = taps;
    return divisor;
  };
  return result;
}

}  // namespace

StepResult PrepareReduce(const NodePlan& node) {
  const std::string& op = node.node().op_type;
  QTX_ASSIGN_OR_RETURN(const format::Tensor* x_type, node.TypeOf(0));
  QTX_ASSIGN_OR_RETURN(const std::vector<bool> axes, ReducedAxes(node, x_type->dims.size()));
  StepResult integers = PrepareIntegerReduce(node, axes);
  if (integers.has_value() || integers.error().code != ErrorCode::kUnsupported) return integers;
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  const Dims& from = x->tensor.dims;
  const bool keep = node.Int("keepdims") != 0;
  const bool mean = op == "ReduceMean";
  Reduced plan = WalkOf(from, axes, keep, mean);
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(plan.dims));
  if (op == "ReduceMax" || op == "ReduceMin") {
    return MakeExtreme(node, {.a = x, .least = op == "ReduceMin", .plain = Plain::kNumbersAndBool},
                       std::move(plan.walk), y);
  }
  if (op == "ReduceL2") return MakeNorm(node, x, 2, std::move(plan.walk), y, Plain::kNumbers);
  Sum sum{.a = x, .plain = Plain::kNumbers};
  if (op == "ReduceSumSquare") sum.b = x;
  return MakeSum(node, std::move(sum), std::move(plan.walk), y);
}

}  // namespace qtx::backend::engine
