// Concat.
#include <algorithm>
#include <utility>

#include "engine/ops/elementwise.h"
#include "engine/ops/movement.h"
#include "engine/ops/select.h"
#include "engine/ops/strided_move.h"

namespace qtx::backend::engine {
namespace {

using format::Dims;
using format::Tensor;

// The element of the inputs, one after the other, that each element of y is. Chunks in elements.
std::vector<std::int64_t> ConcatIndex(const std::vector<const Value*>& inputs,
                                      const std::vector<std::int64_t>& chunks, const Tensor& y) {
  std::vector<std::int64_t> next;  // of each input
  std::int64_t total = 0;
  for (const Value* input : inputs) {
    next.push_back(total);
    total += format::ElementCount(input->tensor);
  }
  std::vector<std::int64_t> index;
  const auto count = static_cast<std::size_t>(format::ElementCount(y));
  while (index.size() < count) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      for (std::int64_t e = 0; e < chunks[i]; ++e) index.push_back(next[i]++);
    }
  }
  return index;
}

// FLOAT16 or BFLOAT16 of inputs some of which are other reals.
StepResult MakeHalves(const NodePlan& node, const std::vector<const Value*>& inputs, Value* y,
                      std::vector<std::int64_t> index) {
  QTX_RETURN_IF_ERROR(CheckTypes(node, inputs, std::span<const Value* const>(), Plain::kAny));
  return MakeSelection(inputs, y, std::move(index));
}

StepResult MakeGeneral(const NodePlan& node, std::size_t axis, const Dims& dims) {
  QTX_ASSIGN_OR_RETURN(std::vector<const Value*> inputs, AllInputs(node));
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(dims));
  std::vector<std::int64_t> chunks;
  std::int64_t slice = 1;
  for (std::size_t d = axis + 1; d < dims.size(); ++d) slice *= dims[d];
  chunks.reserve(inputs.size());
  for (const Value* input : inputs) chunks.push_back(slice * input->tensor.dims[axis]);
  std::vector<std::int64_t> index = ConcatIndex(inputs, chunks, y->tensor);
  if (!IsRealOutput(y->tensor.elem_type) && IsRealInput(y->tensor.elem_type)) {
    return MakeHalves(node, inputs, y, std::move(index));
  }
  return MakeGeneralMove(node, std::move(inputs), y, std::move(index));
}

}  // namespace

StepResult PrepareConcat(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Dims dims, node.InferredDims());
  const std::size_t axis = AxisOf(node.Int("axis"), dims.size());
  std::vector<Dims> shapes;
  for (std::size_t i = 0; i < node.node().inputs.size(); ++i) {
    QTX_ASSIGN_OR_RETURN(const Tensor* input, node.TypeOf(i));
    shapes.push_back(input->dims);
  }
  StepResult strided = PrepareStridedMove(
      node, {.inputs = shapes.size(),
             .output_of_several = {},
             .dims = dims,
             .parts = [&](const std::vector<Dims>& x, const Dims& y) {
               std::vector<MovedPart> parts;
               std::int64_t first = 0;
               for (std::size_t i = 0; i < shapes.size(); ++i) {
                 parts.push_back(
                     {.input = i, .dims = shapes[i], .from = x[i], .to = y, .first_to = first});
                 first += shapes[i][axis] * y[axis];
               }
               return parts;
             }});
  if (strided.has_value() || strided.error().code != ErrorCode::kUnsupported) return strided;
  return MakeGeneral(node, axis, dims);
}

}  // namespace qtx::backend::engine
