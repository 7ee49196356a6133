#include "peer/linear.h"

#include <algorithm>
#include <cmath>

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
  const std::vector<double> stored = format::StoredValues(b.tensor);
  const auto& q = b.tensor.quantization;
  bool same_scale = true;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const float product = x.scale() * at(linear.weight_scales, i);
    const auto parameter = static_cast<std::int64_t>(q && q->scale.size() > 1 ? i : 0);
    const double scale = q ? ScaleAt(*q, parameter) : 1;
    const double integer = stored[i] - (q ? OffsetAt(*q, parameter) : 0);
    same_scale = same_scale && static_cast<float>(scale) == product;
    const double at_scale = integer * scale / static_cast<double>(product);
    if (!(std::abs(at_scale) < 0x1p31)) return node.Unsupported("a bias beyond 32 bits");
    linear.bias.push_back(static_cast<std::int32_t>(std::nearbyint(at_scale)));
    linear.real_bias.push_back(static_cast<float>(at_scale));
  }
  if (same_scale) linear.real_bias.clear();
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
