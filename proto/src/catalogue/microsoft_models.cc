// Operators of com.microsoft that language models have.
// Source: ONNX Runtime 1.32, docs/ContribOperators.md.
#include <utility>

#include "microsoft.h"
#include "rules.h"

namespace qtx::format::catalogue {

namespace {

using ModelShapes = Result<std::vector<std::optional<Dims>>>;

constexpr TypeSet kModelReal = {ElementType::kFloat, ElementType::kFloat16, ElementType::kBfloat16};
constexpr TypeSet kNormReal = kModelReal | TypeSet{ElementType::kDouble};

AttributeRule IntRule(std::string_view name, std::int64_t otherwise = 0) {
  return {name, AttributeType::kInt, otherwise};
}
AttributeRule FloatRule(std::string_view name, float otherwise = 0) {
  return {name, AttributeType::kFloat, otherwise};
}
AttributeRule RequiredInt(std::string_view name) { return {name, AttributeType::kInt, {}, true}; }

// These inputs are of one of the types, and of one type.
ClauseCheck OfOneType(TypeSet types, const Indices& inputs) {
  std::vector<ClauseRule> rules;
  for (const std::size_t i : inputs) {
    rules.push_back(InputTypes(i, types));
    if (i == inputs[0]) continue;
    rules.push_back([i, first = inputs[0]](const Application& a) -> Result<void> {
      const ElementType type = a.Input(i).type, expected = a.Input(first).type;
      if (type == ElementType::kUndefined || expected == ElementType::kUndefined ||
          type == expected)
        return {};
      return BadInput(a, i, std::string(Name(type)), std::string(Name(expected)));
    });
  }
  return {"graph.C7", Both(std::move(rules))};
}

ClauseCheck OfTypes(TypeSet types, std::size_t input) {
  return {"graph.C7", InputTypes(input, types)};
}

// Normalizations and activations -----------------------------------------------------------------

// Result 0 and the sum, result 3, have the sizes of input 0; between them are moments.
ModelShapes ShapeOfSkip(const Application& a) {
  std::vector<std::optional<Dims>> shapes(4);
  if (const Dims* x = DimsOf(a.Input(0))) shapes[0] = shapes[3] = *x;
  return shapes;
}

ElementType SkipType(const Application& a, std::size_t output) {
  return output == 1 || output == 2 ? ElementType::kFloat : a.Input(0).type;
}

OpSchema SkipNormalization(std::string_view op_type, std::vector<ValueRule> inputs) {
  constexpr float kEpsilon = 1e-12F;
  return {
      .op_type = op_type,
      .inputs = std::move(inputs),
      .outputs = {{"output"}, {"mean", true}, {"inv_std_var", true}, {"input_skip_bias_sum", true}},
      .attributes = {FloatRule("epsilon", kEpsilon)},
      .checks = {OfOneType(kModelReal, {0, 1, 2})},
      .shape = ShapeOfSkip,
      .type = SkipType};
}

ElementType ScaleType(const Application& a, std::size_t output) {
  return output == 1 ? ElementType::kFloat : a.Input(1).type;
}

OpSchema SimplifiedLayerNormalization() {
  constexpr float kEpsilon = 1e-05F;
  return {
      .op_type = "SimplifiedLayerNormalization",
      .inputs = {{"X"}, {"scale"}},
      .outputs = {{"Y"}, {"inv_std_var", true}},
      .attributes = {IntRule("axis", -1), FloatRule("epsilon", kEpsilon), IntRule("stash_type", 1)},
      .checks = {OfTypes(kNormReal, 0), OfTypes(kNormReal, 1)},
      .shape = ShapeOfFirst,
      .type = ScaleType};
}

ModelShapes ShapeOfEmbedding(const Application& a) {
  std::vector<std::optional<Dims>> shapes(3);
  const Dims* ids = DimsOf(a.Input(0));
  const Dims* words = DimsOf(a.Input(2));
  if (ids == nullptr || ids->size() != 2 || words == nullptr || words->size() != 2) return shapes;
  shapes[0] = shapes[2] = Dims{(*ids)[0], (*ids)[1], (*words)[1]};
  shapes[1] = Dims{(*ids)[0]};
  return shapes;
}

ElementType EmbeddingType(const Application& a, std::size_t output) {
  return output == 1 ? ElementType::kInt32 : a.Input(2).type;
}

OpSchema EmbedLayerNormalization() {
  constexpr float kEpsilon = 1e-12F;
  return {.op_type = "EmbedLayerNormalization",
          .inputs = {{"input_ids"},
                     {"segment_ids", true},
                     {"word_embedding"},
                     {"position_embedding"},
                     {"segment_embedding", true},
                     {"gamma"},
                     {"beta"},
                     {"mask", true},
                     {"position_ids", true}},
          .outputs = {{"output"}, {"mask_index", true}, {"embedding_sum", true}},
          .attributes = {FloatRule("epsilon", kEpsilon), IntRule("mask_index_type")},
          .checks = {OfTypes({ElementType::kInt32}, 0), OfOneType(kModelReal, {2, 3, 4, 5, 6})},
          .shape = ShapeOfEmbedding,
          .type = EmbeddingType};
}

OpSchema Activation(std::string_view op_type, std::vector<ValueRule> inputs,
                    std::vector<AttributeRule> attributes = {}) {
  const bool two = inputs.size() > 1;
  return {.op_type = op_type,
          .inputs = std::move(inputs),
          .outputs = {{"Y"}},
          .attributes = std::move(attributes),
          .checks = {two ? OfOneType(kNormReal, {0, 1}) : OfTypes(kNormReal, 0)},
          .shape = ShapeOfFirst};
}

// Attention --------------------------------------------------------------------------------------

OpSchema RotaryEmbeddingOfRuntime() {
  return {
      .op_type = "RotaryEmbedding",
      .inputs = {{"input"}, {"position_ids"}, {"cos_cache"}, {"sin_cache"}},
      .outputs = {{"output"}},
      .attributes = {IntRule("interleaved"), IntRule("is_packed_batching"), IntRule("num_heads"),
                     IntRule("rotary_embedding_dim"), FloatRule("scale", 1)},
      .checks = {OfOneType(kModelReal, {0, 2, 3}), OfTypes({ElementType::kInt64}, 1)},
      .shape = ShapeOfFirst};
}

// Sizes of a cache: [batch, heads, ?, size].
Dims CacheOf(std::int64_t batch, std::int64_t heads, std::int64_t size) {
  return {batch, heads, kUnknownSize, size};
}

ModelShapes ShapeOfGroupQuery(const Application& a) {
  std::vector<std::optional<Dims>> shapes(3);
  const Dims* query = DimsOf(a.Input(0));
  const std::int64_t heads = a.Int("num_heads"), kv_heads = a.Int("kv_num_heads");
  if (query == nullptr || query->size() != 3 || heads < 1 || kv_heads < 1) return shapes;
  const bool packed = !a.Input(1).given;
  const std::int64_t parts = packed ? heads + 2 * kv_heads : heads;
  const std::int64_t size = Known((*query)[2]) ? (*query)[2] / parts : kUnknownSize;
  shapes[0] = Dims{(*query)[0], (*query)[1], Known(size) ? size * heads : kUnknownSize};
  // Two codes of 4 bits are a UINT8.
  const bool is_packed = a.Int("kv_cache_bit_width") == 4 && Known(size);
  shapes[1] = shapes[2] = CacheOf((*query)[0], kv_heads, is_packed ? (size + 1) / 2 : size);
  return shapes;
}

// The caches have the type of the past ones.
ElementType GroupQueryType(const Application& a, std::size_t output) {
  const bool cache = output == 1 || output == 2;
  return cache && a.Input(output + 2).given ? a.Input(output + 2).type : a.Input(0).type;
}

OpSchema GroupQueryAttention() {
  constexpr float kNormEpsilon = 1e-6F;
  return {
      .op_type = "GroupQueryAttention",
      .inputs = {{"query"},
                 {"key", true},
                 {"value", true},
                 {"past_key", true},
                 {"past_value", true},
                 {"seqlens_k"},
                 {"total_sequence_length"},
                 {"cos_cache", true},
                 {"sin_cache", true},
                 {"position_ids", true},
                 {"attention_bias", true},
                 {"head_sink", true},
                 {"k_scale", true},
                 {"v_scale", true},
                 {"q_norm_weight", true},
                 {"k_norm_weight", true},
                 {"query_seqlens", true}},
      .outputs = {{"output"}, {"present_key", true}, {"present_value", true}, {"output_qk", true}},
      .attributes = {IntRule("causal", 1),
                     IntRule("do_rotary"),
                     FloatRule("k_norm_epsilon"),
                     {"k_quant_type", AttributeType::kString, std::string_view("NONE")},
                     IntRule("kv_cache_bit_width"),
                     RequiredInt("kv_num_heads"),
                     IntRule("local_window_size", -1),
                     RequiredInt("num_heads"),
                     FloatRule("q_norm_epsilon"),
                     FloatRule("qk_norm_epsilon", kNormEpsilon),
                     IntRule("qk_output"),
                     IntRule("rotary_interleaved"),
                     FloatRule("scale"),
                     IntRule("sliding_window_cache"),
                     IntRule("smooth_softmax"),
                     FloatRule("softcap"),
                     {"v_quant_type", AttributeType::kString, std::string_view("NONE")}},
      .checks = {OfOneType(kModelReal, {0, 1, 2, 7, 8, 10, 11}), OfTypes({ElementType::kInt32}, 5),
                 OfTypes({ElementType::kInt32}, 6), OfTypes({ElementType::kInt64}, 9)},
      .shape = ShapeOfGroupQuery,
      .type = GroupQueryType};
}

ModelShapes ShapeOfMultiHead(const Application& a) {
  std::vector<std::optional<Dims>> shapes(3);
  const Dims* query = DimsOf(a.Input(0));
  const Dims* value = DimsOf(a.Input(2));
  if (query == nullptr || query->size() != 3 || value == nullptr) return shapes;
  const std::int64_t heads = a.Int("num_heads");
  const bool flat = value->size() == 3;  // else [batch, heads, length, size]
  std::int64_t width = flat ? (*value)[2] : kUnknownSize;
  if (value->size() == 4 && Known((*value)[3])) width = heads * (*value)[3];
  shapes[0] = Dims{(*query)[0], (*query)[1], width};
  const auto size = [heads](std::int64_t all) {
    return Known(all) && heads > 0 ? all / heads : kUnknownSize;
  };
  shapes[1] = CacheOf((*query)[0], heads, size((*query)[2]));
  shapes[2] = CacheOf((*query)[0], heads, size(width));
  return shapes;
}

OpSchema MultiHeadAttention() {
  constexpr float kMasked = -10000;
  return {
      .op_type = "MultiHeadAttention",
      .inputs = {{"query"},
                 {"key", true},
                 {"value", true},
                 {"bias", true},
                 {"key_padding_mask", true},
                 {"attention_bias", true},
                 {"past_key", true},
                 {"past_value", true},
                 {"past_sequence_length", true},
                 {"cache_indirection", true}},
      .outputs = {{"output"}, {"present_key", true}, {"present_value", true}, {"qk", true}},
      .attributes = {FloatRule("mask_filter_value", kMasked), RequiredInt("num_heads"),
                     FloatRule("scale"), IntRule("unidirectional")},
      .checks = {OfOneType(kModelReal, {0, 1, 2, 3, 5, 6, 7}), OfTypes({ElementType::kInt32}, 4)},
      .shape = ShapeOfMultiHead};
}

ModelShapes ShapeOfAttentionWithWeights(const Application& a) {
  std::vector<std::optional<Dims>> shapes(2);
  const Dims* x = DimsOf(a.Input(0));
  const Dims* weights = DimsOf(a.Input(1));
  if (x == nullptr || x->size() != 3) return shapes;
  const std::vector<std::int64_t> sizes = a.attributes().Ints("qkv_hidden_sizes");
  std::int64_t width = kUnknownSize;
  if (sizes.size() == 3) {
    width = sizes[2];
  } else if (weights != nullptr && weights->size() == 2 && Known((*weights)[1])) {
    width = (*weights)[1] / 3;
  }
  shapes[0] = Dims{(*x)[0], (*x)[1], width};
  shapes[1] = Dims{2, (*x)[0], a.Int("num_heads"), kUnknownSize, kUnknownSize};
  return shapes;
}

OpSchema AttentionWithWeights() {
  constexpr float kMasked = -10000;
  return {.op_type = "Attention",
          .inputs = {{"input"},
                     {"weights"},
                     {"bias", true},
                     {"mask_index", true},
                     {"past", true},
                     {"attention_bias", true},
                     {"past_sequence_length", true}},
          .outputs = {{"output"}, {"present", true}},
          .attributes = {IntRule("do_rotary"),
                         FloatRule("mask_filter_value", kMasked),
                         RequiredInt("num_heads"),
                         IntRule("past_present_share_buffer"),
                         {"qkv_hidden_sizes", AttributeType::kInts},
                         IntRule("rotary_embedding_dim"),
                         FloatRule("scale"),
                         IntRule("unidirectional")},
          .checks = {OfOneType(kModelReal, {0, 1, 2, 4, 5}), OfTypes({ElementType::kInt32}, 3)},
          .shape = ShapeOfAttentionWithWeights};
}

// Quantized weights ------------------------------------------------------------------------------

// `data` holds 8 / bits values to a byte along its last axis where it is UINT8.
ModelShapes ShapeOfBlockGather(const Application& a) {
  const Dims* data = DimsOf(a.Input(0));
  const Dims* indices = DimsOf(a.Input(1));
  std::vector<std::optional<Dims>> shapes(1);
  if (data == nullptr || data->empty() || indices == nullptr) return shapes;
  const auto rank = std::ssize(*data);
  const std::int64_t axis = a.Int("gather_axis"), bits = a.Int("bits");
  if (axis < -rank || axis >= rank) return shapes;
  Dims logical = *data;
  if (a.Input(0).type == ElementType::kUint8 && bits > 0 && Known(logical.back()))
    logical.back() *= 8 / bits;
  const auto at = static_cast<std::ptrdiff_t>(AxisOf(axis, logical.size()));
  Dims y(logical.begin(), logical.begin() + at);
  y.insert(y.end(), indices->begin(), indices->end());
  y.insert(y.end(), logical.begin() + at + 1, logical.end());
  shapes[0] = std::move(y);
  return shapes;
}

ElementType BlockGatherType(const Application& a, std::size_t) { return a.Input(2).type; }

OpSchema GatherBlockQuantized() {
  constexpr std::int64_t kBlock = 128;
  const TypeSet stored = TypeSet{ElementType::kInt4, ElementType::kUint4, ElementType::kUint8,
                                 ElementType::kFloat4E2M1} |
                         kFloat8Types;
  return {
      .op_type = "GatherBlockQuantized",
      .inputs = {{"data"}, {"indices"}, {"scales"}, {"zero_points", true}},
      .outputs = {{"output"}},
      .attributes = {IntRule("bits", 4), IntRule("block_size", kBlock), IntRule("gather_axis"),
                     IntRule("quantize_axis", 1)},
      .checks = {OfOneType(stored, {0, 3}), OfTypes({ElementType::kInt32, ElementType::kInt64}, 1),
                 OfTypes(kModelReal, 2)},
      .shape = ShapeOfBlockGather,
      .type = BlockGatherType};
}

}  // namespace

void AddLanguageModelRows(std::vector<OpSchema>& rows) {
  constexpr float kQuickAlpha = 1.702F;
  for (OpSchema row :
       {SkipNormalization("SkipLayerNormalization",
                          {{"input"}, {"skip"}, {"gamma"}, {"beta", true}, {"bias", true}}),
        SkipNormalization("SkipSimplifiedLayerNormalization",
                          {{"input"}, {"skip"}, {"gamma"}, {"bias", true}}),
        SimplifiedLayerNormalization(), EmbedLayerNormalization(), Activation("Gelu", {{"X"}}),
        Activation("BiasGelu", {{"A"}, {"B"}}), Activation("FastGelu", {{"X"}, {"bias", true}}),
        Activation("QuickGelu", {{"X"}}, {FloatRule("alpha", kQuickAlpha)}),
        RotaryEmbeddingOfRuntime(), GroupQueryAttention(), MultiHeadAttention(),
        AttentionWithWeights(), GatherBlockQuantized()}) {
    rows.push_back(std::move(row));
  }
}

}  // namespace qtx::format::catalogue
