#include "ops/softmax_rows.h"

#include <vector>

#include "ops/common.h"

namespace qtx::reference {
namespace {

// Elements of one sum: `size` of them, `stride` apart.
struct Row {
  std::int64_t size = 1;
  std::int64_t stride = 1;
};

// Source: softmax.S2, softmax.S4.
Row RowOf(const Call& call, const format::Dims& dims) {
  const bool flattens = call.opset < 13;
  // QLinearSoftmax has the default of Softmax, in the opset that its attribute names.
  const format::Attributes softmax(*format::FindSchema("", "Softmax"), call.node, call.opset);
  const std::size_t axis = FromFirst(softmax.Int("axis"), dims.size());
  const std::int64_t stride = format::RowMajorStrides(dims)[axis];
  return flattens ? Row{dims[axis] * stride, 1} : Row{dims[axis], stride};
}

}  // namespace

void ForEachSoftmaxRow(const Call& call,
                       const std::function<void(std::span<const std::int64_t> row)>& put) {
  const format::Dims& dims = call.inputs[0]->dims;
  const Row row = RowOf(call, dims);
  const std::int64_t total = format::ElementCount(*call.inputs[0]);
  if (total == 0) return;  // a row beside a dimension of 0 may be of any length
  std::vector<std::int64_t> elements(static_cast<std::size_t>(row.size));
  for (std::int64_t first = 0; first < total; ++first) {
    if (first / row.stride % row.size != 0) continue;  // not the beginning of a row
    for (std::int64_t k = 0; k < row.size; ++k) {
      elements[static_cast<std::size_t>(k)] = first + k * row.stride;
    }
    put(elements);
  }
}

Result<format::Tensor> RunSoftmax(const Call& call, RowFunction function) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Of(call));
  ForEachSoftmaxRow(call, [&](std::span<const std::int64_t> row) {
    PutSoftmaxRow(call.arithmetic, function, x, row, &output);
  });
  return output.Take();
}

}  // namespace qtx::reference
