// LiteRT's CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED of FLOAT by int8 weights ("hybrid"): x is
// quantized as it comes.  Source: tflite_float64.S7, tflite_half_up.S7.
#include <algorithm>
#include <cmath>
#include <vector>

#include "arithmetic/dynamic_input.h"
#include "arithmetic/kernel_types.h"
#include "arithmetic/round.h"
#include "arithmetic/tflite_kernels.h"
#include "qtx/format/accumulator.h"
#include "qtx/format/attributes.h"
#include "qtx/format/levels.h"

namespace qtx::reference {
namespace {

using format::Dims;
using format::ElementType;
using format::Tensor;
using std::int64_t;

enum class HybridKernel { kNone, kConv, kDepthwise, kConnected };

HybridKernel HybridKernelOf(const format::Node& node) {
  if (node.op_type == "Conv") {
    if (StandsFor(node, "CONV_2D")) return HybridKernel::kConv;
    return StandsFor(node, "DEPTHWISE_CONV_2D") ? HybridKernel::kDepthwise : HybridKernel::kNone;
  }
  return StandsFor(node, "FULLY_CONNECTED") ? HybridKernel::kConnected : HybridKernel::kNone;
}

// How the values of a row or an image are quantized.
struct InputSteps {
  float unit = 1, per_unit = 1;
  int64_t zero = 0, least = -128;

  // `blocked`: in a whole block of 8.
  int64_t CodeOf(float value, bool blocked) const {
    const float v = value * per_unit;
    const float whole = blocked ? std::trunc(v + std::copysign(0.5F, v)) : std::round(v);
    return std::clamp<int64_t>(static_cast<int64_t>(whole) + zero, least, 127);
  }
};

InputSteps Asymmetric(float least, float greatest) {
  InputSteps steps;
  if (least == greatest) return steps;
  const double scale = static_cast<double>(greatest - least) / 255;
  const double below = static_cast<double>(least) / scale;
  const double above = static_cast<double>(greatest) / scale;
  const bool from_least = 128 + std::abs(below) < 127 + std::abs(above);
  const double zero = std::clamp(from_least ? -128 - below : 127 - above, -128.0, 127.0);
  steps.zero = static_cast<int64_t>(RoundFloat(zero, TieRule::kHalfAway));
  steps.unit = static_cast<float>(scale);
  steps.per_unit = 1.0F / steps.unit;
  return steps;
}

InputSteps Symmetric(float magnitude) {
  InputSteps steps{.least = -127};
  if (magnitude == 0) return steps;
  steps.unit = magnitude / 127.0F;
  steps.per_unit = 127.0F / magnitude;
  return steps;
}

class Hybrid {
 public:
  explicit Hybrid(const Call& call)
      : call_(call), x_(call.Input(0)), w_(call.Input(1)), kernel_(HybridKernelOf(call.node)) {}

  bool Applies() const {
    if (kernel_ == HybridKernel::kNone || !HasTypes() ||
        !std::ranges::all_of(x_->As<float>(), IsInRange)) {
      return false;
    }
    const bool one = HasOneScale(*w_);
    if (kernel_ == HybridKernel::kConv) {
      return x_->dims.size() == 4 && call_.Int("group") == 1 && (one || HasOneScaleFor(*w_, 0));
    }
    if (kernel_ == HybridKernel::kDepthwise) {
      return x_->dims.size() == 4 && w_->dims[1] == 1 && x_->dims[1] == call_.Int("group") &&
             (one ? w_->dims[0] == 1 : HasOneScaleFor(*w_, 0));
    }
    if (one) return false;
    if (call_.node.op_type == "MatMul") return w_->dims.size() == 2 && HasOneScaleFor(*w_, 1);
    return call_.node.op_type == "Gemm" && call_.Int("transA") == 0 && call_.Int("transB") == 1 &&
           !format::IsScaledGemm(call_.node) && HasOneScaleFor(*w_, 0);
  }

  Result<Tensor> Run() const {
    QTX_ASSIGN_OR_RETURN(Output y, Output::Of(call_));
    if (kernel_ == HybridKernel::kConnected) {
      PutRows(&y);
    } else {
      QTX_RETURN_IF_ERROR(PutImages(&y));
    }
    return y.Take();
  }

 private:
  bool HasTypes() const {
    if (x_ == nullptr || w_ == nullptr || call_.outputs.empty() || !w_->quantization ||
        !call_.IsInitializer(1) || format::ElementCount(*x_) == 0) {
      return false;
    }
    const Tensor* bias = call_.Input(2);
    return x_->elem_type == ElementType::kFloat &&
           call_.outputs[0].elem_type == ElementType::kFloat &&
           w_->elem_type == ElementType::kInt8Q && format::HasIntegerForm(*w_->quantization) &&
           !HasOffset(*w_) && !HasHalfReals(*w_) &&
           (bias == nullptr ||
            (bias->elem_type == ElementType::kFloat && bias->dims == Dims{w_->dims[0]}));
  }

  // The product of a sum of channel m by both scales, in the order of the kernel.
  float Product(float a, float unit, float scale, int64_t m) const {
    if (call_.arithmetic.litert == Arithmetic::LiteRt::kReference) {
      const bool in_turn = kernel_ == HybridKernel::kConv && !HasOneScale(*w_);
      return in_turn ? a * scale * unit : a * (unit * scale);
    }
    if (kernel_ != HybridKernel::kDepthwise) return a * (unit * scale);
    return m < w_->dims[0] / 4 * 4 ? a * scale * unit : a * unit * scale;
  }

  // A sum of channel m, with its bias.
  float RealOf(std::int32_t sum, const InputSteps& steps, int64_t m) const {
    const auto channel = static_cast<std::size_t>(m);
    const std::vector<float>& scales = w_->quantization->scale;
    const float scale = scales[scales.size() == 1 ? 0 : channel];
    const Tensor* bias = call_.Input(2);
    return Product(static_cast<float>(sum), steps.unit, scale, m) +
           (bias == nullptr ? 0.0F : bias->As<float>()[channel]);
  }

  void PutRows(Output* y) const {
    const bool transposed = call_.node.op_type == "Gemm";
    const int64_t depth = w_->dims[transposed ? 1 : 0], outputs = w_->dims[transposed ? 0 : 1];
    const int64_t w_depth = transposed ? 1 : outputs, w_output = transposed ? depth : 1;
    const int64_t lines = outputs == 0 ? 0 : format::ElementCount(y->tensor()) / outputs;
    const std::vector<std::int32_t> weights = format::UnpackInt32(*w_);
    for (int64_t i = 0; i < lines; ++i) {
      const auto row = x_->As<float>().subspan(static_cast<std::size_t>(i * depth),
                                               static_cast<std::size_t>(depth));
      const auto [least, greatest] = std::ranges::minmax(row);
      const InputSteps steps = Asymmetric(std::min(least, 0.0F), std::max(greatest, 0.0F));
      for (int64_t o = 0; o < outputs; ++o) {
        int64_t sum = 0;
        for (int64_t k = 0; k < depth; ++k) {
          const int64_t code =
              steps.CodeOf(row[static_cast<std::size_t>(k)], k < depth / 8 * 8) - steps.zero;
          sum += code * weights[static_cast<std::size_t>(o * w_output + k * w_depth)];
        }
        y->PutFloat(i * outputs + o, RealOf(static_cast<std::int32_t>(sum), steps, o));
      }
    }
  }

  InputSteps StepsOf(std::span<const float> image) const {
    const auto [low, high] = std::ranges::minmax(image);
    const float least = std::min(low, 0.0F), greatest = std::max(high, 0.0F);
    return kernel_ == HybridKernel::kConv && HasOneScale(*w_)
               ? Symmetric(std::max(-least, greatest))
               : Asymmetric(least, greatest);
  }

  Result<void> PutImages(Output* y) const {
    const auto size = static_cast<std::size_t>(format::ElementCount(*x_) / x_->dims[0]);
    const int64_t results = format::ElementCount(y->tensor()) / x_->dims[0];
    const int64_t positions = results / w_->dims[0];
    for (int64_t n = 0; n < x_->dims[0]; ++n) {
      const auto image = x_->As<float>().subspan(static_cast<std::size_t>(n) * size, size);
      const InputSteps steps = StepsOf(image);
      QTX_ASSIGN_OR_RETURN(const Tensor sums, Sums(image, steps));
      const std::span<const std::int32_t> values = sums.As<std::int32_t>();
      for (int64_t i = 0; i < results; ++i) {
        y->PutFloat(n * results + i,
                    RealOf(values[static_cast<std::size_t>(i)], steps, i / positions));
      }
    }
    return {};
  }

  Result<Tensor> Sums(std::span<const float> image, const InputSteps& steps) const {
    const int64_t channels = x_->dims[1], size = std::ssize(image), pixels = size / channels;
    std::vector<std::int32_t> codes;
    for (int64_t i = 0; i < size; ++i) {
      const int64_t place = i % pixels * channels + i / pixels;  // in [H, W, C]
      codes.push_back(static_cast<std::int32_t>(
          steps.CodeOf(image[static_cast<std::size_t>(i)], place < size / 8 * 8)));
    }
    return SumsOfImage(call_, codes, steps.zero);
  }

  const Call& call_;
  const Tensor* x_;
  const Tensor* w_;
  HybridKernel kernel_;
};

}  // namespace

Result<std::optional<Tensor>> RunLiteRtHybrid(const Call& call) {
  if (call.arithmetic.litert == Arithmetic::LiteRt::kNone) return std::optional<Tensor>();
  const Hybrid hybrid(call);
  if (!hybrid.Applies()) return std::optional<Tensor>();
  QTX_ASSIGN_OR_RETURN(Tensor y, hybrid.Run());
  return std::optional(std::move(y));
}

}  // namespace qtx::reference
