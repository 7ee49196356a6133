// Concat: each input is converted, then copied in runs, where bytes can be.
#include <algorithm>
#include <utility>

#include "engine/ops/elementwise.h"
#include "engine/ops/movement.h"
#include "engine/ops/select.h"

namespace qtx::backend::engine {
namespace {

using format::Dims;
using format::Tensor;

class Concat : public Step {
 public:
  Concat(std::vector<Converted> inputs, std::vector<std::size_t> chunks, Value* y)
      : inputs_(std::move(inputs)), chunks_(std::move(chunks)), y_(y) {}

  // Chunk: bytes an input has for each index of the dimensions before the axis.
  Result<void> Run() override {
    std::size_t row = 0;
    for (const std::size_t chunk : chunks_) row += chunk;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < inputs_.size(); begin += chunks_[i], ++i) {
      const std::span<const std::byte> from = inputs_[i].Get();
      std::byte* to = y_->tensor.bytes.data() + begin;
      for (std::size_t at = 0; at < from.size(); at += chunks_[i], to += row) {
        std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(at), chunks_[i], to);
      }
    }
    return {};
  }

 private:
  std::vector<Converted> inputs_;
  std::vector<std::size_t> chunks_;
  Value* y_;
};

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

StepResult Make(const NodePlan& node, std::vector<const Value*> inputs,
                const std::vector<std::int64_t>& chunks, Value* y) {
  std::vector<Converted> converted;
  std::vector<std::size_t> bytes;
  const auto size = static_cast<std::size_t>(format::BitWidth(y->tensor.elem_type) / 8);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    auto one = Converted::Make(node, inputs[i], y->tensor);
    if (!one.has_value()) {
      std::vector<std::int64_t> index = ConcatIndex(inputs, chunks, y->tensor);
      if (!IsRealOutput(y->tensor.elem_type) && IsRealInput(y->tensor.elem_type)) {
        return MakeHalves(node, inputs, y, std::move(index));
      }
      return MakeGeneralMove(node, std::move(inputs), y, std::move(index));
    }
    converted.push_back(*std::move(one));
    bytes.push_back(size * static_cast<std::size_t>(chunks[i]));
  }
  return std::make_unique<Concat>(std::move(converted), std::move(bytes), y);
}

}  // namespace

StepResult PrepareConcat(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(std::vector<const Value*> inputs, AllInputs(node));
  QTX_ASSIGN_OR_RETURN(const Dims dims, node.InferredDims());
  const std::size_t axis = AxisOf(node.Int("axis"), dims.size());
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(dims));
  std::vector<std::int64_t> chunks;
  std::int64_t slice = 1;
  for (std::size_t d = axis + 1; d < dims.size(); ++d) slice *= dims[d];
  chunks.reserve(inputs.size());
  for (const Value* input : inputs) chunks.push_back(slice * input->tensor.dims[axis]);
  return Make(node, std::move(inputs), chunks, y);
}

}  // namespace qtx::backend::engine
