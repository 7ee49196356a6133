#include "engine/weights.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

namespace qtx::backend::engine {
namespace {

using format::ElementType;

Result<void> CheckGranularity(const NodePlan& plan, const format::Tensor& tensor,
                              std::int64_t axis) {
  const format::Quantization& q = *tensor.quantization;
  if (q.axis.empty()) return {};
  const bool blocked = !q.block_shape.empty() && q.block_shape[0] != 1;
  if (q.axis.size() == 1 && !blocked) {
    auto normalized =
        format::NormalizeAxis(q.axis[0], static_cast<std::int64_t>(tensor.dims.size()));
    if (!normalized.has_value()) return plan.Because(normalized.error());
    if (*normalized == axis) return {};
  }
  return plan.Unsupported("weights quantized otherwise than per tensor or per axis " +
                          std::to_string(axis));
}

void AddBias(const format::Tensor& bias, float beta, std::vector<Channel>& channels) {
  const bool quantized = bias.elem_type == ElementType::kInt32Q;
  const auto reals = quantized ? std::span<const float>() : bias.As<float>();
  const auto stored = quantized ? bias.As<std::int32_t>() : std::span<const std::int32_t>();
  const bool broadcast = format::ElementCount(bias) == 1;
  for (std::size_t c = 0; c < channels.size(); ++c) {
    const std::size_t i = broadcast ? 0 : c;
    const auto parameter = static_cast<std::int64_t>(i);
    // The product of two binary32 is exact in binary64.
    channels[c].bias =
        quantized ? static_cast<double>(stored[i]) - format::OffsetAt(*bias.quantization, parameter)
                  : 1;
    channels[c].bias_scale =
        static_cast<double>(beta) *
        (quantized ? format::ScaleAt(*bias.quantization, parameter) : reals[i]);
  }
}

Result<void> CheckBias(const NodePlan& plan, const format::Tensor& bias, std::int64_t channels) {
  const std::int64_t count = format::ElementCount(bias);
  if (bias.elem_type != ElementType::kInt32Q && bias.elem_type != ElementType::kFloat) {
    return plan.Unsupported("bias of type " + std::string(format::Name(bias.elem_type)));
  }
  const bool along_last = !bias.dims.empty() && bias.dims.back() == channels && count == channels;
  if (count != 1 && !along_last) {
    return plan.Unsupported("bias of shape " + format::ToString(bias.dims));
  }
  if (bias.elem_type == ElementType::kFloat) {
    const bool finite =
        std::ranges::all_of(bias.As<float>(), [](float v) { return std::isfinite(v); });
    return finite ? Result<void>() : plan.Unsupported("bias is not finite");
  }
  const auto& q = *bias.quantization;
  const auto parameters = static_cast<std::int64_t>(q.scale.size());
  if (parameters != 1 && parameters != count) return plan.Unsupported("bias quantized in blocks");
  return {};
}

}  // namespace

OperandRange OperandRange::OfBytes(const PerTensor& type, const Kernels& kernels) {
  if (kernels.signed_bytes) return {-128, 127, type.offset};
  return {0, 255, type.offset};
}

OperandRange OperandRange::OfWidened(const PerTensor& type, const Kernels& kernels) {
  const OperandRange bytes = OfBytes(type, kernels);
  return {bytes.min - type.offset, bytes.max - type.offset, 0};
}

Result<PerTensor> SixteenBitInput(const NodePlan& plan, std::size_t i) {
  QTX_ASSIGN_OR_RETURN(const format::Tensor* type, plan.TypeOf(i));
  if (type->elem_type != ElementType::kInt16Q) {
    return plan.Unsupported("input '" + plan.node().inputs[i] + "' is " +
                            std::string(format::Name(type->elem_type)) + ", expected INT16Q");
  }
  auto parameters = PerTensorOf(*type);
  if (!parameters.has_value()) return plan.Because(parameters.error());
  if (parameters->offset != 0) return plan.Unsupported("a 16-bit input with an offset");
  return *parameters;
}

std::vector<std::int32_t> TakeIntegerBias(std::vector<Channel>& channels) {
  std::vector<std::int32_t> addend;
  for (Channel& channel : channels) {
    const bool taken = channel.bias_scale == channel.scale && channel.scale_low == 0 &&
                       std::fabs(channel.bias) < kLargestAddend &&
                       channel.bias == std::trunc(channel.bias);
    addend.push_back(taken ? static_cast<std::int32_t>(channel.bias) : 0);
    if (taken) channel.bias = channel.bias_scale = 0;
  }
  return addend;
}

bool PaysAsBytes(const Kernels& kernels, const PackedWeights<std::int8_t>& packed,
                 std::int64_t depth, std::int64_t columns, std::int64_t rows) {
  if (kernels.bytes.pair_limit == 0) return true;
  const std::int64_t panels = (columns + kernels.words.lanes - 1) / kernels.words.lanes;
  const std::int64_t words = (depth + kernels.words.group - 1) / kernels.words.group * panels;
  // A group of bytes takes three instructions and a group of words two, but words take twice the
  // memory, which dominates if few rows share the weights.
  constexpr std::int64_t kFewRows = 8;
  return rows < kFewRows ? packed.work() <= words : 7 * packed.work() <= 4 * words;
}

Result<Weights> LoadWeights(const NodePlan& plan, std::size_t i, std::int64_t channel_axis) {
  QTX_ASSIGN_OR_RETURN(const format::Tensor* tensor, plan.Constant(i));
  if (!format::IsQuantized(tensor->elem_type) || !format::IsIntegerStorage(tensor->elem_type) ||
      format::BitWidth(tensor->elem_type) > 8) {
    return plan.Unsupported("weights of type " + std::string(format::Name(tensor->elem_type)));
  }
  QTX_RETURN_IF_ERROR(CheckGranularity(plan, *tensor, channel_axis));
  const auto& q = *tensor->quantization;
  const format::ParameterMap parameter(q, tensor->dims);
  const format::IntegerRange storage = format::StorageRange(tensor->elem_type);
  for (const std::int32_t offset : q.offset) {
    if (offset < storage.min || offset > storage.max) {
      return plan.Unsupported("weights with an offset outside the storage's range");
    }
  }
  Weights weights;
  const std::vector<std::int32_t> stored = format::UnpackInt32(*tensor);
  weights.values.resize(stored.size());
  // Weights mostly have one offset, 0: finding each element's parameter would cost two divisions.
  const bool one_offset =
      std::ranges::adjacent_find(q.offset, std::not_equal_to()) == q.offset.end();
  for (std::size_t e = 0; e < stored.size(); ++e) {
    const std::int64_t p = one_offset ? 0 : parameter(static_cast<std::int64_t>(e));
    weights.values[e] = static_cast<std::int16_t>(stored[e] - format::OffsetAt(q, p));
  }
  const std::int64_t channels =
      channel_axis < 0 ? 1 : tensor->dims[static_cast<std::size_t>(channel_axis)];
  for (std::int64_t c = 0; c < channels; ++c) weights.scale.push_back(format::ScaleAt(q, c));
  return weights;
}

Result<std::vector<Channel>> MakeChannels(const NodePlan& plan, double x_scale,
                                          const Weights& weights, std::int64_t channels,
                                          std::size_t bias_input, float alpha, float beta) {
  std::vector<Channel> result(static_cast<std::size_t>(channels));
  for (std::size_t c = 0; c < result.size(); ++c) {
    // Two binary32 multiply exactly in binary64; the third factor leaves a rest, which fma gives
    // exactly.
    const double product = x_scale * weights.scale[c];
    result[c].scale = product * static_cast<double>(alpha);
    result[c].scale_low = std::fma(product, static_cast<double>(alpha), -result[c].scale);
  }
  if (!plan.HasInput(bias_input)) return result;
  QTX_ASSIGN_OR_RETURN(const format::Tensor* bias, plan.Constant(bias_input));
  QTX_RETURN_IF_ERROR(CheckBias(plan, *bias, channels));
  AddBias(*bias, beta, result);
  return result;
}

}  // namespace qtx::backend::engine
