// XNNPACK's FULLY_CONNECTED and CONV_2D of FLOAT by 8-bit weights: x is quantized as it comes.
// Source: xnnpack.S9.
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

using format::ElementType;
using format::Tensor;
using std::int64_t;

// How the values of one range are quantized.
struct Steps {
  float per_unit = 1;
  int64_t zero = 0;

  int64_t CodeOf(float value) const {
    const auto rounded = static_cast<int64_t>(RoundFloat(value * per_unit, TieRule::kHalfEven));
    return std::clamp<int64_t>(rounded + zero, -128, 127);
  }
  float RealOf(int64_t sum, float w_scale, float bias) const {
    return std::fma(static_cast<float>(sum) * (1.0F / per_unit), w_scale, bias);
  }
};

Steps StepsOf(float least, float greatest) {
  Steps steps;
  if (least != greatest) steps.per_unit = 255.0F / (greatest - least);
  const float below = least * steps.per_unit, above = greatest * steps.per_unit;
  const float edge = (below - 128.0F) + (above + 127.0F) > 0 ? -128.0F - below : 127.0F - above;
  steps.zero =
      static_cast<int64_t>(RoundFloat(std::clamp(edge, -128.0F, 127.0F), TieRule::kHalfEven));
  return steps;
}

// Rows of `depth` values in x, each with `outputs` results: where they begin and how far apart
// neighbours are.
struct Place {
  int64_t x = 0, y = 0;
};
struct Rows {
  int64_t depth = 0, outputs = 0;
  int64_t x_stride = 1, y_stride = 1;
  int64_t w_depth_stride = 1, w_output_stride = 1;
  std::vector<Place> places;
};

class Dynamic {
 public:
  explicit Dynamic(const Call& call) : call_(call), x_(call.Input(0)), w_(call.Input(1)) {}

  bool Applies() const {
    const bool conv = call_.node.op_type == "Conv";
    if (!StandsFor(call_.node, conv ? "CONV_2D" : "FULLY_CONNECTED") || !HasTypes(conv)) {
      return false;
    }
    if (!std::ranges::all_of(x_->As<float>(), IsInRange)) return false;
    if (conv) {
      return x_->dims.size() == 4 && call_.Int("group") == 1 &&
             w_->quantization->scale.size() > 1 && HasOneScaleFor(*w_, 0);
    }
    if (call_.node.op_type == "MatMul") {
      return w_->dims.size() == 2 && (HasOneScale(*w_) || HasOneScaleFor(*w_, 1));
    }
    return call_.Int("transA") == 0 && call_.Int("transB") == 1 &&
           !format::IsScaledGemm(call_.node) && (HasOneScale(*w_) || HasOneScaleFor(*w_, 0));
  }

  Result<Tensor> Run() const {
    QTX_ASSIGN_OR_RETURN(Output y, Output::Of(call_));
    if (call_.node.op_type == "Conv" && !IsPointwise()) {
      QTX_RETURN_IF_ERROR(PutImages(&y));
    } else {
      PutRows(RowsOf(y), &y);
    }
    return y.Take();
  }

 private:
  bool HasTypes(bool conv) const {
    if (x_ == nullptr || w_ == nullptr || call_.outputs.empty() || !w_->quantization ||
        !call_.IsInitializer(1) || format::ElementCount(*x_) == 0) {
      return false;
    }
    const Tensor* bias = call_.Input(2);
    const bool narrow =
        w_->elem_type == ElementType::kInt8Q || (w_->elem_type == ElementType::kInt4Q && !conv);
    return x_->elem_type == ElementType::kFloat &&
           call_.outputs[0].elem_type == ElementType::kFloat && narrow &&
           format::HasIntegerForm(*w_->quantization) && !HasOffset(*w_) && !HasHalfReals(*w_) &&
           (bias == nullptr ||
            (bias->elem_type == ElementType::kFloat && bias->dims == format::Dims{w_->dims[0]}));
  }

  // Its window is one pixel, wherever it is.
  bool IsPointwise() const {
    const format::Attributes attributes(call_.node);
    const auto is_one = [](int64_t size) { return size == 1; };
    const auto strides = attributes.Ints("strides");
    const auto pads = attributes.Ints("pads");
    const bool padded = attributes.String("auto_pad") == "NOTSET" &&
                        std::ranges::any_of(pads, [](int64_t pad) { return pad != 0; });
    return std::all_of(w_->dims.begin() + 2, w_->dims.end(), is_one) &&
           std::ranges::all_of(strides, is_one) && !padded;
  }

  float ScaleOf(int64_t output) const {
    const std::vector<float>& scale = w_->quantization->scale;
    return scale[scale.size() == 1 ? 0 : static_cast<std::size_t>(output)];
  }
  float BiasOf(int64_t output) const {
    const Tensor* bias = call_.Input(2);
    return bias == nullptr ? 0.0F : bias->As<float>()[static_cast<std::size_t>(output)];
  }

  Rows RowsOf(const Output& y) const {
    Rows rows;
    const int64_t count = format::ElementCount(y.tensor());
    if (call_.node.op_type == "Conv") {
      const int64_t pixels = x_->dims[2] * x_->dims[3];
      rows = {w_->dims[1], w_->dims[0], pixels, pixels, 1, w_->dims[1], {}};
      for (int64_t n = 0; n < x_->dims[0]; ++n) {
        for (int64_t p = 0; p < pixels; ++p) {
          rows.places.push_back({n * rows.depth * pixels + p, n * rows.outputs * pixels + p});
        }
      }
      return rows;
    }
    const bool transposed = call_.node.op_type == "Gemm";
    rows.depth = w_->dims[transposed ? 1 : 0];
    rows.outputs = w_->dims[transposed ? 0 : 1];
    rows.w_depth_stride = transposed ? 1 : rows.outputs;
    rows.w_output_stride = transposed ? rows.depth : 1;
    const int64_t lines = rows.outputs == 0 ? 0 : count / rows.outputs;
    for (int64_t i = 0; i < lines; ++i) {
      rows.places.push_back({i * rows.depth, i * rows.outputs});
    }
    return rows;
  }

  void PutRows(const Rows& rows, Output* y) const {
    const std::span<const float> x = x_->As<float>();
    const std::vector<std::int32_t> weights = format::UnpackInt32(*w_);
    const auto depth = static_cast<std::size_t>(rows.depth);
    std::vector<float> row(depth);
    std::vector<int64_t> codes(depth);  // less the zero point
    for (const Place& place : rows.places) {
      for (std::size_t k = 0; k < depth; ++k) {
        row[k] = x[static_cast<std::size_t>(place.x + static_cast<int64_t>(k) * rows.x_stride)];
      }
      const auto [least, greatest] = std::ranges::minmax(row);
      const Steps steps = StepsOf(std::min(least, 0.0F), std::max(greatest, 0.0F));
      for (std::size_t k = 0; k < depth; ++k) codes[k] = steps.CodeOf(row[k]) - steps.zero;
      for (int64_t o = 0; o < rows.outputs; ++o) {
        int64_t sum = 0;
        for (std::size_t k = 0; k < depth; ++k) {
          const int64_t w =
              o * rows.w_output_stride + static_cast<int64_t>(k) * rows.w_depth_stride;
          sum += codes[k] * weights[static_cast<std::size_t>(w)];
        }
        y->PutFloat(place.y + o * rows.y_stride, steps.RealOf(sum, ScaleOf(o), BiasOf(o)));
      }
    }
  }

  // The sums of an image are those of a ConvInteger.
  Result<void> PutImages(Output* y) const {
    const std::span<const float> x = x_->As<float>();
    const auto size = static_cast<std::size_t>(format::ElementCount(*x_) / x_->dims[0]);
    const int64_t results = format::ElementCount(y->tensor()) / x_->dims[0];
    const int64_t positions = results / w_->dims[0];
    for (int64_t n = 0; n < x_->dims[0]; ++n) {
      const auto image = x.subspan(static_cast<std::size_t>(n) * size, size);
      const auto [least, greatest] = std::ranges::minmax(image);
      const Steps steps = StepsOf(std::min(least, 0.0F), std::max(greatest, 0.0F));
      QTX_ASSIGN_OR_RETURN(const Tensor sums, Sums(image, steps));
      const std::span<const std::int32_t> values = sums.As<std::int32_t>();
      for (int64_t i = 0; i < results; ++i) {
        const int64_t m = i / positions;
        y->PutFloat(n * results + i,
                    steps.RealOf(values[static_cast<std::size_t>(i)], ScaleOf(m), BiasOf(m)));
      }
    }
    return {};
  }

  Result<Tensor> Sums(std::span<const float> image, const Steps& steps) const {
    std::vector<std::int32_t> codes;
    for (const float value : image) codes.push_back(static_cast<std::int32_t>(steps.CodeOf(value)));
    return SumsOfImage(call_, codes, steps.zero);
  }

  const Call& call_;
  const Tensor* x_;
  const Tensor* w_;
};

}  // namespace

Result<std::optional<Tensor>> RunXnnpackDynamic(const Call& call) {
  const Dynamic dynamic(call);
  if (!dynamic.Applies()) return std::optional<Tensor>();
  QTX_ASSIGN_OR_RETURN(Tensor y, dynamic.Run());
  return std::optional(std::move(y));
}

}  // namespace qtx::reference
