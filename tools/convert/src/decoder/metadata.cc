#include "decoder/metadata.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "errors.h"
#include "qtx/format/tensor_type.h"

namespace qtx::convert::decoder {
namespace {

// What sets an architecture apart. Presence of biases, norms of heads and norms after a part shows
// in the weights.
struct Architecture {
  std::string_view name;
  bool interleaved = false;
  bool is_gemma = false;          // scaled embedding, GELU
  std::int64_t local_period = 0;  // local layers are those but the last of each period; 0: none
  double local_base = 0;          // of rope in local layers; 0: that of the others
  bool scaled_locally = true;     // positions of local layers are stretched, too
  std::int64_t window = 0;        // where metadata says none
  std::int64_t largest = 0;       // number of layers of the model whose attention scale differs
};

constexpr std::array<Architecture, 7> kArchitectures = {
    {{.name = "llama", .interleaved = true},
     {.name = "qwen2"},
     {.name = "qwen3"},
     {.name = "gemma", .is_gemma = true},
     {.name = "gemma2", .is_gemma = true, .local_period = 2, .window = 4096, .largest = 46},
     {.name = "gemma3",
      .is_gemma = true,
      .local_period = 6,
      .local_base = 10000,
      .scaled_locally = false,
      .largest = 62},
     {.name = "phi3", .local_period = 1}}};

// Keys that say nothing about what a graph computes.
constexpr std::array<std::string_view, 4> kSilent = {
    "context_length", "vocab_size", "tensor_data_layout", "rope.scaling.finetuned"};

// The keys of one architecture, counted off as they are read.
class Reader {
 public:
  Reader(const Metadata& metadata, std::string prefix)
      : metadata_(metadata), prefix_(std::move(prefix)) {}

  const MetadataValue* Find(std::string_view key) {
    read_.insert(std::string(key));
    const auto found = metadata_.find(prefix_ + std::string(key));
    return found == metadata_.end() ? nullptr : &found->second;
  }
  /// A number, or an array whose values are all the same.
  Result<double> Number(std::string_view key, std::optional<double> fallback = std::nullopt);
  /// A whole number from `least` to 2^24.
  Result<std::int64_t> Count(std::string_view key, std::int64_t least,
                             std::optional<std::int64_t> fallback = std::nullopt);
  Result<std::string> Text(std::string_view key, std::string fallback);
  /// Errors: kUnsupported for a key of the architecture that nothing read.
  Result<void> End() const;
  Error At(std::string_view key, std::string message) const {
    return Invalid("metadata '" + prefix_ + std::string(key) + "'", std::move(message));
  }

 private:
  const Metadata& metadata_;
  std::string prefix_;
  std::set<std::string, std::less<>> read_;
};

Result<double> Reader::Number(std::string_view key, std::optional<double> fallback) {
  const MetadataValue* value = Find(key);
  if (value == nullptr) {
    if (fallback) return *fallback;
    return At(key, "is missing");
  }
  if (const auto* number = std::get_if<double>(value)) {
    if (std::isfinite(*number)) return *number;
    return At(key, "is not finite");
  }
  const auto* numbers = std::get_if<std::vector<double>>(value);
  if (numbers == nullptr || numbers->empty()) return At(key, "is not a number");
  if (std::ranges::all_of(*numbers, [&](double n) { return n == numbers->front(); }))
    return numbers->front();
  return Unsupported("metadata '" + prefix_ + std::string(key) + "'",
                     "differs from layer to layer");
}

Result<std::int64_t> Reader::Count(std::string_view key, std::int64_t least,
                                   std::optional<std::int64_t> fallback) {
  if (fallback && Find(key) == nullptr) return *fallback;
  QTX_ASSIGN_OR_RETURN(const double number, Number(key));
  constexpr double kMost = 1 << 24;
  if (number != std::floor(number) || number < static_cast<double>(least) || number > kMost) {
    return At(key, "is " + format::HexFloat(number) + ", expected a whole number from " +
                       std::to_string(least) + " to 2^24");
  }
  return static_cast<std::int64_t>(number);
}

Result<std::string> Reader::Text(std::string_view key, std::string fallback) {
  const MetadataValue* value = Find(key);
  if (value == nullptr) return fallback;
  if (const auto* text = std::get_if<std::string>(value)) return *text;
  return At(key, "is not a text");
}

Result<void> Reader::End() const {
  for (auto it = metadata_.lower_bound(prefix_);
       it != metadata_.end() && it->first.starts_with(prefix_); ++it) {
    const std::string_view key = std::string_view(it->first).substr(prefix_.size());
    if (read_.contains(key) || std::ranges::count(kSilent, key) > 0) continue;
    return Unsupported("metadata '" + it->first + "'",
                       "is a key that this graph does not take into account");
  }
  return {};
}

Result<void> ReadSizes(Reader& reader, DecoderConfig* config) {
  QTX_ASSIGN_OR_RETURN(config->layers, reader.Count("block_count", 1));
  QTX_ASSIGN_OR_RETURN(config->width, reader.Count("embedding_length", 1));
  QTX_ASSIGN_OR_RETURN(config->feed_forward, reader.Count("feed_forward_length", 1));
  QTX_ASSIGN_OR_RETURN(config->heads, reader.Count("attention.head_count", 1));
  QTX_ASSIGN_OR_RETURN(config->kv_heads, reader.Count("attention.head_count_kv", 1, config->heads));
  if (config->heads % config->kv_heads != 0) {
    return reader.At("attention.head_count_kv", "is " + std::to_string(config->kv_heads) +
                                                    ", which does not divide " +
                                                    std::to_string(config->heads) + " heads");
  }
  const std::int64_t size = config->width / config->heads;
  QTX_ASSIGN_OR_RETURN(config->key_size, reader.Count("attention.key_length", 1, size));
  QTX_ASSIGN_OR_RETURN(config->value_size, reader.Count("attention.value_length", 1, size));
  if (config->key_size < 1 || config->value_size < 1)
    return reader.At("attention.head_count", "is more than embedding_length");
  return {};
}

Result<void> RefuseVariants(Reader& reader) {
  QTX_ASSIGN_OR_RETURN(const std::int64_t experts, reader.Count("expert_count", 0, 0));
  QTX_ASSIGN_OR_RETURN(const std::int64_t used, reader.Count("expert_used_count", 0, 0));
  if (experts > 0 || used > 0) return Unsupported("a mixture of experts");
  QTX_ASSIGN_OR_RETURN(const double causal, reader.Number("attention.causal", 1));
  if (causal != 1) return Unsupported("attention to later tokens");
  QTX_ASSIGN_OR_RETURN(const std::int64_t pooling, reader.Count("pooling_type", 0, 0));
  if (pooling != 0) return Unsupported("pooling");
  return {};
}

// The factor of positions in either of the keys that say it, 0 meaning 1.
Result<double> StretchOf(Reader& reader) {
  QTX_ASSIGN_OR_RETURN(const double linear, reader.Number("rope.scale_linear", 0));
  QTX_ASSIGN_OR_RETURN(const double factor, reader.Number("rope.scaling.factor", linear));
  if (factor < 0) return reader.At("rope.scaling.factor", "is negative");
  return factor == 0 ? 1 : factor;
}

Result<void> ReadScaling(Reader& reader, Rope* rope) {
  QTX_ASSIGN_OR_RETURN(const std::string type, reader.Text("rope.scaling.type", "linear"));
  QTX_ASSIGN_OR_RETURN(const double stretch, StretchOf(reader));
  QTX_ASSIGN_OR_RETURN(rope->magnitude, reader.Number("rope.scaling.attn_factor", 1));
  QTX_ASSIGN_OR_RETURN(const std::int64_t context, reader.Count("context_length", 0, 0));
  QTX_ASSIGN_OR_RETURN(const std::int64_t original,
                       reader.Count("rope.scaling.original_context_length", 0, context));
  if (type == "none") return {};
  if (type != "linear" && type != "yarn")
    return Unsupported("metadata 'rope.scaling.type'", "'" + type + "' scaling");
  rope->stretch = stretch;
  if (type == "linear") return {};
  if (original < 1)
    return reader.At("rope.scaling.original_context_length", "is missing; YaRN needs it");
  rope->has_yarn = true;
  rope->yarn.original_context = static_cast<double>(original);
  rope->magnitude *= stretch <= 1 ? 1 : 1 + 0.1 * std::log(stretch);
  return {};
}

Result<void> ReadRope(Reader& reader, const Architecture& architecture, const Weights& weights,
                      DecoderConfig* config) {
  Rope& rope = config->rope;
  rope.interleaved = architecture.interleaved;
  QTX_ASSIGN_OR_RETURN(rope.base, reader.Number("rope.freq_base", 10000));
  QTX_ASSIGN_OR_RETURN(rope.size, reader.Count("rope.dimension_count", 2, config->key_size));
  if (rope.base <= 1) return reader.At("rope.freq_base", "is not greater than 1");
  if (rope.size % 2 != 0 || rope.size > config->key_size) {
    return reader.At("rope.dimension_count", "is " + std::to_string(rope.size) +
                                                 ", expected an even number of at most " +
                                                 std::to_string(config->key_size));
  }
  QTX_RETURN_IF_ERROR(ReadScaling(reader, &rope));
  if (weights.contains("rope_freqs.weight")) rope.divisors = "rope_freqs.weight";
  config->local_rope = rope;
  if (!architecture.scaled_locally) config->local_rope.stretch = 1;
  const double local = architecture.local_base == 0 ? rope.base : architecture.local_base;
  if (architecture.local_period == 0) return {};
  QTX_ASSIGN_OR_RETURN(config->local_rope.base, reader.Number("rope.freq_base_swa", local));
  if (config->local_rope.base <= 1) return reader.At("rope.freq_base_swa", "is not greater than 1");
  return {};
}

// Which layers are local: an array of flags, or a period of which the last layer is not.
Result<void> ReadPattern(Reader& reader, std::int64_t period, DecoderConfig* config) {
  const auto layers = static_cast<std::size_t>(config->layers);
  const MetadataValue* pattern = reader.Find("attention.sliding_window_pattern");
  const auto* flags = pattern == nullptr ? nullptr : std::get_if<std::vector<double>>(pattern);
  if (flags != nullptr && flags->size() < layers) {
    return reader.At(
        "attention.sliding_window_pattern",
        "has " + std::to_string(flags->size()) + " values, expected " + std::to_string(layers));
  }
  if (flags == nullptr) {
    QTX_ASSIGN_OR_RETURN(period, reader.Count("attention.sliding_window_pattern", 0, period));
  }
  for (std::size_t i = 0; i < layers; ++i) {
    const bool last = period > 1 && static_cast<std::int64_t>(i) % period == period - 1;
    config->is_local.push_back(flags == nullptr ? !last : (*flags)[i] != 0);
  }
  return {};
}

Result<void> ReadWindow(Reader& reader, const Architecture& architecture, DecoderConfig* config) {
  if (architecture.local_period == 0) return {};
  QTX_ASSIGN_OR_RETURN(config->window,
                       reader.Count("attention.sliding_window", 0, architecture.window));
  if (config->window == 0) return {};
  return ReadPattern(reader, architecture.local_period, config);
}

Result<void> ReadGemma(Reader& reader, const Architecture& architecture, DecoderConfig* config) {
  if (!architecture.is_gemma) return {};
  config->activation = Activation::kGeluTanh;
  config->embedding_scale = static_cast<float>(std::sqrt(static_cast<double>(config->width)));
  if (architecture.largest != 0 && config->layers == architecture.largest) {
    const std::int64_t size = config->width / config->heads;
    config->attention_scale = static_cast<float>(1 / std::sqrt(static_cast<double>(size)));
  }
  if (architecture.local_period == 0) return {};
  if (architecture.name == "gemma2") {
    QTX_ASSIGN_OR_RETURN(const double cap, reader.Number("attn_logit_softcapping", 50));
    config->attention_softcap = static_cast<float>(cap);
  }
  const double fallback = architecture.name == "gemma2" ? 30 : 0;
  QTX_ASSIGN_OR_RETURN(const double cap, reader.Number("final_logit_softcapping", fallback));
  config->logit_softcap = static_cast<float>(cap);
  if (config->attention_softcap < 0 || config->logit_softcap < 0)
    return reader.At("final_logit_softcapping", "or attn_logit_softcapping is negative");
  return {};
}

}  // namespace

std::string KnownArchitectures() {
  std::string names;
  for (const Architecture& architecture : kArchitectures) {
    names += (names.empty() ? "" : ", ") + std::string(architecture.name);
  }
  return names;
}

Result<DecoderConfig> ConfigOf(const Metadata& metadata, const Weights& weights) {
  const auto named = metadata.find("general.architecture");
  const auto* name = named == metadata.end() ? nullptr : std::get_if<std::string>(&named->second);
  if (name == nullptr) return Invalid("metadata 'general.architecture'", "is missing or no text");
  const auto* architecture = std::ranges::find(kArchitectures, *name, &Architecture::name);
  if (architecture == kArchitectures.end()) {
    return Unsupported("architecture '" + *name + "'",
                       "has no known graph; those of " + KnownArchitectures() + " are known");
  }
  DecoderConfig config;
  config.architecture = *name;
  Reader reader(metadata, *name + ".");
  QTX_RETURN_IF_ERROR(RefuseVariants(reader));
  QTX_RETURN_IF_ERROR(ReadSizes(reader, &config));
  QTX_ASSIGN_OR_RETURN(const double epsilon, reader.Number("attention.layer_norm_rms_epsilon"));
  if (epsilon < 0) return reader.At("attention.layer_norm_rms_epsilon", "is negative");
  config.norm_epsilon = static_cast<float>(epsilon);
  QTX_RETURN_IF_ERROR(ReadRope(reader, *architecture, weights, &config));
  QTX_RETURN_IF_ERROR(ReadWindow(reader, *architecture, &config));
  QTX_RETURN_IF_ERROR(ReadGemma(reader, *architecture, &config));
  QTX_RETURN_IF_ERROR(reader.End());
  return config;
}

}  // namespace qtx::convert::decoder
