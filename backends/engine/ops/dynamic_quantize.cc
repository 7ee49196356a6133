// DynamicQuantizeLinear: scale and zero point of the range that a tensor has.
#include <cmath>
#include <utility>

#include "engine/elements.h"
#include "engine/ops/operators.h"

namespace qtx::backend::engine {
namespace {

using format::ElementType;
using format::Tensor;

class DynamicQuantize : public Step {
 public:
  DynamicQuantize(const Value* x, Value* y, Value* scale, Value* zero_point, Error error)
      : x_(x), y_(y), scale_(scale), zero_point_(zero_point), not_finite_(std::move(error)) {}

  Result<void> Run() override {
    float low = 0;
    float high = 0;
    for (const float value : x_->tensor.As<float>()) {
      if (!std::isfinite(value)) return not_finite_;
      low = std::min(low, value);
      high = std::max(high, value);
    }
    const mpq_class range = mpq_class(high) - mpq_class(low);
    auto scale = static_cast<float>(RoundToOdd(range / 255));
    if (scale == 0) scale = 1;
    // half_even(clamp(-low / scale)), which lies in 0..255: a quantization of its own.
    Tensor zero{.elem_type = ElementType::kUint8Q, .dims = {1}};
    zero.quantization.emplace().scale = {scale};
    zero.bytes.resize(1);
    NumberWriter(zero).Put(0, Number(mpq_class(-low)));
    Tensor stored{.elem_type = ElementType::kUint8Q, .dims = x_->tensor.dims};
    stored.quantization = zero.quantization;
    stored.quantization->offset = {static_cast<std::int32_t>(zero.bytes[0])};
    stored.bytes = std::move(y_->tensor.bytes);
    NumberWriter writer(stored);
    const NumberReader reader(x_->tensor);
    for (std::int64_t i = 0; i < format::ElementCount(stored); ++i) writer.Put(i, reader(i));
    y_->tensor.bytes = std::move(stored.bytes);
    if (scale_ != nullptr) scale_->tensor.As<float>()[0] = scale;
    if (zero_point_ != nullptr) zero_point_->tensor.bytes = zero.bytes;
    return {};
  }

 private:
  const Value* x_;
  Value* y_;
  Value* scale_;
  Value* zero_point_;
  Error not_finite_;
};

Result<Value*> OutputOf(const NodePlan& node, std::size_t i, format::Dims dims, ElementType type) {
  return node.OutputAt(i, std::move(dims), {.elem_type = type});
}

}  // namespace

StepResult PrepareDynamicQuantizeLinear(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  QTX_ASSIGN_OR_RETURN(Value * y, OutputOf(node, 0, x->tensor.dims, ElementType::kUint8));
  Value* scale = nullptr;
  Value* zero_point = nullptr;
  if (node.HasOutput(1)) {
    QTX_ASSIGN_OR_RETURN(scale, OutputOf(node, 1, {}, ElementType::kFloat));
  }
  if (node.HasOutput(2)) {
    QTX_ASSIGN_OR_RETURN(zero_point, OutputOf(node, 2, {}, ElementType::kUint8));
  }
  return std::make_unique<DynamicQuantize>(x, y, scale, zero_point,
                                           node.Breaks("C2", "an element that is not finite"));
}

}  // namespace qtx::backend::engine
