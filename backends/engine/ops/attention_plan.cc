#include <utility>

#include "engine/ops/attention.h"
#include "engine/ops/indexing.h"
#include "engine/ops/types.h"

namespace qtx::backend::engine {
namespace {

using format::Dims;
using format::ElementType;

constexpr double kMostProducts = 1 << 28;

void ReadAttributes(const NodePlan& node, AttentionPlan& plan) {
  plan.mode = node.Int("qk_matmul_output_mode");
  plan.causal = node.Int("is_causal") == 1;
  plan.softcap = mpq_class(node.Float("softcap"));
  if (node.HasAttribute("scale")) plan.scale = mpq_class(node.Float("scale"));
}

struct View {
  std::int64_t batch, heads, length, size;
};
// Heads of a tensor: axis 1, or what the attribute says.
View ViewOf(const NodePlan& node, const char* name, const Dims& dims) {
  if (dims.size() == 4) return View{dims[0], dims[1], dims[2], dims[3]};
  const std::int64_t heads = node.Int(name);
  return View{dims[0], heads, dims[1], dims[2] / heads};
}

void ReadShape(const NodePlan& node, AttentionPlan& plan) {
  plan.packed = plan.q->tensor.dims.size() == 3;
  const View query = ViewOf(node, "q_num_heads", plan.q->tensor.dims);
  const View key = ViewOf(node, "kv_num_heads", plan.k->tensor.dims);
  const View value = ViewOf(node, "kv_num_heads", plan.v->tensor.dims);
  plan.batch = query.batch;
  plan.query_heads = query.heads;
  plan.heads = key.heads;
  plan.queries = query.length;
  plan.keys = key.length;
  plan.size = query.size;
  plan.value_size = value.size;
}

Result<void> ReadPast(const NodePlan& node, AttentionPlan& plan) {
  if (node.HasInput(6)) {
    QTX_ASSIGN_OR_RETURN(plan.lengths, node.Input(6));
  }
  if (!node.HasInput(4)) return {};
  QTX_ASSIGN_OR_RETURN(plan.past_key, node.Input(4));
  QTX_ASSIGN_OR_RETURN(plan.past_value, node.Input(5));
  plan.past = plan.past_key->tensor.dims[2];
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
  ReadAttributes(node, plan);
  QTX_ASSIGN_OR_RETURN(plan.q, node.Input(0));
  QTX_ASSIGN_OR_RETURN(plan.k, node.Input(1));
  QTX_ASSIGN_OR_RETURN(plan.v, node.Input(2));
  ReadShape(node, plan);
  QTX_RETURN_IF_ERROR(ReadPast(node, plan));
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
