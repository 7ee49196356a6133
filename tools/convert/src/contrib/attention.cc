// Attention with as many heads of keys as of queries.
// Source: ONNX Runtime 1.32, docs/ContribOperators.md; contrib_ops/cpu/bert/attention_helper.h.
#include <array>
#include <limits>

#include "contrib/node_group.h"
#include "onnx/graph_index.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::Node;

constexpr std::int64_t kBoolType = 9;

std::string InputAt(const Node& node, std::size_t i) {
  return i < node.inputs.size() ? node.inputs[i] : "";
}

std::string Unsqueezed(NodeGroup& group, const std::string& value, std::vector<std::int64_t> axes) {
  return group.Add("Unsqueeze", {value, group.Ints(std::move(axes))});
}

// What a node adds to its scores for the keys that `mask` hides, by 0: mask_filter_value, which is
// no infinity, so that a row all of whose keys are hidden still has shares. [batch, keys] or
// [batch, queries, keys].
std::string MaskBias(const Node& former, NodeGroup& group, const std::string& mask,
                     std::int64_t rank, const std::string& like) {
  const std::string seen = group.Add("Cast", {mask}, {Attribute::Int("to", kBoolType)});
  const std::string hidden = group.Float(former.FloatOr("mask_filter_value", -10000.0F));
  const std::string bias = group.Add("Where", {seen, group.Float(0), hidden});
  const std::string typed = group.Add("CastLike", {bias, like});
  if (rank == 3) return Unsqueezed(group, typed, {1});
  // A row for each query: ONNX Runtime's Attention does not broadcast that axis.
  const std::string queries =
      group.Add("Shape", {like}, {Attribute::Int("start", 1), Attribute::Int("end", 2)});
  const std::string shape = group.Add("Concat", {group.Ints({1, 1}), queries, group.Ints({1})},
                                      {Attribute::Int("axis", 0)});
  return group.Add("Expand", {Unsqueezed(group, typed, {1, 2}), shape});
}

// What the core of both operators takes.
struct Heads {
  std::string q, k, v;  // [batch, length, heads * size]
  std::string mask, bias, past_key, past_value;
  std::string y, present_key, present_value;
};

bool AddCore(const ContribContext& context, const Node& former, const Heads& heads,
             NodeGroup& group, std::string& why) {
  std::string bias = heads.bias;
  if (!heads.mask.empty()) {
    const auto rank = context.Rank(heads.mask);
    if (!rank || (*rank != 2 && *rank != 3)) {
      why = "its mask holds no 0 or 1 for each key";
      return false;
    }
    const std::string hidden = MaskBias(former, group, heads.mask, *rank, heads.q);
    bias = bias.empty() ? hidden : group.Add("Add", {hidden, bias});
  }
  const std::int64_t count = former.IntOr("num_heads", 0);
  std::vector<Attribute> attributes = {Attribute::Int("q_num_heads", count),
                                       Attribute::Int("kv_num_heads", count)};
  if (former.IntOr("unidirectional", 0) != 0) attributes.push_back(Attribute::Int("is_causal", 1));
  if (const float scale = former.FloatOr("scale", 0); scale != 0)
    attributes.push_back(Attribute::Float("scale", scale));
  group.AddTo({heads.y, heads.present_key, heads.present_value}, "Attention",
              {heads.q, heads.k, heads.v, bias, heads.past_key, heads.past_value},
              std::move(attributes));
  return true;
}

bool Refuse(std::string& why, const char* reason) {
  why = reason;
  return false;
}

}  // namespace

bool ExpandMultiHeadAttention(const ContribContext& context, const Node& former, NodeGroup& group,
                              std::string& why) {
  const std::string key = InputAt(former, 1), value = InputAt(former, 2);
  if (former.IntOr("num_heads", 0) < 1) return Refuse(why, "it has no num_heads");
  if (key.empty() || value.empty()) return Refuse(why, "its query holds keys and values as well");
  if (!InputAt(former, 8).empty() || !InputAt(former, 9).empty())
    return Refuse(why, "its cache is a buffer that a past length or beams say how to read");
  if (group.Has(3)) return Refuse(why, "its result 3 holds shares of keys");
  if (context.Rank(former.inputs[0]) != 3 || context.Rank(key) != 3 || context.Rank(value) != 3)
    return Refuse(why, "its query, key and value are not known to be of rank 3");
  Heads heads{former.inputs[0],
              key,
              value,
              InputAt(former, 4),
              InputAt(former, 5),
              InputAt(former, 6),
              InputAt(former, 7),
              group.OutputOr(0, "attended"),
              group.Output(1),
              group.Output(2)};
  if (const std::string bias = InputAt(former, 3); !bias.empty()) {
    const auto hidden = context.Size(heads.q, -1), length = context.Size(bias, 0);
    if (!hidden || !length || *length <= 2 * *hidden)
      return Refuse(why, "how its bias is split is not known");
    const std::string sizes = group.Ints({*hidden, *hidden, *length - 2 * *hidden});
    const std::array parts = {group.Named("q_bias"), group.Named("k_bias"), group.Named("v_bias")};
    group.AddTo({parts[0], parts[1], parts[2]}, "Split", {bias, sizes},
                {Attribute::Int("axis", 0)});
    heads.q = group.Add("Add", {heads.q, parts[0]});
    heads.k = group.Add("Add", {heads.k, parts[1]});
    heads.v = group.Add("Add", {heads.v, parts[2]});
  }
  return AddCore(context, former, heads, group, why);
}

// Attention of com.microsoft makes query, key and value itself, of one product.
bool ExpandAttention(const ContribContext& context, const Node& former, NodeGroup& group,
                     std::string& why) {
  if (former.inputs.size() < 2 || former.IntOr("num_heads", 0) < 1)
    return Refuse(why, "it has no weights or no num_heads");
  if (former.IntOr("do_rotary", 0) != 0) return Refuse(why, "it turns queries and keys");
  if (former.IntOr("past_present_share_buffer", 0) != 0 || !InputAt(former, 6).empty())
    return Refuse(why, "its cache is a buffer that a past length says how to read");
  std::vector<std::int64_t> sizes = former.IntsOr("qkv_hidden_sizes", {});
  if (sizes.empty()) {
    const auto columns = context.Size(former.inputs[1], 1);
    if (!columns || *columns % 3 != 0) return Refuse(why, "how its weights are split is not known");
    sizes.assign(3, *columns / 3);
  }
  if (sizes.size() != 3) return Refuse(why, "its qkv_hidden_sizes are not three");
  std::string all = group.Add("MatMul", {former.inputs[0], former.inputs[1]});
  if (!InputAt(former, 2).empty()) all = group.Add("Add", {all, former.inputs[2]});
  Heads heads{group.Named("query"),
              group.Named("key"),
              group.Named("value"),
              InputAt(former, 3),
              InputAt(former, 5),
              "",
              "",
              group.OutputOr(0, "attended"),
              "",
              ""};
  group.AddTo({heads.q, heads.k, heads.v}, "Split", {all, group.Ints(sizes)},
              {Attribute::Int("axis", -1)});
  if (const std::string past = InputAt(former, 4); !past.empty()) {
    const std::array parts = {group.Named("past_key"), group.Named("past_value")};
    group.AddTo({parts[0], parts[1]}, "Split", {past, group.Ints({1, 1})},
                {Attribute::Int("axis", 0)});
    heads.past_key = group.Add("Squeeze", {parts[0], group.Ints({0})});
    heads.past_value = group.Add("Squeeze", {parts[1], group.Ints({0})});
  }
  if (group.Has(1)) {
    heads.present_key = group.Named("present_key");
    heads.present_value = group.Named("present_value");
  }
  if (!AddCore(context, former, heads, group, why)) return false;
  if (group.Has(1)) {
    group.AddTo(
        {group.Output(1)}, "Concat",
        {Unsqueezed(group, heads.present_key, {0}), Unsqueezed(group, heads.present_value, {0})},
        {Attribute::Int("axis", 0)});
  }
  return true;
}

// position_ids of one value is the position of the first token.
bool ExpandRotaryEmbedding(const ContribContext& context, const Node& former, NodeGroup& group,
                           std::string& why) {
  if (former.inputs.size() < 4) return Refuse(why, "it has too few inputs");
  if (former.IntOr("is_packed_batching", 0) != 0 || former.FloatOr("scale", 1) != 1)
    return Refuse(why, "its batches are packed, or it scales");
  const std::string &x = former.inputs[0], &cos = former.inputs[2];
  const auto rank = context.Rank(x), positions_rank = context.Rank(former.inputs[1]);
  const auto half = context.Size(cos, 1);
  if ((rank != 3 && rank != 4) || !positions_rank || !half)
    return Refuse(
        why, "the ranks of its input and of position_ids, or the size of cos_cache, are not known");
  std::string positions = former.inputs[1];
  if (*positions_rank == 1) {
    const std::int64_t axis = *rank == 3 ? 1 : 2;
    const auto size = [&](std::int64_t at) {
      return group.Add("Shape", {x}, {Attribute::Int("start", at), Attribute::Int("end", at + 1)});
    };
    const std::string length = size(axis);
    const std::string steps =
        group.Add("Range", {group.Int(0), group.Add("Squeeze", {length}), group.Int(1)});
    const std::string both = group.Add("Concat", {size(0), length}, {Attribute::Int("axis", 0)});
    positions = group.Add("Expand", {group.Add("Add", {steps, positions}), both});
  }
  const std::int64_t dim = former.IntOr("rotary_embedding_dim", 0);
  std::vector<Attribute> attributes;
  if (const auto interleaved = former.IntOr("interleaved", 0); interleaved != 0)
    attributes.push_back(Attribute::Int("interleaved", interleaved));
  if (dim != 0) attributes.push_back(Attribute::Int("rotary_embedding_dim", dim));
  const std::int64_t heads = former.IntOr("num_heads", 0);
  if (*rank == 4 || heads > 0) {
    if (*rank == 3) attributes.push_back(Attribute::Int("num_heads", heads));
    group.AddTo({group.Output(0)}, "RotaryEmbedding", {x, cos, former.inputs[3], positions},
                std::move(attributes));
    return true;
  }
  // The size of a head is twice that of a row of cos_cache.
  const std::string split = group.Add("Reshape", {x, group.Ints({0, 0, -1, 2 * *half})});
  const std::vector<std::int64_t> turn = {0, 2, 1, 3};
  const std::string first = group.Add("Transpose", {split}, {Attribute::Ints("perm", turn)});
  const std::string turned = group.Add("RotaryEmbedding", {first, cos, former.inputs[3], positions},
                                       std::move(attributes));
  const std::string back = group.Add("Transpose", {turned}, {Attribute::Ints("perm", turn)});
  group.AddTo({group.Output(0)}, "Reshape", {back, group.Ints({0, 0, -1})});
  return true;
}

}  // namespace qtx::convert
