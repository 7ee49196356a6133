#include "decoder/build.h"

#include <array>
#include <cmath>
#include <utility>

#include "decoder/parts.h"
#include "errors.h"

namespace qtx::convert::decoder {
namespace {

using format::Attribute;
using format::ElementType;
using format::Shape;
using format::TensorType;

// Sines and cosines of the tokens' angles, [batch, sequence, size / 2].
struct Angles {
  std::string cos, sin;
};

format::Tensor FloatsTensor(const std::vector<float>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {ElementType::kFloat, {std::ssize(values)}, std::nullopt, {bytes.begin(), bytes.end()}};
}

class Decoder {
 public:
  Decoder(const DecoderConfig& config, const Weights& weights) : c_(config), parts_(weights) {
    parts_.SetNorm(c_.norm_epsilon, c_.norms_add_one);
  }

  Result<format::Graph> Build();

 private:
  bool IsLocal(std::int64_t layer) const {
    return !c_.is_local.empty() && c_.is_local[static_cast<std::size_t>(layer)];
  }
  Shape CacheShape(const char* length, std::int64_t size) const {
    return {{{}, "batch"}, {c_.kv_heads, ""}, {{}, length}, {size, ""}};
  }
  Result<void> CheckLayers() const;
  std::string Input(const std::string& name, ElementType type, Shape shape);
  void AddInputs();
  void AddOutput(const std::string& value);
  Angles AnglesOf(const std::string& name, const Rope& rope);
  std::string Embedding();
  std::string WindowMask();
  std::string Scalar(const std::string& sizes, std::int64_t i);
  std::array<std::string, 3> Projections(const std::string& x, const std::string& block);
  std::string Head(const std::string& x, const std::string& norm, std::int64_t heads);
  std::string Turned(const std::string& x, std::int64_t heads, bool local);
  std::string Attention(const std::string& x, std::int64_t layer);
  std::string Layer(const std::string& x, std::int64_t layer);
  std::string FeedForward(const std::string& x, const std::string& block);
  std::array<std::string, 2> GateAndUp(const std::string& x, const std::string& block);
  std::string Sum(const std::string& x, const std::string& y, const std::string& block,
                  const std::string& post_norm);
  void Logits(const std::string& x);

  const DecoderConfig& c_;
  Parts parts_;
  std::string input_ids_, position_ids_, positions_;
  std::vector<std::string> past_keys_, past_values_, present_;
  Angles angles_, local_angles_;
  std::string mask_;  // of local layers
  std::int64_t vocabulary_ = 0;
};

// Metadata may claim any number of layers: nothing is made before each has a weight.
Result<void> Decoder::CheckLayers() const {
  for (std::int64_t i = 0; i < c_.layers; ++i) {
    const std::string norm = "blk." + std::to_string(i) + ".attn_norm.weight";
    if (!parts_.Has(norm))
      return Invalid("tensor '" + norm + "'", "is missing; the graph needs it");
  }
  return {};
}

std::string Decoder::Input(const std::string& name, ElementType type, Shape shape) {
  std::string unique = parts_.out().Unique(name);
  parts_.out().AddInput(unique, {.elem_type = type, .shape = std::move(shape)});
  return unique;
}

void Decoder::AddInputs() {
  const Shape tokens = {{{}, "batch"}, {{}, "sequence"}};
  input_ids_ = Input("input_ids", ElementType::kInt64, tokens);
  position_ids_ = Input("position_ids", ElementType::kInt64, tokens);
  for (std::int64_t i = 0; i < c_.layers; ++i) {
    const std::string stem = "past_key_values." + std::to_string(i);
    past_keys_.push_back(
        Input(stem + ".key", ElementType::kFloat, CacheShape("past", c_.key_size)));
    past_values_.push_back(
        Input(stem + ".value", ElementType::kFloat, CacheShape("past", c_.value_size)));
  }
}

void Decoder::AddOutput(const std::string& value) {
  parts_.out().AddOutput(value, *parts_.out().graph().FindValue(value)->type);
}

Angles Decoder::AnglesOf(const std::string& name, const Rope& rope) {
  const std::int64_t half = rope.size / 2;
  std::string frequencies =
      parts_.out().AddConstant(name + "/frequencies", FloatsTensor(Frequencies(rope)));
  if (!rope.divisors.empty()) {
    frequencies = parts_.Node(name + "/divided", "Div",
                              {frequencies, parts_.Take(rope.divisors, {half})}, {{half, ""}});
  }
  const Shape shape = BySequenceShape(half);
  const std::string angles = parts_.Node(name + "/angles", "Mul", {positions_, frequencies}, shape);
  Angles made = {parts_.Node(name + "/cos", "Cos", {angles}, shape),
                 parts_.Node(name + "/sin", "Sin", {angles}, shape)};
  if (rope.magnitude == 1) return made;
  const std::string factor = parts_.Scalar(name + "/magnitude", static_cast<float>(rope.magnitude));
  for (std::string* part : {&made.cos, &made.sin}) {
    *part = parts_.Node(*part + "/scaled", "Mul", {*part, factor}, shape);
  }
  return made;
}

std::string Decoder::Embedding() {
  const std::string rows = parts_.Take("token_embd.weight", {vocabulary_, c_.width});
  const std::string x = parts_.Node("token_embd", "Gather", {rows, input_ids_},
                                    BySequenceShape(c_.width), {Attribute::Int("axis", 0)});
  const std::string tokens = parts_.ByToken(x, c_.width);
  if (c_.embedding_scale == 1) return tokens;
  return parts_.Node("token_embd/scaled", "Mul",
                     {tokens, parts_.Scalar("token_embd/scale", c_.embedding_scale)},
                     ByTokenShape(c_.width));
}

// Element i of `sizes` as a scalar.
std::string Decoder::Scalar(const std::string& sizes, std::int64_t i) {
  const std::string index = parts_.out().AddConstant(
      sizes + "/index",
      {ElementType::kInt64, {}, std::nullopt, graph::IntsTensor(std::span(&i, 1)).bytes});
  return parts_.Node(sizes + "/element", "Gather", {sizes, index}, Shape{}, {},
                     ElementType::kInt64);
}

// Key j is visible to query i of the sequence, which stands at past + i, when j > past + i -
// window. (That j <= past + i is Attention's is_causal.)
std::string Decoder::WindowMask() {
  const auto int64 = [this](const std::string& name, std::string_view op,
                            std::vector<std::string> inputs, Shape shape) {
    return parts_.Node("window/" + name, op, std::move(inputs), std::move(shape), {},
                       ElementType::kInt64);
  };
  const auto constant = [this](const std::string& name, std::int64_t value) {
    return parts_.out().AddConstant(
        "window/" + name,
        {ElementType::kInt64, {}, std::nullopt, graph::IntsTensor(std::span(&value, 1)).bytes});
  };
  const std::string cache = int64("cache", "Shape", {past_keys_[0]}, {{4, ""}});
  const std::string past = Scalar(cache, 2);
  const std::string length = Scalar(parts_.sizes(), 1);
  const std::string total = int64("total", "Add", {past, length}, Shape{});
  const std::string one = constant("one", 1);
  const Shape keys_shape = {{{}, "total"}};
  const Shape queries_shape = {{{}, "sequence"}};
  const std::string keys = int64("keys", "Range", {constant("zero", 0), total, one}, keys_shape);
  const std::string queries = int64("queries", "Range", {past, total, one}, queries_shape);
  const std::string begins =
      int64("begins", "Sub", {queries, constant("size", c_.window)}, queries_shape);
  const std::array<std::int64_t, 1> last = {1};
  const std::string rows =
      int64("rows", "Unsqueeze", {begins, parts_.out().AddInts("window/axis", last)},
            {{{}, "sequence"}, {1, ""}});
  return parts_.Node("window/mask", "Greater", {keys, rows}, {{{}, "sequence"}, {{}, "total"}}, {},
                     ElementType::kBool);
}

// Queries, keys and values, [tokens, heads * size]: of one matrix where attn_qkv holds all three.
std::array<std::string, 3> Decoder::Projections(const std::string& x, const std::string& block) {
  const std::array<std::int64_t, 3> sizes = {c_.heads * c_.key_size, c_.kv_heads * c_.key_size,
                                             c_.kv_heads * c_.value_size};
  if (!parts_.Has(block + "attn_qkv.weight")) {
    return {parts_.Linear(x, block + "attn_q", sizes[0], c_.width),
            parts_.Linear(x, block + "attn_k", sizes[1], c_.width),
            parts_.Linear(x, block + "attn_v", sizes[2], c_.width)};
  }
  const std::string all =
      parts_.Linear(x, block + "attn_qkv", sizes[0] + sizes[1] + sizes[2], c_.width);
  std::array<std::string, 3> made;
  const std::array<const char*, 3> names = {"attn_q", "attn_k", "attn_v"};
  for (std::size_t i = 0; i < 3; ++i) {
    made[i] = parts_.out().Inner(
        block + names[i], {.elem_type = ElementType::kFloat, .shape = ByTokenShape(sizes[i])});
  }
  parts_.out().Add(block + "attn_qkv",
                   {"Split",
                    {all, parts_.out().AddInts(block + "attn_qkv/sizes", sizes)},
                    {Attribute::Int("axis", 1)}},
                   {made[0], made[1], made[2]});
  return made;
}

// x by sequence; with a `norm` each head is normalized first.
std::string Decoder::Head(const std::string& x, const std::string& norm, std::int64_t heads) {
  const std::int64_t n = heads * c_.key_size;
  if (!parts_.Has(norm + ".weight")) return parts_.BySequence(x, n);
  const std::array<std::int64_t, 3> shape = {-1, heads, c_.key_size};
  const Shape by_head = {{{}, "tokens"}, {heads, ""}, {c_.key_size, ""}};
  const std::string split = parts_.Node(x + "/by_head", "Reshape",
                                        {x, parts_.out().AddInts(x + "/heads", shape)}, by_head);
  return parts_.BySequence(parts_.Norm(split, norm, c_.key_size, by_head), n);
}

std::string Decoder::Turned(const std::string& x, std::int64_t heads, bool local) {
  const Rope& rope = local ? c_.local_rope : c_.rope;
  const Angles& angles = local ? local_angles_ : angles_;
  return parts_.Node(
      x + "/turned", "RotaryEmbedding", {x, angles.cos, angles.sin},
      BySequenceShape(heads * c_.key_size),
      {Attribute::Int("interleaved", rope.interleaved ? 1 : 0), Attribute::Int("num_heads", heads),
       Attribute::Int("rotary_embedding_dim", rope.size)});
}

std::string Decoder::Attention(const std::string& x, std::int64_t layer) {
  const std::string number = std::to_string(layer);
  const std::string block = "blk." + number + ".";
  const bool local = IsLocal(layer);
  const auto [q, k, v] = Projections(x, block);
  const auto at = static_cast<std::size_t>(layer);
  const std::string present = "present." + number;
  const std::vector<std::string> outputs = {
      parts_.out().Inner(block + "attention", {.elem_type = ElementType::kFloat,
                                               .shape = BySequenceShape(c_.heads * c_.value_size)}),
      parts_.out().Inner(present + ".key", {.elem_type = ElementType::kFloat,
                                            .shape = CacheShape("total", c_.key_size)}),
      parts_.out().Inner(present + ".value", {.elem_type = ElementType::kFloat,
                                              .shape = CacheShape("total", c_.value_size)})};
  std::vector<Attribute> attributes = {Attribute::Int("is_causal", 1),
                                       Attribute::Int("q_num_heads", c_.heads),
                                       Attribute::Int("kv_num_heads", c_.kv_heads)};
  if (c_.attention_scale != 0) attributes.push_back(Attribute::Float("scale", c_.attention_scale));
  if (c_.attention_softcap != 0)
    attributes.push_back(Attribute::Float("softcap", c_.attention_softcap));
  present_.insert(present_.end(), {outputs[1], outputs[2]});
  parts_.out().Add(block + "attention",
                   {"Attention",
                    {Turned(Head(q, block + "attn_q_norm", c_.heads), c_.heads, local),
                     Turned(Head(k, block + "attn_k_norm", c_.kv_heads), c_.kv_heads, local),
                     parts_.BySequence(v, c_.kv_heads * c_.value_size), local ? mask_ : "",
                     past_keys_[at], past_values_[at]},
                    std::move(attributes)},
                   outputs);
  return parts_.Linear(parts_.ByToken(outputs[0], c_.heads * c_.value_size), block + "attn_output",
                       c_.width, c_.heads * c_.value_size);
}

// Both [tokens, feed_forward]. Without ffn_gate the first half of ffn_up's rows is the gate.
std::array<std::string, 2> Decoder::GateAndUp(const std::string& x, const std::string& block) {
  if (parts_.Has(block + "ffn_gate.weight")) {
    return {parts_.Linear(x, block + "ffn_gate", c_.feed_forward, c_.width),
            parts_.Linear(x, block + "ffn_up", c_.feed_forward, c_.width)};
  }
  const std::string both = parts_.Linear(x, block + "ffn_up", 2 * c_.feed_forward, c_.width);
  const TensorType half = {.elem_type = ElementType::kFloat,
                           .shape = ByTokenShape(c_.feed_forward)};
  std::array<std::string, 2> made = {parts_.out().Inner(block + "ffn_up/gate", half),
                                     parts_.out().Inner(block + "ffn_up/up", half)};
  parts_.out().Add(block + "ffn_up",
                   {"Split", {both}, {Attribute::Int("axis", 1), Attribute::Int("num_outputs", 2)}},
                   {made[0], made[1]});
  return made;
}

std::string Decoder::FeedForward(const std::string& x, const std::string& block) {
  const auto [gate, up] = GateAndUp(x, block);
  const Shape shape = ByTokenShape(c_.feed_forward);
  const bool silu = c_.activation == Activation::kSilu;
  std::vector<Attribute> attributes;
  if (!silu) attributes.push_back(Attribute::String("approximate", "tanh"));
  const std::string active =
      parts_.Node(gate + "/active", silu ? "Swish" : "Gelu", {gate}, shape, std::move(attributes));
  const std::string gated = parts_.Node(up + "/gated", "Mul", {active, up}, shape);
  return parts_.Linear(gated, block + "ffn_down", c_.width, c_.feed_forward);
}

// x + y, y being normalized first where the layer has a norm for it.
std::string Decoder::Sum(const std::string& x, const std::string& y, const std::string& block,
                         const std::string& post_norm) {
  const Shape shape = ByTokenShape(c_.width);
  const bool has_norm = parts_.Has(block + post_norm + ".weight");
  const std::string term = has_norm ? parts_.Norm(y, block + post_norm, c_.width, shape) : y;
  return parts_.Node(y + "/sum", "Add", {x, term}, shape);
}

std::string Decoder::Layer(const std::string& x, std::int64_t layer) {
  const std::string block = "blk." + std::to_string(layer) + ".";
  const Shape shape = ByTokenShape(c_.width);
  const std::string attended =
      Attention(parts_.Norm(x, block + "attn_norm", c_.width, shape), layer);
  const std::string middle = Sum(x, attended, block, "post_attention_norm");
  const std::string fed =
      FeedForward(parts_.Norm(middle, block + "ffn_norm", c_.width, shape), block);
  return Sum(middle, fed, block, "post_ffw_norm");
}

void Decoder::Logits(const std::string& x) {
  const std::string normed = parts_.Norm(x, "output_norm", c_.width, ByTokenShape(c_.width));
  const bool tied = !parts_.Has("output.weight");
  const Shape shape = ByTokenShape(vocabulary_);
  std::string y =
      tied ? parts_.Node("output", "Gemm",
                         {normed, parts_.Take("token_embd.weight", {vocabulary_, c_.width})}, shape,
                         {Attribute::Int("transB", 1)})
           : parts_.Linear(normed, "output", vocabulary_, c_.width);
  if (c_.logit_softcap != 0) {
    const std::string cap = parts_.Scalar("output/softcap", c_.logit_softcap);
    const std::string share = parts_.Node("output/share", "Div", {y, cap}, shape);
    y = parts_.Node("output/capped", "Mul",
                    {parts_.Node("output/tanh", "Tanh", {share}, shape), cap}, shape);
  }
  AddOutput(parts_.BySequence(y, vocabulary_, "logits"));
}

Result<format::Graph> Decoder::Build() {
  vocabulary_ = parts_.Rows("token_embd.weight");
  QTX_RETURN_IF_ERROR(CheckLayers());
  AddInputs();
  parts_.SetTokens(input_ids_);
  const std::array<std::int64_t, 1> last = {2};
  const std::string column =
      parts_.Node("positions/integers", "Unsqueeze",
                  {position_ids_, parts_.out().AddInts("positions/axis", last)}, BySequenceShape(1),
                  {}, ElementType::kInt64);
  positions_ = parts_.Node("positions", "Cast", {column}, BySequenceShape(1),
                           {Attribute::Int("to", static_cast<std::int64_t>(ElementType::kFloat))});
  angles_ = AnglesOf("rope", c_.rope);
  if (!c_.is_local.empty()) {
    local_angles_ = c_.local_rope == c_.rope ? angles_ : AnglesOf("local_rope", c_.local_rope);
    mask_ = WindowMask();
  }
  std::string x = Embedding();
  for (std::int64_t i = 0; i < c_.layers && parts_.Status(); ++i) x = Layer(x, i);
  Logits(x);
  QTX_RETURN_IF_ERROR(parts_.Status());
  for (const std::string& value : present_) AddOutput(value);
  if (const std::string left = parts_.Untaken(); !left.empty()) {
    return Unsupported("tensor '" + left + "'",
                       "is none that the graph of architecture '" + c_.architecture + "' reads");
  }
  format::Graph graph = parts_.out().Finish();
  graph.name = c_.architecture;
  return graph;
}

}  // namespace

Result<format::Graph> BuildDecoder(const DecoderConfig& config, const Weights& weights) {
  return Decoder(config, weights).Build();
}

}  // namespace qtx::convert::decoder
