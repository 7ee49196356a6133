// Add, Sub, Mul and Div with broadcasting.
#include <algorithm>

#include "float/operator.h"

namespace qtx::backend::floats {
namespace {

using format::Dims;
using format::Tensor;

constexpr std::int64_t kElementsOfTask = 8192;

// An axis of the result, and how far both operands move along it: 0 where they are broadcast.
struct SteppedAxis {
  std::int64_t size, a, b;
};

// Steps of an operand along the axes of the result.
Dims StepsOf(const Dims& dims, std::size_t rank) {
  Dims steps(rank - dims.size(), 0);
  const Dims strides = format::RowMajorStrides(dims);
  for (std::size_t i = 0; i < dims.size(); ++i) steps.push_back(dims[i] == 1 ? 0 : strides[i]);
  return steps;
}

Dims BroadcastDims(const Dims& a, const Dims& b) {
  Dims dims(std::max(a.size(), b.size()), 1);
  for (const Dims* operand : {&a, &b}) {
    for (std::size_t i = 0; i < operand->size(); ++i) {
      std::int64_t& dim = dims[dims.size() - operand->size() + i];
      if (dim == 1) dim = (*operand)[i];
    }
  }
  return dims;
}

// The axes of the result, at least one. Adjacent axes over which both operands advance evenly are
// merged.
std::vector<SteppedAxis> AxesOf(const Dims& dims, const Dims& a, const Dims& b) {
  const Dims a_steps = StepsOf(a, dims.size());
  const Dims b_steps = StepsOf(b, dims.size());
  std::vector<SteppedAxis> axes;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    const SteppedAxis axis{dims[i], a_steps[i], b_steps[i]};
    if (!axes.empty() && axes.back().a == axis.a * axis.size &&
        axes.back().b == axis.b * axis.size) {
      axes.back() = {axes.back().size * axis.size, axis.a, axis.b};
    } else {
      axes.push_back(axis);
    }
  }
  if (axes.empty()) axes.push_back({1, 0, 0});
  return axes;
}

class BinaryOperator : public Operator {
 public:
  explicit BinaryOperator(Binary operation) : operation_(operation) {}

  Result<Tensor> Run(const Context& context, Inputs inputs) const override {
    const Tensor* a = InputOr(inputs, 0);
    const Tensor* b = InputOr(inputs, 1);
    QTX_ASSIGN_OR_RETURN(Tensor y, context.buffers.NewTensor(BroadcastDims(a->dims, b->dims)));
    const std::int64_t count = format::ElementCount(y);
    if (count == 0) return y;
    const std::vector<SteppedAxis> axes = AxesOf(y.dims, a->dims, b->dims);
    const SteppedAxis last = axes.back();
    const std::int64_t rows = count / last.size;
    // Rows of a task, or pieces of a row.
    const std::int64_t together = std::max<std::int64_t>(1, kElementsOfTask / last.size);
    const std::int64_t pieces = (last.size + kElementsOfTask - 1) / kElementsOfTask;
    const std::int64_t tasks = (rows + together - 1) / together * pieces;
    context.workers.For(tasks, 8 * count, [&](std::int64_t task) {
      const std::int64_t from = task % pieces * kElementsOfTask;
      const std::int64_t n = std::min(kElementsOfTask, last.size - from);
      const std::int64_t first = task / pieces * together;
      for (std::int64_t row = first; row < std::min(rows, first + together); ++row) {
        const auto [a_row, b_row] = RowOffsets(axes, row);
        context.kernels.binary[static_cast<int>(operation_)](
            {DataOf(*a) + a_row + from * last.a, DataOf(*b) + b_row + from * last.b,
             DataOf(y) + row * last.size + from, n, static_cast<int>(last.a),
             static_cast<int>(last.b)});
      }
    });
    return y;
  }

 private:
  static std::pair<std::int64_t, std::int64_t> RowOffsets(std::span<const SteppedAxis> axes,
                                                          std::int64_t row) {
    std::pair<std::int64_t, std::int64_t> offsets;
    for (std::size_t i = axes.size() - 1; i-- > 0;) {
      const std::int64_t at = row % axes[i].size;
      row /= axes[i].size;
      offsets.first += at * axes[i].a;
      offsets.second += at * axes[i].b;
    }
    return offsets;
  }

  Binary operation_;
};

}  // namespace

Result<std::unique_ptr<Operator>> MakeBinary(const NodeInfo& info) {
  const std::string& op = info.node.op_type;
  if (info.opset < 7) return std::unique_ptr<Operator>();  // broadcasting by attributes
  return std::make_unique<BinaryOperator>(op == "Add"   ? Binary::kAdd
                                          : op == "Sub" ? Binary::kSub
                                          : op == "Mul" ? Binary::kMul
                                                        : Binary::kDiv);
}

}  // namespace qtx::backend::floats
