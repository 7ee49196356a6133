// Moving elements that no byte copy moves: packed ones, and those whose parameters depend on where
// they are.
#include <algorithm>
#include <utility>

#include "engine/ops/movement.h"
#include "engine/ops/reals.h"

namespace qtx::backend::engine {
namespace {

using format::ElementType;
using format::Tensor;

// A packed tensor's codes as plain integers: what a copy keeps.
Tensor CodesOf(const Tensor& packed) {
  const int bits = format::BitWidth(packed.elem_type);
  Tensor codes = packed;
  codes.elem_type = bits == 4   ? ElementType::kUint4
                    : bits == 2 ? ElementType::kUint2
                                : ElementType::kBipolar1;
  codes.quantization.reset();
  return codes;
}

class GeneralMove : public Step {
 public:
  GeneralMove(std::vector<const Value*> inputs, Value* y, std::vector<std::int64_t> index,
              std::optional<Tensor> padding, bool copies)
      : inputs_(std::move(inputs)), y_(y), index_(std::move(index)), copies_(copies) {
    if (!padding.has_value()) return;
    padding_ = RealsOf(*padding)[0];
    if (!copies_) return;
    Tensor one{y->tensor.elem_type, {1}, y->tensor.quantization, {std::byte{0}}};
    StoreReals({&padding_, 1}, one);
    padding_ = RealsOf(CodesOf(one))[0];
  }

  Result<void> Run() override {
    std::vector<Term> reals;
    for (const Value* input : inputs_) {
      const std::vector<Term> more = RealsOf(copies_ ? CodesOf(input->tensor) : input->tensor);
      reals.insert(reals.end(), more.begin(), more.end());
    }
    Tensor to = copies_ ? CodesOf(y_->tensor) : y_->tensor;
    RealWriter writer(to);
    for (std::int64_t i = 0; i < format::ElementCount(to); ++i) {
      const std::int64_t from = index_.empty() ? i : index_[static_cast<std::size_t>(i)];
      const Term& real = from < 0 ? padding_ : reals[static_cast<std::size_t>(from)];
      writer.Put(i, {&real, 1});
    }
    writer.Finish();
    y_->tensor.bytes = std::move(to.bytes);
    return {};
  }

 private:
  std::vector<const Value*> inputs_;
  Value* y_;
  std::vector<std::int64_t> index_;
  Term padding_;
  bool copies_;
};

// Whether all inputs are of y's type, packed, and moving leaves their meaning alone.
bool MovesCodes(const std::vector<const Value*>& inputs, const Tensor& y) {
  const bool per_tensor = !y.quantization.has_value() || y.quantization->axis.empty();
  if (!per_tensor || format::BitWidth(y.elem_type) % 8 == 0) return false;
  return std::ranges::all_of(inputs, [&y](const Value* input) {
    const auto converter = Converter::Make(input->tensor, y);
    return converter.has_value() && converter->copies();
  });
}

}  // namespace

StepResult MakeGeneralMove(const NodePlan& node, std::vector<const Value*> inputs, Value* y,
                           std::vector<std::int64_t> index, std::optional<Tensor> padding) {
  const bool copies = MovesCodes(inputs, y->tensor);
  const bool plain = copies && !format::IsQuantized(y->tensor.elem_type);
  for (const Value* input : inputs) {
    if (!copies) QTX_RETURN_IF_ERROR(CheckReals(node, *input));
  }
  if (!copies) QTX_RETURN_IF_ERROR(CheckReals(node, *y));
  if (padding.has_value() && !plain) {
    auto checked = CheckReals(*padding);
    if (!checked.has_value()) return node.Because(At("constant_value", checked.error()));
  }
  return std::make_unique<GeneralMove>(std::move(inputs), y, std::move(index), std::move(padding),
                                       copies);
}

}  // namespace qtx::backend::engine
