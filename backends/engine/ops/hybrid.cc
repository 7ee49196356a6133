#include "engine/ops/hybrid.h"

#include <cmath>
#include <utility>

#include "engine/product.h"
#include "engine/weights.h"

namespace qtx::backend::engine {
namespace {

class Hybrid : public Step {
 public:
  Hybrid(const NodePlan& node, const MatrixShape& shape, const Sum& sum, Value* y,
         std::unique_ptr<Step> general)
      : kernels_(node.kernels()),
        threads_(node.threads()),
        zero_(kernels_.signed_bytes ? 0 : 128),
        weights_(Pack(shape, sum.b->tensor)),
        scale_(format::ScaleAt(*sum.b->tensor.quantization, 0)),
        depth_(shape.depth),
        columns_(shape.columns),
        x_(sum.a),
        bias_(sum.addend),
        y_(y),
        general_(std::move(general)),
        bytes_(At(shape.rows * depth_ + kReadAhead)),
        steps_(At(shape.rows)) {
    for (std::int64_t r = 0; r < shape.rows; ++r) offsets_.push_back(r * depth_);
  }

  std::string_view Path() const override { return "hybrid products"; }
  Result<void> Run() override {
    if (!QuantizeRows()) return general_->Run();
    const float* bias = bias_ == nullptr ? nullptr : bias_->tensor.As<float>().data();
    Multiply<std::uint8_t, std::int8_t>(
        kernels_.bytes, weights_, {.base = bytes_.data(), .offsets = offsets_},
        RowScaling{steps_, columns_, bias}, {.data = y_->tensor.bytes.data(), .stride = columns_},
        threads_);
    return {};
  }

 private:
  static constexpr float kMost = 127;

  static std::size_t At(std::int64_t i) { return static_cast<std::size_t>(i); }

  PackedWeights<std::int8_t> Pack(const MatrixShape& shape, const format::Tensor& w) const {
    const std::vector<std::int32_t> stored = format::UnpackInt32(w);
    const std::vector<std::int16_t> values(stored.begin(), stored.end());
    const Stretch stretch{0, static_cast<std::int32_t>(shape.depth)};
    return {kernels_.bytes,
            {.values = values.data(),
             .columns = shape.columns,
             .stretches = {&stretch, 1},
             .activation_min = zero_ - 127,
             .activation_max = zero_ + 127,
             .zero = zero_}};
  }

  // False if an element is not finite.
  bool QuantizeRows() {
    const float* x = x_->tensor.As<float>().data();
    for (std::int64_t r = 0; r < std::ssize(steps_); ++r) {
      const auto greatest = static_cast<float>(kernels_.greatest(x + r * depth_, depth_));
      steps_[At(r)] = greatest / kMost * scale_;
      if (std::isinf(greatest) || !kernels_.quantize_away(x + r * depth_, depth_, kMost / greatest,
                                                          zero_, bytes_.data() + r * depth_)) {
        return false;
      }
    }
    return true;
  }

  const Kernels& kernels_;
  Threads& threads_;
  std::int32_t zero_;  // the operand of 0
  PackedWeights<std::int8_t> weights_;
  float scale_;
  std::int64_t depth_, columns_;
  const Value* x_;
  const Value* bias_;
  Value* y_;
  std::unique_ptr<Step> general_;
  std::vector<std::uint8_t> bytes_;
  std::vector<float> steps_;
  std::vector<std::int64_t> offsets_;
};

}  // namespace

bool IsHybrid(const NodePlan& node) {
  if (node.node().op_type != "Gemm" || !ComesFromTflite(node.node(), "FULLY_CONNECTED")) {
    return false;
  }
  const auto x = node.TypeOf(0);
  const auto w = node.TypeOf(1);
  const auto y = node.OutputParameters();
  if (!x.has_value() || !w.has_value() || !y.has_value()) return false;
  const bool plain = node.Int("transA") == 0 && node.Int("transB") != 0 &&
                     node.Float("alpha") == 1 && node.Float("beta") == 1;
  if (!plain || (*x)->elem_type != format::ElementType::kFloat ||
      y->elem_type != format::ElementType::kFloat ||
      (*w)->elem_type != format::ElementType::kInt8Q) {
    return false;
  }
  const auto parameters = PerTensorOf(**w);
  return parameters.has_value() && parameters->offset == 0;
}

std::unique_ptr<Step> MakeHybrid(const NodePlan& node, const MatrixShape& shape, const Sum& sum,
                                 Value* y, std::unique_ptr<Step> general) {
  return std::make_unique<Hybrid>(node, shape, sum, y, std::move(general));
}

}  // namespace qtx::backend::engine
