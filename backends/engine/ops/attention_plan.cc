#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "engine/ops/attention.h"
#include "engine/ops/indexing.h"
#include "engine/ops/types.h"

namespace qtx::backend::engine {
namespace {

using format::Dims;
using format::ElementType;

constexpr double kMostProducts = 1 << 28;

Result<void> ReadAttributes(const NodePlan& node, AttentionPlan& plan) {
  const std::int64_t causal = node.node().IntOr("is_causal", 0);
  plan.mode = node.node().IntOr("qk_matmul_output_mode", 0);
  const float softcap = node.node().FloatOr("softcap", 0);
  const float scale = node.node().FloatOr("scale", 0);
  const std::array<std::int64_t, 4> precisions{1, 10, 11, 16};
  const std::int64_t precision = node.node().IntOr("softmax_precision", 1);
  const auto real = [](float value) { return std::isfinite(value) && value >= 0; };
  if ((causal != 0 && causal != 1) || plan.mode < 0 || plan.mode > 3 || !real(softcap) ||
      !real(scale) || std::ranges::find(precisions, precision) == precisions.end()) {
    return node.Invalid("an attribute is out of range");
  }
  plan.causal = causal == 1;
  plan.softcap = mpq_class(softcap);
  if (node.node().Find("scale") != nullptr) plan.scale = mpq_class(scale);
  return {};
}

// Heads of a tensor: axis 1, or what the attribute says.
Result<std::int64_t> HeadsOf(const NodePlan& node, const char* name, const Dims& dims) {
  const bool given = node.node().Find(name) != nullptr;
  const std::int64_t heads = node.node().IntOr(name, 0);
  if (given && heads < 1) return node.Invalid(std::string(name) + ": expected at least 1");
  if (dims.size() == 4) {
    if (given && heads != dims[1]) return node.Invalid(std::string(name) + " is not axis 1");
    return dims[1];
  }
  if (!given || dims[2] % heads != 0) {
    return node.Invalid(std::string(name) + " is absent or does not divide the last axis");
  }
  return heads;
}

struct View {
  std::int64_t batch, heads, length, size;
};
Result<View> ViewOf(const NodePlan& node, const char* name, const Dims& dims) {
  QTX_ASSIGN_OR_RETURN(const std::int64_t heads, HeadsOf(node, name, dims));
  if (heads == 0) return node.Invalid("there are no heads");
  if (dims.size() == 4) return View{dims[0], heads, dims[2], dims[3]};
  return View{dims[0], heads, dims[1], dims[2] / heads};
}

Result<void> ReadShape(const NodePlan& node, AttentionPlan& plan) {
  const Dims& q = plan.q->tensor.dims;
  const Dims& k = plan.k->tensor.dims;
  const Dims& v = plan.v->tensor.dims;
  plan.packed = q.size() == 3;
  if ((q.size() != 3 && q.size() != 4) || k.size() != q.size() || v.size() != q.size()) {
    return node.Invalid("Q, K and V are not all of rank 3 or all of rank 4");
  }
  QTX_ASSIGN_OR_RETURN(const View query, ViewOf(node, "q_num_heads", q));
  QTX_ASSIGN_OR_RETURN(const View key, ViewOf(node, "kv_num_heads", k));
  QTX_ASSIGN_OR_RETURN(const View value, ViewOf(node, "kv_num_heads", v));
  if (query.batch != key.batch || query.batch != value.batch || query.size != key.size ||
      key.length != value.length || key.heads != value.heads || query.heads % key.heads != 0) {
    return node.Invalid("Q, K and V do not fit each other");
  }
  if (query.size < 1 || value.size < 1) return node.Invalid("heads without elements");
  plan.batch = query.batch;
  plan.query_heads = query.heads;
  plan.heads = key.heads;
  plan.queries = query.length;
  plan.keys = key.length;
  plan.size = query.size;
  plan.value_size = value.size;
  return {};
}

Result<void> ReadPast(const NodePlan& node, AttentionPlan& plan) {
  if (node.HasInput(4) != node.HasInput(5)) return node.Invalid("only one past is given");
  if (!node.HasInput(4)) return {};
  QTX_ASSIGN_OR_RETURN(plan.past_key, node.Input(4));
  QTX_ASSIGN_OR_RETURN(plan.past_value, node.Input(5));
  const Dims& key = plan.past_key->tensor.dims;
  plan.past = key.size() == 4 ? key[2] : 0;
  if (key != Dims{plan.batch, plan.heads, plan.past, plan.size} ||
      plan.past_value->tensor.dims != Dims{plan.batch, plan.heads, plan.past, plan.value_size}) {
    return node.Invalid("past_key or past_value is of another shape");
  }
  return {};
}

Result<void> ReadLengths(const NodePlan& node, AttentionPlan& plan) {
  if (!node.HasInput(6)) return {};
  QTX_ASSIGN_OR_RETURN(plan.lengths, node.Input(6));
  if (plan.lengths->tensor.elem_type != ElementType::kInt64 ||
      plan.lengths->tensor.dims != Dims{plan.batch} || plan.past_key != nullptr) {
    return node.Invalid("nonpad_kv_seqlen is of another type or shape, or beside a past");
  }
  return {};
}

// From opset 24 on the mask's last axis is not broadcast: keys beyond it are hidden.
Result<void> ReadMask(const NodePlan& node, AttentionPlan& plan) {
  if (!node.HasInput(3)) return {};
  QTX_ASSIGN_OR_RETURN(plan.mask, node.Input(3));
  const Dims full{plan.batch, plan.query_heads, plan.queries, plan.total()};
  const Dims& own = plan.mask->tensor.dims;
  Dims seen = full;
  if (node.opset() >= 24 && !own.empty() && own.back() < full.back()) seen.back() = own.back();
  const auto both = BroadcastDims(own, seen);
  if (!both.has_value() || *both != seen) {
    return node.Invalid("attn_mask is " + format::ToString(own) + ", which does not broadcast to " +
                        format::ToString(full));
  }
  const auto index = BroadcastIndex(own, seen);
  const auto rows = static_cast<std::size_t>(plan.batch * plan.query_heads * plan.queries);
  const auto width = static_cast<std::size_t>(seen.back());
  for (std::size_t row = 0; row < rows; ++row) {
    const auto first = index.begin() + static_cast<std::ptrdiff_t>(row * width);
    plan.mask_index.insert(plan.mask_index.end(), first, first + seen.back());
    plan.mask_index.resize((row + 1) * static_cast<std::size_t>(full.back()), -1);
  }
  return {};
}

}  // namespace

Result<AttentionPlan> ReadAttention(const NodePlan& node) {
  AttentionPlan plan;
  QTX_RETURN_IF_ERROR(ReadAttributes(node, plan));
  QTX_ASSIGN_OR_RETURN(plan.q, node.Input(0));
  QTX_ASSIGN_OR_RETURN(plan.k, node.Input(1));
  QTX_ASSIGN_OR_RETURN(plan.v, node.Input(2));
  QTX_RETURN_IF_ERROR(ReadShape(node, plan));
  QTX_RETURN_IF_ERROR(ReadPast(node, plan));
  QTX_RETURN_IF_ERROR(ReadLengths(node, plan));
  const double products = static_cast<double>(plan.batch) * static_cast<double>(plan.query_heads) *
                          static_cast<double>(plan.queries) * static_cast<double>(plan.total()) *
                          static_cast<double>(plan.size + plan.value_size);
  if (products > kMostProducts) return node.Unsupported("more than 2^28 products");
  QTX_RETURN_IF_ERROR(ReadMask(node, plan));
  plan.scale_square = mpq_class(1, static_cast<unsigned long>(plan.size));
  if (!plan.scale.has_value()) plan.scale = RationalRoot(plan.scale_square, 2);
  return plan;
}

}  // namespace qtx::backend::engine
