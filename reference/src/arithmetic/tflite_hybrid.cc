// FULLY_CONNECTED of FLOAT by 8-bit weights ("hybrid").
#include <algorithm>
#include <cmath>
#include <vector>

#include "arithmetic/kernel_types.h"
#include "arithmetic/tflite_kernels.h"

namespace qtx::reference {
namespace {

using std::int64_t;

// Weights [outputs, inputs]; x finite.
bool IsHybrid(const Call& call) {
  const format::Tensor* x = call.Input(0);
  const format::Tensor* w = call.Input(1);
  const format::Tensor* bias = call.Input(2);
  if (x == nullptr || w == nullptr || call.outputs.empty()) return false;
  const std::optional<ValueType> bias_type = bias == nullptr ? std::optional<ValueType>() : *bias;
  if (!HasHybridKernel(call.node, *x, *w, bias_type ? &*bias_type : nullptr, call.outputs[0])) {
    return false;
  }
  return x->dims.size() == 2 && w->dims.size() == 2 && x->dims[1] == w->dims[1] &&
         (bias == nullptr || bias->dims == format::Dims{w->dims[0]}) &&
         std::ranges::all_of(x->As<float>(), [](float value) { return std::isfinite(value); });
}

// A row of x as integers of at most 127 in magnitude, and their scale.
float QuantizeRow(std::span<const float> row, std::vector<int64_t>* integers) {
  float range = 0;
  for (const float value : row) range = std::max(range, std::abs(value));
  integers->assign(row.size(), 0);
  if (range == 0) return 1;
  const float inverse = 127.0F / range;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i] == 0) continue;  // `inverse` may be infinite
    (*integers)[i] =
        static_cast<int64_t>(std::clamp(std::round(row[i] * inverse), -127.0F, 127.0F));
  }
  return range / 127.0F;
}

}  // namespace

// Source: LiteRT f674577 kernels/fully_connected.cc EvalHybrid, kernels/internal/reference/
// portable_tensor_utils.cc.
Result<std::optional<format::Tensor>> RunTfliteHybrid(const Call& call) {
  if (!IsHybrid(call)) return std::optional<format::Tensor>();
  const std::span<const float> x = call.Input(0)->As<float>();
  const format::Tensor& w = *call.Input(1);
  const int64_t inputs = w.dims[1], outputs = w.dims[0];
  QTX_ASSIGN_OR_RETURN(Output y, Output::Make(call, {call.Input(0)->dims[0], outputs}));
  const std::vector<std::int32_t> weights = format::UnpackInt32(w);
  std::vector<int64_t> row;
  for (int64_t b = 0; b < call.Input(0)->dims[0]; ++b) {
    const float range = QuantizeRow(
        x.subspan(static_cast<std::size_t>(b * inputs), static_cast<std::size_t>(inputs)), &row);
    const float scale = range * w.quantization->scale[0];
    for (int64_t o = 0; o < outputs; ++o) {
      int64_t dot = 0;
      for (int64_t i = 0; i < inputs; ++i) {
        dot += row[static_cast<std::size_t>(i)] * weights[static_cast<std::size_t>(o * inputs + i)];
      }
      const float bias =
          call.Input(2) == nullptr ? 0.0F : call.Input(2)->As<float>()[static_cast<std::size_t>(o)];
      y.PutFloat(b * outputs + o, bias + static_cast<float>(dot) * scale);
    }
  }
  return std::optional(y.Take());
}

}  // namespace qtx::reference
