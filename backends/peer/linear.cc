#include "peer/linear.h"

#include <algorithm>

namespace qtx::backend::peer {
namespace {

using format::ElementType;

Result<void> CheckTypes(const Reader& node, const Value& x, const Value& w, const Value& y) {
  if (!x.is_byte() || !w.is_byte()) {
    return node.Unsupported(std::string(format::Name(x.type())) + " by " +
                            std::string(format::Name(w.type())));
  }
  if (!x.per_tensor()) return node.Unsupported("the input has several scales");
  if (!y.is_byte() && !y.is_float() && y.type() != ElementType::kInt32Q) {
    return node.Unsupported("a result of type " + std::string(format::Name(y.type())));
  }
  if (!y.is_float() && !y.per_tensor()) return node.Unsupported("the result has several scales");
  return {};
}

Result<void> ReadWeights(const Reader& node, const Value& w, std::int64_t axis, Linear& linear) {
  const format::Quantization& q = *w.tensor.quantization;
  const bool whole_channels = q.axis == std::vector<std::int64_t>{axis} &&
                              std::ranges::all_of(q.block_shape, [](auto b) { return b == 1; });
  if (!w.per_tensor() && !whole_channels) return node.Unsupported("the weights' granularity");
  linear.weight_scales = q.scale;
  linear.weight_offset = OffsetAt(q, 0);
  const bool one = std::ranges::all_of(q.offset, [&](auto o) { return o == linear.weight_offset; });
  if (!one) return node.Unsupported("the weights have several offsets");
  return {};
}

Result<void> ReadBias(const Reader& node, const Value& x, const Value& b, Linear& linear) {
  if (!b.constant) return node.Unsupported("the bias is not constant");
  const auto at = [](const std::vector<float>& v, std::size_t i) {
    return v[v.size() == 1 ? 0 : i];
  };
  const std::vector<float> reals = b.Reals();
  const auto& q = b.tensor.quantization;
  bool stored = b.type() == ElementType::kInt32Q && q->offset.empty();
  for (std::size_t i = 0; stored && i < reals.size(); ++i) {
    stored = at(q->scale, i) == x.scale() * at(linear.weight_scales, i);
  }
  if (stored) {
    linear.bias = format::UnpackInt32(b.tensor);
    return {};
  }
  for (std::size_t i = 0; i < reals.size(); ++i) {
    linear.real_bias.push_back(reals[i] / (x.scale() * at(linear.weight_scales, i)));
  }
  return {};
}

}  // namespace

Result<Linear> LinearOf(const Reader& node, const Value& x, const Value& w, const Value* b,
                        const Value& y, std::int64_t channel_axis) {
  QTX_RETURN_IF_ERROR(CheckTypes(node, x, w, y));
  Linear linear;
  QTX_RETURN_IF_ERROR(ReadWeights(node, w, channel_axis, linear));
  if (b != nullptr) {
    const bool fits = b->rank() == 1 || (b->rank() == 2 && b->dims()[0] == 1);
    if (!fits) return node.Unsupported("a bias of shape " + format::ToString(b->dims()));
    QTX_RETURN_IF_ERROR(ReadBias(node, x, *b, linear));
  }
  for (const float w_scale : linear.weight_scales) {
    const float product = x.scale() * w_scale;
    linear.scales.push_back(y.is_float() ? product : product / y.scale());
  }
  return linear;
}

}  // namespace qtx::backend::peer
