// The general path of the pools; MaxPool's indices, GlobalMaxPool, LpPool.
#include <algorithm>
#include <utility>

#include "engine/ops/float_pool.h"
#include "engine/ops/operators.h"
#include "engine/ops/pool.h"
#include "engine/ops/reduction.h"
#include "engine/ops/select.h"

namespace qtx::backend::engine {
namespace {

using format::ElementType;

// The walk over all planes of a pool for the general path.
Result<Walk> WalkOf(const NodePlan& node, const PoolShape& pool, bool count_padding) {
  QTX_ASSIGN_OR_RETURN(Walk walk, WalkOf(node, pool.axes, count_padding));
  std::int64_t size = 1;
  for (const WindowAxis& axis : pool.axes) size *= axis.input;
  for (std::int64_t plane = 0; plane < pool.planes; ++plane) {
    walk.planes.push_back({plane * size, 0});
  }
  walk.terms *= static_cast<double>(pool.planes);
  return walk;
}

StepResult MakeGeneralAveragePool(const NodePlan& node, bool global) {
  QTX_ASSIGN_OR_RETURN(const PoolShape pool, PoolShapeOf(node, global));
  QTX_ASSIGN_OR_RETURN(Walk walk, WalkOf(node, pool, CountsPadding(node, global)));
  Sum sum;
  sum.counts_padding =
      CountsPadding(node, global) && std::ranges::any_of(pool.axes, [](const WindowAxis& axis) {
        return axis.pad_begin != 0 || axis.pad_end != 0;
      });
  QTX_ASSIGN_OR_RETURN(sum.a, node.Input(0));
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(pool.to));
  if (node.arithmetic() == Arithmetic::kExact) {
    auto lines = MakeFloatAveragePool(node, pool, CountsPadding(node, global), sum.a, y);
    if (lines != nullptr) return lines;
  }
  return MakeSum(node, std::move(sum), std::move(walk), y);
}

// Numbers of elements, row-major, become those with the first spatial axis varying fastest.
class ColumnMajor : public Step {
 public:
  ColumnMajor(Value* indices, std::vector<WindowAxis> axes)
      : indices_(indices), axes_(std::move(axes)) {}

  Result<void> Run() override {
    for (std::int64_t& index : indices_->tensor.As<std::int64_t>()) index = Renumbered(index);
    return {};
  }

 private:
  std::int64_t Renumbered(std::int64_t index) const {
    std::int64_t size = 1;
    for (const WindowAxis& axis : axes_) size *= axis.input;
    std::int64_t rest = index % size;
    std::int64_t number = index - rest;
    std::int64_t stride = size;
    for (std::size_t d = axes_.size(); d-- > 0; rest /= axes_[d].input) {
      stride /= axes_[d].input;
      number += rest % axes_[d].input * stride;
    }
    return number;
  }

  Value* indices_;
  std::vector<WindowAxis> axes_;
};

// MaxPool's second output, null where nobody asks for it.
Result<Value*> IndicesOf(const NodePlan& node, const format::Dims& dims) {
  if (!node.HasOutput(1)) return nullptr;
  return node.OutputAt(1, dims, {.elem_type = ElementType::kInt64});
}

}  // namespace

bool CountsPadding(const NodePlan& node, bool global) {
  const bool may = !global && node.HasAttribute("count_include_pad");  // as MaxPool has not
  return may && node.Int("count_include_pad") != 0;
}

Result<PoolShape> PoolShapeOf(const NodePlan& node, bool global) {
  PoolShape pool;
  QTX_ASSIGN_OR_RETURN(const format::Tensor* x, node.TypeOf(0));
  const format::Dims& dims = x->dims;
  const std::vector<std::int64_t> spatial(dims.begin() + 2, dims.end());
  QTX_ASSIGN_OR_RETURN(pool.axes,
                       WindowAxesOf(node, spatial, global ? spatial : node.Ints("kernel_shape")));
  if (!CountsPadding(node, global) && std::ranges::any_of(pool.axes, format::HasWindowInPadding)) {
    return node.Unsupported("a window that lies wholly in the padding");
  }
  pool.planes = dims[0] * dims[1];
  pool.to = OutputDims(pool.axes, dims[0], dims[1]);
  return pool;
}

StepResult PrepareGeneralAveragePool(const NodePlan& node) {
  return MakeGeneralAveragePool(node, false);
}
StepResult PrepareGeneralGlobalAveragePool(const NodePlan& node) {
  return MakeGeneralAveragePool(node, true);
}

StepResult PrepareGeneralMaxPool(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const PoolShape pool, PoolShapeOf(node, false));
  QTX_ASSIGN_OR_RETURN(Walk walk, WalkOf(node, pool, false));
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  QTX_ASSIGN_OR_RETURN(Value * y, node.OutputAt(0, pool.to, x->tensor));
  QTX_ASSIGN_OR_RETURN(Value * indices, IndicesOf(node, pool.to));
  if (indices == nullptr && node.arithmetic() == Arithmetic::kExact) {
    auto lines = MakeFloatMaxPool(node, pool, x, y);
    if (lines != nullptr) return lines;
  }
  std::vector<std::unique_ptr<Step>> steps;
  QTX_ASSIGN_OR_RETURN(auto greatest,
                       MakeExtreme(node, {.a = x, .indices = indices}, std::move(walk), y));
  steps.push_back(std::move(greatest));
  if (indices != nullptr && node.Int("storage_order") == 1) {
    steps.push_back(std::make_unique<ColumnMajor>(indices, pool.axes));
  }
  return MakeSequence(std::move(steps));
}

StepResult PrepareGlobalMaxPool(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const PoolShape pool, PoolShapeOf(node, true));
  QTX_ASSIGN_OR_RETURN(Walk walk, WalkOf(node, pool, false));
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(pool.to));
  return MakeExtreme(node, {.a = x, .plain = Plain::kDouble}, std::move(walk), y);
}

StepResult PrepareLpPool(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const PoolShape pool, PoolShapeOf(node, false));
  QTX_ASSIGN_OR_RETURN(Walk walk, WalkOf(node, pool, false));
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(pool.to));
  return MakeNorm(node, x, node.Int("p"), std::move(walk), y, Plain::kDouble);
}

}  // namespace qtx::backend::engine
