#include "engine/ops/movement.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace qtx::backend::engine {
namespace {

/// y[i] = x[index[i]], or the padding element if index[i] is -1. An empty index stands for 0, 1, 2,
/// ...
class Move : public Step {
 public:
  Move(Converted x, Value* y, std::vector<std::int64_t> index, std::vector<std::byte> padding = {})
      : x_(std::move(x)), y_(y), index_(std::move(index)), padding_(std::move(padding)) {}

  std::string_view Path() const override { return "index move"; }
  Result<void> Run() override {
    std::vector<std::byte>& to = y_->tensor.bytes;
    if (to.empty()) return {};  // x need not be: Pad may cut all of it off
    const std::span<const std::byte> from = x_.Get();
    if (index_.empty()) {
      std::ranges::copy(from, to.begin());
      return {};
    }
    const std::size_t size = to.size() / index_.size();
    if (size == 1) {
      for (std::size_t i = 0; i < index_.size(); ++i) {
        to[i] = index_[i] < 0 ? padding_[0] : from[static_cast<std::size_t>(index_[i])];
      }
      return {};
    }
    for (std::size_t i = 0; i < index_.size(); ++i) {
      const std::byte* element = index_[i] < 0
                                     ? padding_.data()
                                     : from.data() + static_cast<std::size_t>(index_[i]) * size;
      std::memcpy(to.data() + i * size, element, size);
    }
    return {};
  }

 private:
  Converted x_;
  Value* y_;
  std::vector<std::int64_t> index_;
  std::vector<std::byte> padding_;
};

}  // namespace

Result<Converted> Converted::Make(const NodePlan& node, const Value* x, const format::Tensor& y) {
  format::Tensor to;
  to.elem_type = y.elem_type;
  to.dims = x->tensor.dims;
  to.quantization = y.quantization;
  // Elements are converted where they are, and y's parameters are those of where they go.
  const bool per_axis = y.quantization.has_value() && !y.quantization->axis.empty();
  if (per_axis || format::BitWidth(y.elem_type) % 8 != 0) {
    return node.Unsupported("moving elements to type " + std::string(format::Name(y.elem_type)) +
                            (per_axis ? " quantized per axis" : ""));
  }
  auto converter =
      Converter::Make(x->tensor, to, {}, RuleFor(node.arithmetic(), Purpose::kMove, x->tensor, to));
  if (!converter.has_value()) return node.Because(converter.error());
  Converted result(x, *std::move(converter));
  const auto size = static_cast<std::size_t>(format::BitWidth(y.elem_type) / 8);
  if (!result.converter_.copies()) {
    result.bytes_.resize(static_cast<std::size_t>(format::ElementCount(x->tensor)) * size);
  }
  return result;
}

std::span<const std::byte> Converted::Get() {
  if (converter_.copies()) return x_->tensor.bytes;
  converter_.Run(x_->tensor.bytes, bytes_);
  return bytes_;
}

StepResult MakeMove(const NodePlan& node, const Value* x, Value* y, std::vector<std::int64_t> index,
                    const Value* padding) {
  auto converted = Converted::Make(node, x, y->tensor);
  // Padding of whole bytes is converted once.
  const bool known = padding == nullptr || padding->constant;
  if (!converted.has_value() || !known) {
    return MakeGeneralMove(node, {x}, y, std::move(index), padding);
  }
  std::vector<std::byte> element;
  if (padding != nullptr) {
    format::Tensor to;
    to.elem_type = y->tensor.elem_type;
    to.dims = padding->tensor.dims;
    to.quantization = y->tensor.quantization;
    const ChangeRule rule = RuleFor(node.arithmetic(), Purpose::kMove, padding->tensor, to);
    auto converter = Converter::Make(padding->tensor, to, {}, rule);
    if (!converter.has_value()) return node.Because(At("constant_value", converter.error()));
    element.resize(static_cast<std::size_t>(format::BitWidth(to.elem_type) / 8));
    converter->Run(padding->tensor.bytes, element);
  }
  return std::make_unique<Move>(*std::move(converted), y, std::move(index), std::move(element));
}

}  // namespace qtx::backend::engine
