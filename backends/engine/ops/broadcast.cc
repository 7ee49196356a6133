#include "engine/ops/broadcast.h"

#include <numeric>

#include "engine/transpose.h"

namespace qtx::backend::engine {

Broadcast::Broadcast(const format::Dims& from, Layout from_layout, const format::Dims& to,
                     Layout to_layout) {
  const format::Dims own = StridesOf(from, from_layout);
  format::Dims strides(to.size(), 0);
  const std::size_t skipped = to.size() - from.size();
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (from[d] != 1) strides[skipped + d] = own[d];
  }
  std::vector<std::size_t> order(to.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (to_layout == Layout::kChannelsLast && to.size() > 2) {
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  }
  axes_.clear();
  for (const std::size_t d : order) {
    if (to[d] == 1) continue;
    Axis* outer = axes_.empty() ? nullptr : &axes_.back();
    if (outer != nullptr && outer->stride == to[d] * strides[d]) {
      *outer = {outer->count * to[d], strides[d]};
    } else {
      axes_.push_back({to[d], strides[d]});
    }
  }
  if (axes_.empty()) axes_.push_back({1, 1});
  in_order_ = axes_.size() == 1 && axes_[0].stride == 1;
}

}  // namespace qtx::backend::engine
