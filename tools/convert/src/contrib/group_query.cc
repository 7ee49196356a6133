// GroupQueryAttention: attention with a cache and positions, as nodes of ai.onnx.
//
//   P tokens lie in the past buffer, S are new, T is the greatest total length of a batch;
//   past[b] = 0 where S = T (a first prompt), else seqlens_k[b] + 1 - S
//   present[b] = past[b] tokens of the past buffer, then the S new ones; max(P, T) rows
//   query s of batch b has position past[b] + s and sees the keys up to it, of the last
//   local_window_size where that is given
//
// Rows of present that lie behind the new tokens are unspecified, and seen by none.
// Source: ONNX Runtime 1.32, docs/ContribOperators.md; contrib_ops/cpu/bert/gqa_attention_base.h.
#include <array>
#include <limits>

#include "contrib/node_group.h"
#include "onnx/graph_index.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::Node;

enum GqaInput : std::size_t {
  kQuery,
  kKey,
  kValue,
  kPastKey,
  kPastValue,
  kSeqlens,
  kTotal,
  kCos,
  kSin,
  kPositions,
  kBias,
  kLastTaken = kBias
};

class GroupQuery {
 public:
  GroupQuery(const ContribContext& context, const Node& former, NodeGroup& group)
      : context_(context), former_(former), group_(group) {}

  bool Run(std::string& why) {
    if (!IsTaken(why) || !SplitHeads(why)) return false;
    AddLengths();
    if (former_.IntOr("do_rotary", 0) != 0 && !Turn(why)) return false;
    AddCache();
    AddAttention();
    return true;
  }

 private:
  std::string In(std::size_t i) const { return i < former_.inputs.size() ? former_.inputs[i] : ""; }
  std::string SizeOf(const std::string& value, std::int64_t axis) {
    return group_.Add("Shape", {value},
                      {Attribute::Int("start", axis), Attribute::Int("end", axis + 1)});
  }
  std::string Counted(const std::string& length) {  // 0, 1, ... length - 1
    return group_.Add("Range", {group_.Int(0), group_.Add("Squeeze", {length}), group_.Int(1)});
  }
  std::string Transposed(const std::string& value) {
    return group_.Add("Transpose", {value}, {Attribute::Ints("perm", {0, 2, 1, 3})});
  }
  std::string Longs(const std::string& value, std::vector<std::int64_t> shape) {
    constexpr std::int64_t kInt64 = 7;
    const std::string cast = group_.Add("Cast", {value}, {Attribute::Int("to", kInt64)});
    return group_.Add("Reshape", {cast, group_.Ints(std::move(shape))});
  }

  bool IsTaken(std::string& why) const;
  bool SplitHeads(std::string& why);
  void AddLengths();
  bool Turn(std::string& why);
  void AddCache();
  std::string Cached(const std::string& past, const std::string& fresh, std::size_t output,
                     const std::string& rows);
  void AddAttention();

  const ContribContext& context_;
  const Node& former_;
  NodeGroup& group_;
  std::int64_t heads_ = 0, kv_heads_ = 0;
  std::string q_, k_, v_;              // [batch, heads, S, size]
  std::string s_, t_, prompt_, past_;  // [1], [1], BOOL [1], [batch, 1]
  std::string positions_;              // [batch, S]
  std::string keys_, values_;          // of T tokens
};

bool GroupQuery::IsTaken(std::string& why) const {
  const auto refuse = [&why](const char* reason) {
    why = reason;
    return false;
  };
  for (std::size_t i = kLastTaken + 1; i < former_.inputs.size(); ++i) {
    if (!In(i).empty()) return refuse("it has a sink, a quantized cache, norms or padded chunks");
  }
  for (const char* flag : {"smooth_softmax", "sliding_window_cache", "qk_output"}) {
    if (former_.IntOr(flag, 0) != 0)
      return refuse("it smooths shares, slides its cache or gives scores");
  }
  for (const char* type : {"k_quant_type", "v_quant_type"}) {
    if (former_.StringOr(type, "NONE") != "NONE") return refuse("its cache is quantized");
  }
  if (former_.IntOr("causal", 1) != 1) return refuse("its queries see what follows them");
  if (group_.Has(3)) return refuse("its result 3 holds scores");
  if (In(kSeqlens).empty() || In(kTotal).empty()) return refuse("it has no lengths");
  if (In(kPastKey).empty() != In(kPastValue).empty()) return refuse("it has half a cache");
  return true;
}

// [batch, length, heads * size] to [batch, heads, length, size], of one packed input or of three.
bool GroupQuery::SplitHeads(std::string& why) {
  heads_ = former_.IntOr("num_heads", 0);
  kv_heads_ = former_.IntOr("kv_num_heads", 0);
  if (heads_ < 1 || kv_heads_ < 1) {
    why = "it has no numbers of heads";
    return false;
  }
  std::array parts = {In(kQuery), In(kKey), In(kValue)};
  if (parts[1].empty() != parts[2].empty()) {
    why = "it has a key without a value";
    return false;
  }
  if (parts[1].empty()) {
    auto size = context_.Size(In(kPastKey), 3);
    if (const auto all = context_.Size(In(kQuery), -1); !size && all)
      size = *all / (heads_ + 2 * kv_heads_);
    if (!size) {
      why = "the size of its heads is not known";
      return false;
    }
    const std::string sizes = group_.Ints({heads_ * *size, kv_heads_ * *size, kv_heads_ * *size});
    parts = {group_.Named("query"), group_.Named("key"), group_.Named("value")};
    group_.AddTo({parts[0], parts[1], parts[2]}, "Split", {In(kQuery), sizes},
                 {Attribute::Int("axis", -1)});
  }
  const auto split = [&](const std::string& value, std::int64_t count) {
    return Transposed(group_.Add("Reshape", {value, group_.Ints({0, 0, count, -1})}));
  };
  q_ = split(parts[0], heads_);
  k_ = split(parts[1], kv_heads_);
  v_ = split(parts[2], kv_heads_);
  return true;
}

void GroupQuery::AddLengths() {
  s_ = SizeOf(q_, 2);
  t_ = Longs(In(kTotal), {1});
  prompt_ = group_.Add("Equal", {s_, t_});
  const std::string before =
      group_.Add("Sub", {group_.Add("Add", {Longs(In(kSeqlens), {-1, 1}), group_.Int(1)}), s_});
  past_ = group_.Add("Where", {prompt_, group_.Int(0), before});
  positions_ = group_.Add("Add", {past_, Counted(s_)});
}

// Of a first prompt, only the first of position_ids counts.
bool GroupQuery::Turn(std::string& why) {
  const auto half = context_.Size(In(kCos), 1);
  if (In(kSin).empty() || !half) {
    why = "the size of its cos_cache is not known";
    return false;
  }
  std::string positions = positions_;
  if (const std::string given = In(kPositions); !given.empty()) {
    const std::string flat = group_.Add("Reshape", {given, group_.Ints({-1})});
    const std::string first = group_.Add("Slice", {flat, group_.Ints({0}), group_.Ints({1})});
    positions = group_.Add("Where", {prompt_, group_.Add("Add", {first, Counted(s_)}), given});
  }
  std::vector<Attribute> attributes = {Attribute::Int("rotary_embedding_dim", 2 * *half)};
  if (const auto interleaved = former_.IntOr("rotary_interleaved", 0); interleaved != 0)
    attributes.push_back(Attribute::Int("interleaved", interleaved));
  for (std::string* value : {&q_, &k_})
    *value = group_.Add("RotaryEmbedding", {*value, In(kCos), In(kSin), positions}, attributes);
  return true;
}

// Row j of the cache is row j of the past, or row j - past[b] of the new tokens, behind the P rows
// of the past buffer.
void GroupQuery::AddCache() {
  if (In(kPastKey).empty()) {
    keys_ = Cached("", k_, 1, "");
    values_ = Cached("", v_, 2, "");
    return;
  }
  const std::string p = SizeOf(In(kPastKey), 2);
  const std::string j = Counted(group_.Add("Max", {p, t_}));
  const std::string last = group_.Add("Sub", {s_, group_.Int(1)});
  const std::string fresh = group_.Add("Min", {group_.Add("Sub", {j, past_}), last});
  const std::string row =
      group_.Add("Where", {group_.Add("Less", {j, past_}), j, group_.Add("Add", {p, fresh})});
  const std::string rows = group_.Add("Unsqueeze", {row, group_.Ints({1, 3})});
  keys_ = Cached(In(kPastKey), k_, 1, rows);
  values_ = Cached(In(kPastValue), v_, 2, rows);
}

// The first T rows of present, which is output `output`.
std::string GroupQuery::Cached(const std::string& past, const std::string& fresh,
                               std::size_t output, const std::string& rows) {
  const std::string present =
      group_.OutputOr(output, output == 1 ? "present_key" : "present_value");
  if (past.empty()) {
    group_.AddTo({present}, "Identity", {fresh});
    return present;
  }
  const std::string both = group_.Add("Concat", {past, fresh}, {Attribute::Int("axis", 2)});
  const std::string shape = group_.Add("Concat", {group_.Ints({1, kv_heads_, 1}), SizeOf(fresh, 3)},
                                       {Attribute::Int("axis", 0)});
  group_.AddTo({present}, "GatherElements", {both, group_.Add("Expand", {rows, shape})},
               {Attribute::Int("axis", 2)});
  return group_.Add("Slice", {present, group_.Ints({0}), t_, group_.Ints({2})});
}

void GroupQuery::AddAttention() {
  const std::string key = Counted(t_);
  const std::string query = group_.Add("Unsqueeze", {positions_, group_.Ints({1, 3})});
  std::string mask = group_.Add("LessOrEqual", {key, query});
  if (const std::int64_t window = former_.IntOr("local_window_size", -1); window > 0) {
    const std::string end = group_.Add("Add", {key, group_.Int(window)});
    mask = group_.Add("And", {mask, group_.Add("Greater", {end, query})});
  }
  if (const std::string bias = In(kBias); !bias.empty()) {
    const float infinity = std::numeric_limits<float>::infinity();
    const std::string hidden = group_.Add("CastLike", {group_.Float(-infinity), bias});
    mask = group_.Add("Where", {mask, bias, hidden});
  }
  std::vector<Attribute> attributes;
  for (const char* name : {"scale", "softcap"}) {
    if (const float value = former_.FloatOr(name, 0); value != 0)
      attributes.push_back(Attribute::Float(name, value));
  }
  const std::string y = group_.Add("Attention", {q_, keys_, values_, mask}, std::move(attributes));
  group_.AddTo({group_.OutputOr(0, "attended")}, "Reshape",
               {Transposed(y), group_.Ints({0, 0, -1})});
}

}  // namespace

bool ExpandGroupQueryAttention(const ContribContext& context, const Node& former, NodeGroup& group,
                               std::string& why) {
  return GroupQuery(context, former, group).Run(why);
}

}  // namespace qtx::convert
