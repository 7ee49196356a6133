// The small decoders of models.py: same names, shapes and weights.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "decoder/build.h"
#include "decoder/metadata.h"
#include "qtx/graph/graph_builder.h"

namespace qtx::convert::decoder {

struct Case {
  Metadata metadata;
  std::map<std::string, format::Dims> shapes;

  Weights weights() const {
    Weights weights;
    for (const auto& [name, dims] : shapes) weights[name] = {name, dims};
    return weights;
  }
};

inline constexpr std::int64_t kLayers = 2, kWidth = 32, kHeads = 4, kKvHeads = 2, kFeedForward = 48,
                              kVocabulary = 24;

/// `count` multiples of 1 / 512 from -1/4 to 1/4: FNV-1a of the name, mixed with the index.
inline std::vector<float> Values(const std::string& name, std::int64_t count) {
  std::uint32_t seed = 2166136261U;
  for (const char c : name) seed = (seed ^ static_cast<std::uint8_t>(c)) * 16777619U;
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint32_t hash = (static_cast<std::uint32_t>(i) ^ seed) * 16777619U;
    hash = (hash ^ hash >> 15) * 0x85EBCA6BU;
    hash ^= hash >> 13;
    values.push_back((static_cast<float>((hash >> 8) % 257) - 128) / 512);
  }
  return values;
}

inline std::vector<float> WeightValues(const std::string& name, std::int64_t count) {
  std::vector<float> values = Values(name, count);
  for (float& value : values) {
    if (name == "rope_freqs.weight") {
      value = 1 + 8 * std::abs(value);
    } else if (name.find("norm") != std::string::npos) {
      value = 1 + value;
    }
  }
  return values;
}

/// Further metadata of a case, and the tensors that it has besides those of all.
struct Extra {
  std::string architecture;
  Metadata metadata;
  std::vector<std::string> tensors;
  bool Has(const std::string& name) const {
    return std::find(tensors.begin(), tensors.end(), name) != tensors.end();
  }
};

inline Extra ExtraOf(const std::string& name) {
  using Text = std::string;
  Metadata gemma = {{"attention.key_length", 12.0}, {"attention.value_length", 12.0}};
  if (name == "llama") return {"llama", {}, {"output"}};
  if (name == "llama_tied_divisors") return {"llama", {{"rope.freq_base", 500.0}}, {"rope_freqs"}};
  if (name == "llama_linear_biases") {
    return {"llama",
            {{"rope.scaling.type", Text("linear")}, {"rope.scaling.factor", 4.0}},
            {"output", "attn_q", "attn_k", "attn_v", "attn_output"}};
  }
  if (name == "llama_yarn") {
    return {"llama",
            {{"rope.scaling.type", Text("yarn")},
             {"rope.scaling.factor", 4.0},
             {"rope.freq_base", 100.0},
             {"rope.scaling.original_context_length", 16.0}},
            {"output"}};
  }
  if (name == "qwen2") return {"qwen2", {}, {"attn_q", "attn_k", "attn_v"}};
  if (name == "qwen3") return {"qwen3", {{"rope.freq_base", 1e6}}, {"head_norms", "output"}};
  if (name == "phi3") return {"phi3", {{"rope.dimension_count", 6.0}}, {"fused", "output"}};
  if (name == "gemma") return {"gemma", gemma, {}};
  gemma["attention.sliding_window"] = 3.0;
  if (name == "gemma2") {
    gemma["attn_logit_softcapping"] = 2.0;
    gemma["final_logit_softcapping"] = 3.0;
    return {"gemma2", gemma, {"post_norms"}};
  }
  gemma["attention.sliding_window_pattern"] = 2.0;
  gemma["rope.freq_base"] = 1e6;
  gemma["rope.scaling.type"] = Text("linear");
  gemma["rope.scaling.factor"] = 8.0;
  return {"gemma3", gemma, {"head_norms", "post_norms"}};
}

inline void AddBlock(const std::string& block, std::int64_t size, const Extra& extra, Case* made) {
  const std::int64_t q = kHeads * size;
  const std::int64_t kv = kKvHeads * size;
  const auto add = [&](const std::string& name, format::Dims dims) {
    made->shapes[block + name] = std::move(dims);
  };
  add("attn_norm.weight", {kWidth});
  add("ffn_norm.weight", {kWidth});
  add("attn_output.weight", {kWidth, q});
  add("ffn_down.weight", {kWidth, kFeedForward});
  const bool fused = extra.Has("fused");
  add("ffn_up.weight", {kFeedForward * (fused ? 2 : 1), kWidth});
  if (fused) {
    add("attn_qkv.weight", {q + 2 * kv, kWidth});
  } else {
    add("ffn_gate.weight", {kFeedForward, kWidth});
    add("attn_q.weight", {q, kWidth});
    add("attn_k.weight", {kv, kWidth});
    add("attn_v.weight", {kv, kWidth});
  }
  if (extra.Has("attn_q")) add("attn_q.bias", {q});
  if (extra.Has("attn_k")) add("attn_k.bias", {kv});
  if (extra.Has("attn_v")) add("attn_v.bias", {kv});
  if (extra.Has("attn_output")) add("attn_output.bias", {kWidth});
  for (const char* norm : {"attn_q_norm.weight", "attn_k_norm.weight"}) {
    if (extra.Has("head_norms")) add(norm, {size});
  }
  for (const char* norm : {"post_attention_norm.weight", "post_ffw_norm.weight"}) {
    if (extra.Has("post_norms")) add(norm, {kWidth});
  }
}

inline std::int64_t HeadSize(const Extra& extra) {
  return extra.metadata.contains("attention.key_length") ? 12 : kWidth / kHeads;
}

inline Case CaseOf(const std::string& name) {
  const Extra extra = ExtraOf(name);
  Case made;
  const std::string prefix = extra.architecture + ".";
  made.metadata = {{"general.architecture", extra.architecture},
                   {prefix + "block_count", static_cast<double>(kLayers)},
                   {prefix + "context_length", 64.0},
                   {prefix + "embedding_length", static_cast<double>(kWidth)},
                   {prefix + "feed_forward_length", static_cast<double>(kFeedForward)},
                   {prefix + "attention.head_count", static_cast<double>(kHeads)},
                   {prefix + "attention.head_count_kv", static_cast<double>(kKvHeads)},
                   {prefix + "attention.layer_norm_rms_epsilon", static_cast<double>(1e-5F)},
                   {prefix + "vocab_size", static_cast<double>(kVocabulary)}};
  for (const auto& [key, value] : extra.metadata) made.metadata[prefix + key] = value;
  const std::int64_t size = HeadSize(extra);
  made.shapes["token_embd.weight"] = {kVocabulary, kWidth};
  made.shapes["output_norm.weight"] = {kWidth};
  if (extra.Has("output")) made.shapes["output.weight"] = {kVocabulary, kWidth};
  if (extra.Has("rope_freqs")) made.shapes["rope_freqs.weight"] = {size / 2};
  for (std::int64_t i = 0; i < kLayers; ++i) {
    AddBlock("blk." + std::to_string(i) + ".", size, extra, &made);
  }
  return made;
}

/// The model with its weights.
inline format::Model ModelOf(const Case& made) {
  format::Model model;
  model.ir_version = 10;
  model.opset_imports = {{.domain = "", .version = kOpset}};
  const DecoderConfig config = ConfigOf(made.metadata, made.weights()).value();
  model.graph = BuildDecoder(config, made.weights()).value();
  for (const auto& [name, dims] : made.shapes) {
    const std::vector<float> values = WeightValues(name, format::ElementCount(dims).value());
    const auto bytes = std::as_bytes(std::span(values));
    model.graph.initializers.push_back(format::ToTensorData(
        name, {format::ElementType::kFloat, dims, std::nullopt, {bytes.begin(), bytes.end()}}));
  }
  return model;
}

/// Keys and values of no token for each layer.
inline std::vector<format::Tensor> EmptyCache(const Case& made) {
  const DecoderConfig config = ConfigOf(made.metadata, made.weights()).value();
  std::vector<format::Tensor> cache;
  for (std::int64_t i = 0; i < 2 * config.layers; ++i) {
    cache.push_back(
        {format::ElementType::kFloat, {1, config.kv_heads, 0, config.key_size}, {}, {}});
  }
  return cache;
}

}  // namespace qtx::convert::decoder
