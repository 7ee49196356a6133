// What a decoder's graph depends on besides its weights.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "qtx/format/shape.h"

namespace qtx::convert::decoder {

/// How the angles of rotary embeddings grow with the position. Angle i of a token is position *
/// Frequencies(rope)[i], in radians.
struct Rope {
  double base = 10000;
  std::int64_t size = 0;     // elements of a head that turn; even
  bool interleaved = false;  // pair i is the elements 2i and 2i + 1, else i and i + size / 2
  double stretch = 1;        // positions are divided by it
  /// YaRN: low frequencies are stretched, high ones kept, those between mixed.
  struct Yarn {
    double fast = 32, slow = 1;   // turns within the original context: kept above, stretched below
    double original_context = 0;  // tokens
    bool operator==(const Yarn&) const = default;
  };
  bool has_yarn = false;
  Yarn yarn;
  double magnitude = 1;  // factor of sines and cosines
  std::string divisors;  // the weight that holds a divisor of each frequency; empty: none
  bool operator==(const Rope&) const = default;
};

/// The size / 2 frequencies in radians per token, without `divisors`.
/// Source: Su et al., "RoFormer" (2021); Peng et al., "YaRN" (2023), equations 21 to 23.
std::vector<float> Frequencies(const Rope& rope);

enum class Activation { kSilu, kGeluTanh };

/// A decoder of the Llama family: each layer adds attention and then a gated feed-forward network,
/// both of the normalized sum so far.
struct DecoderConfig {
  std::string architecture;  // for messages
  std::int64_t layers = 0;
  std::int64_t width = 0;  // of the sum that goes through all layers
  std::int64_t heads = 0, kv_heads = 0;
  std::int64_t key_size = 0, value_size = 0;  // elements of a head
  std::int64_t feed_forward = 0;              // rows of ffn_up
  float norm_epsilon = 0;
  Activation activation = Activation::kSilu;
  float embedding_scale = 1;
  float attention_scale = 0;    // 0: 1 / sqrt(key_size)
  float attention_softcap = 0;  // 0: none
  float logit_softcap = 0;
  bool norms_add_one = false;  // gains are stored less 1 (Gemma's checkpoints, not their GGUF)
  Rope rope;
  std::int64_t window = 0;     // keys that a query of a local layer sees, itself included
  std::vector<bool> is_local;  // by layer; empty: none is
  Rope local_rope;             // of local layers
};

/// Weights by GGUF's names, such as blk.0.attn_q.weight: the value that holds each, and its shape,
/// that of a matrix being [outputs, inputs].
struct Weight {
  std::string value;
  format::Dims dims;
};
using Weights = std::map<std::string, Weight, std::less<>>;

}  // namespace qtx::convert::decoder
