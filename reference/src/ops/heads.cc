#include "ops/heads.h"

#include <string>

namespace qtx::reference {

using format::Dims;
using format::ElementType;

namespace {

constexpr std::int64_t kMaxProducts = std::int64_t{1} << 24;  // seconds of work

// Input `i` as heads, their number given by attribute `name` when it is flat.
// Source: attention.S1.
Heads HeadsOf(const Call& call, std::size_t i, const char* name) {
  const Dims& dims = call.inputs[i]->dims;
  if (dims.size() == 4) return Heads{dims[0], dims[1], dims[2], dims[3], false};
  const std::int64_t count = call.Int(name);
  return Heads{dims[0], count, dims[1], dims[2] / count, true};
}

// Input `i`, absent or of the shape of `now` but for its length.
Heads PastOf(const Call& call, std::size_t i, const Heads& now) {
  const std::int64_t length = call.Input(i) == nullptr ? 0 : call.inputs[i]->dims[2];
  return {now.batch, now.count, length, now.size, false};
}

Result<void> CheckWork(const Call& call, const Geometry& g) {
  const bool shares = call.Wants(kScores) && call.Int("qk_matmul_output_mode") == 3;
  std::int64_t products = 1;
  for (const std::int64_t size : {g.q.batch, g.q.count, g.q.length, g.total(),
                                  g.q.size + g.v.size + (shares ? g.total() : 0)}) {
    if (size > 0 && products > kMaxProducts / size) {
      return Error{ErrorCode::kTooLarge, InputName(call, 0),
                   "needs more than " + std::to_string(kMaxProducts) + " products"};
    }
    products *= size;
  }
  return {};
}

}  // namespace

Result<Geometry> GeometryOf(const Call& call) {
  Geometry g;
  g.q = HeadsOf(call, 0, "q_num_heads");
  g.k = HeadsOf(call, 1, "kv_num_heads");
  g.v = HeadsOf(call, 2, "kv_num_heads");
  g.past_k = PastOf(call, kPastKey, g.k);
  g.past_v = PastOf(call, kPastValue, g.v);
  QTX_RETURN_IF_ERROR(CheckWork(call, g));
  return g;
}

// Source: attention.S4.
Result<void> Masks::SetMask(const Call& call) {
  const format::Tensor* mask = call.Input(kMask);
  if (mask == nullptr) return {};
  Dims dims = g_.ScoreDims();
  if (call.opset >= 24 && !mask->dims.empty()) dims[3] = std::min(dims[3], mask->dims.back());
  if (mask->elem_type == ElementType::kBool) {
    allowed_ = IntegersAt(call, kMask);
  } else {
    QTX_ASSIGN_OR_RETURN(bias_, OperandAt(call, kMask));
  }
  width_ = dims[3];
  elements_ = BroadcastIndices(mask->dims, dims);
  return {};
}

Result<Masks> Masks::Make(const Call& call, const Geometry& g) {
  Masks masks;
  masks.g_ = g;
  masks.causal_ = call.Int("is_causal") == 1;
  QTX_RETURN_IF_ERROR(masks.SetMask(call));
  if (call.Input(kNonpad) != nullptr) masks.lengths_ = IntegersAt(call, kNonpad);
  return masks;
}

std::vector<Visibility> Masks::Row(std::int64_t b, std::int64_t h, std::int64_t i) const {
  const std::int64_t total = g_.total();
  const std::int64_t length = lengths_.empty() ? total : lengths_[static_cast<std::size_t>(b)];
  const std::int64_t before = lengths_.empty() ? g_.past() : length - g_.q.length;
  const bool has_mask = !allowed_.empty() || bias_.has_value();
  std::vector<Visibility> row(static_cast<std::size_t>(total));
  for (std::int64_t j = 0; j < total; ++j) {
    Visibility& visible = row[static_cast<std::size_t>(j)];
    visible.masked = j >= length || (causal_ && j > i + before) || (has_mask && j >= width_);
    if (visible.masked || !has_mask) continue;
    const std::int64_t at = ((b * g_.q.count + h) * g_.q.length + i) * width_ + j;
    const std::int64_t element = elements_[static_cast<std::size_t>(at)];
    if (bias_) {
      visible.bias = element;
    } else {
      visible.masked = allowed_[static_cast<std::size_t>(element)] == 0;
    }
  }
  return row;
}

}  // namespace qtx::reference
