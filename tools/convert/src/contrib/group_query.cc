// GroupQueryAttention: attention with a cache and positions, as nodes of ai.onnx.
//
//   P tokens lie in the past buffer, S are new, T is the greatest total length of a batch;
//   past[b] = 0 where S = T (a first prompt), else seqlens_k[b] + 1 - S
//   present[b] = past[b] tokens of the past buffer, then the S new ones; max(P, T) rows
//   query s of batch b has position past[b] + s and sees the keys up to it, of the last
//   local_window_size where that is given
//
// Rows of present that lie behind the new tokens are unspecified, and seen by none.
//
// A quantized cache holds round(x * (1 / scale)), half to even, in binary32: INT8, or two codes of
// 4 bits, plus 8, in a UINT8, the lower one first. NaN is the greatest code, a scale of 0 is 1 for
// the division. All keys and values are then those of the codes, the new ones, too.
// Source: ONNX Runtime 1.32, docs/ContribOperators.md; contrib_ops/cpu/bert/gqa_attention_base.h.
// Of the codes: what its CPU kernels give (tests/qoperator/onnxruntime/caches.py).
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
  kSink,
  kKeyScale,
  kValueScale,
  kQueryNorm
};

constexpr std::int64_t kFloatType = 1, kUint8Type = 2, kInt8Type = 3;

class GroupQuery {
 public:
  GroupQuery(const ContribContext& context, const Node& former, NodeGroup& group)
      : context_(context), former_(former), group_(group) {}

  bool Run(std::string& why) {
    if (!IsTaken(why) || !ReadCacheForm(why) || !SplitHeads(why)) return false;
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
  std::string Cached(const std::string& past, const std::string& reals, std::size_t output,
                     const std::string& rows);
  bool ReadCacheForm(std::string& why);
  std::string ScaleOf(std::size_t output);
  std::string Codes(const std::string& reals, const std::string& scale);
  std::string Reals(const std::string& codes, const std::string& scale);
  void AddAttention();

  const ContribContext& context_;
  const Node& former_;
  NodeGroup& group_;
  std::int64_t heads_ = 0, kv_heads_ = 0;
  std::string q_, k_, v_;              // [batch, heads, S, size]
  std::string s_, t_, prompt_, past_;  // [1], [1], BOOL [1], [batch, 1]
  std::string positions_;              // [batch, S]
  std::string keys_, values_;          // of T tokens
  std::int64_t cache_bits_ = 0;        // 0: the cache is not quantized
  bool is_float_ = false;              // the type of the query is known to be FLOAT
};

bool GroupQuery::IsTaken(std::string& why) const {
  const auto refuse = [&why](const char* reason) {
    why = reason;
    return false;
  };
  if (!In(kSink).empty()) return refuse("it has a sink");
  for (std::size_t i = kQueryNorm; i < former_.inputs.size(); ++i) {
    if (!In(i).empty()) return refuse("it has norms or padded chunks");
  }
  for (const char* flag : {"smooth_softmax", "sliding_window_cache", "qk_output"}) {
    if (former_.IntOr(flag, 0) != 0)
      return refuse("it smooths shares, slides its cache or gives scores");
  }
  if (former_.IntOr("causal", 1) != 1) return refuse("its queries see what follows them");
  if (group_.Has(3)) return refuse("its result 3 holds scores");
  if (In(kSeqlens).empty() || In(kTotal).empty()) return refuse("it has no lengths");
  if (In(kPastKey).empty() != In(kPastValue).empty()) return refuse("it has half a cache");
  return true;
}

bool GroupQuery::ReadCacheForm(std::string& why) {
  const std::string key = former_.StringOr("k_quant_type", "NONE");
  const std::string value = former_.StringOr("v_quant_type", "NONE");
  const bool scaled = !In(kKeyScale).empty() && !In(kValueScale).empty();
  const bool unscaled = In(kKeyScale).empty() && In(kValueScale).empty();
  if (key == "NONE" && value == "NONE" && unscaled) return true;
  const auto is_known = [](const std::string& type) {
    return type == "PER_TENSOR" || type == "PER_CHANNEL";
  };
  cache_bits_ = former_.IntOr("kv_cache_bit_width", 0);
  const auto* past = context_.inference.Find(In(kPastKey));
  const bool is_float8 = past != nullptr && past->type == format::ElementType::kFloat8E4M3FN;
  const auto* query = context_.inference.Find(In(kQuery));
  is_float_ = query != nullptr && query->type == format::ElementType::kFloat;
  if (is_known(key) && is_known(value) && scaled && !is_float8 &&
      (cache_bits_ == 8 || cache_bits_ == 4)) {
    return true;
  }
  why = "its cache is quantized in another form than of 8 or 4 bits with scales of both parts";
  return false;
}

// As it broadcasts to [batch, heads, length, size].
std::string GroupQuery::ScaleOf(std::size_t output) {
  const bool is_key = output == 1;
  const bool of_all =
      former_.StringOr(is_key ? "k_quant_type" : "v_quant_type", "") == "PER_TENSOR";
  return group_.Add("Reshape", {In(is_key ? kKeyScale : kValueScale),
                                group_.Ints({1, of_all ? 1 : kv_heads_, 1, -1})});
}

// The elements of the cache.
std::string GroupQuery::Codes(const std::string& reals, const std::string& scale) {
  const std::string one = group_.Float(1);
  const std::string zero = group_.Add("Equal", {scale, group_.Float(0)});
  const std::string inverse = group_.Add("Div", {one, group_.Add("Where", {zero, one, scale})});
  const std::string x =
      is_float_ ? reals : group_.Add("Cast", {reals}, {Attribute::Int("to", kFloatType)});
  const std::string steps = group_.Add("Round", {group_.Add("Mul", {x, inverse})});
  const float end = cache_bits_ == 8 ? 128 : 8;
  const std::string most = group_.Float(end - 1);
  const std::string number = group_.Add("Where", {group_.Add("IsNaN", {steps}), most, steps});
  const std::string codes = group_.Add("Clip", {number, group_.Float(-end), most});
  if (cache_bits_ == 8) return group_.Add("Cast", {codes}, {Attribute::Int("to", kInt8Type)});
  const std::string pairs = group_.Add(
      "Reshape", {group_.Add("Add", {codes, group_.Float(end)}), group_.Ints({0, 0, 0, -1, 2})});
  const std::array halves = {group_.Named("low"), group_.Named("high")};
  group_.AddTo({halves[0], halves[1]}, "Split", {pairs, group_.Ints({1, 1})},
               {Attribute::Int("axis", -1)});
  const std::string high = group_.Add("Mul", {halves[1], group_.Float(16)});
  const std::string bytes =
      group_.Add("Squeeze", {group_.Add("Add", {halves[0], high}), group_.Ints({-1})});
  return group_.Add("Cast", {bytes}, {Attribute::Int("to", kUint8Type)});
}

// Of elements of the cache, in the type of the query.
std::string GroupQuery::Reals(const std::string& codes, const std::string& scale) {
  std::string steps = group_.Add("Cast", {codes}, {Attribute::Int("to", kFloatType)});
  if (cache_bits_ == 4) {
    const std::string sixteen = group_.Float(16);
    const std::string high = group_.Add("Floor", {group_.Add("Div", {steps, sixteen})});
    const std::string low = group_.Add("Sub", {steps, group_.Add("Mul", {high, sixteen})});
    const std::string end = group_.Ints({-1});
    const std::string pairs = group_.Add(
        "Concat", {group_.Add("Unsqueeze", {low, end}), group_.Add("Unsqueeze", {high, end})},
        {Attribute::Int("axis", -1)});
    const std::string all = group_.Add("Reshape", {pairs, group_.Ints({0, 0, 0, -1})});
    steps = group_.Add("Sub", {all, group_.Float(8)});
  }
  const std::string reals = group_.Add("Mul", {steps, scale});
  return is_float_ ? reals : group_.Add("CastLike", {reals, q_});
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
    if (size && cache_bits_ == 4) *size *= 2;
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
std::string GroupQuery::Cached(const std::string& past, const std::string& reals,
                               std::size_t output, const std::string& rows) {
  const std::string present =
      group_.OutputOr(output, output == 1 ? "present_key" : "present_value");
  const std::string scale = cache_bits_ != 0 ? ScaleOf(output) : "";
  const std::string fresh = cache_bits_ != 0 ? Codes(reals, scale) : reals;
  if (past.empty()) {
    group_.AddTo({present}, "Identity", {fresh});
    return cache_bits_ != 0 ? Reals(present, scale) : present;
  }
  const std::string both = group_.Add("Concat", {past, fresh}, {Attribute::Int("axis", 2)});
  const std::string shape = group_.Add("Concat", {group_.Ints({1, kv_heads_, 1}), SizeOf(fresh, 3)},
                                       {Attribute::Int("axis", 0)});
  group_.AddTo({present}, "GatherElements", {both, group_.Add("Expand", {rows, shape})},
               {Attribute::Int("axis", 2)});
  const std::string kept = group_.Add("Slice", {present, group_.Ints({0}), t_, group_.Ints({2})});
  return cache_bits_ != 0 ? Reals(kept, scale) : kept;
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
