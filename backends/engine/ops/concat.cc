// Concat: each input is converted, then copied in runs.
#include <algorithm>
#include <utility>

#include "engine/ops/movement.h"

namespace qtx::backend::engine {
namespace {

using format::Dims;

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

}  // namespace

StepResult PrepareConcat(const NodePlan& node) {
  if (node.node().Find("axis") == nullptr) return node.Invalid("axis is absent");
  QTX_ASSIGN_OR_RETURN(const Value* first, node.Input(0));
  Dims dims = first->tensor.dims;
  auto normalized =
      format::NormalizeAxis(node.node().IntOr("axis", 0), static_cast<std::int64_t>(dims.size()));
  if (!normalized.has_value()) return node.Because(normalized.error());
  const auto axis = static_cast<std::size_t>(*normalized);
  std::vector<const Value*> inputs;
  dims[axis] = 0;
  for (std::size_t i = 0; i < node.node().inputs.size(); ++i) {
    QTX_ASSIGN_OR_RETURN(const Value* input, node.Input(i));
    Dims own = input->tensor.dims;
    if (own.size() != dims.size()) return node.Invalid("inputs of different rank");
    dims[axis] += own[axis];
    own[axis] = dims[axis];
    if (own != dims) return node.Invalid("inputs that differ outside the axis");
    inputs.push_back(input);
  }
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(dims));
  std::size_t inner = static_cast<std::size_t>(format::BitWidth(y->tensor.elem_type) / 8);
  for (std::size_t d = axis + 1; d < dims.size(); ++d) inner *= static_cast<std::size_t>(dims[d]);
  std::vector<Converted> converted;
  std::vector<std::size_t> chunks;
  for (const Value* input : inputs) {
    QTX_ASSIGN_OR_RETURN(Converted one, Converted::Make(node, input, y->tensor));
    converted.push_back(std::move(one));
    chunks.push_back(inner * static_cast<std::size_t>(input->tensor.dims[axis]));
  }
  return std::make_unique<Concat>(std::move(converted), std::move(chunks), y);
}

}  // namespace qtx::backend::engine
