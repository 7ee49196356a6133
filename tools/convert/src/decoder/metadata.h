// A decoder's hyperparameters from the metadata of a GGUF file.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "decoder/config.h"
#include "qtx/format/result.h"

namespace qtx::convert::decoder {

/// A number or truth value, a text, or an array of numbers or truth values.
using MetadataValue = std::variant<double, std::string, std::vector<double>>;
using Metadata = std::map<std::string, MetadataValue, std::less<>>;

/// The architectures whose graph is known, separated by commas.
std::string KnownArchitectures();

/// The configuration of the architecture that `general.architecture` names, as llama.cpp reads it:
/// llama (and Mistral), qwen2, qwen3, gemma, gemma2, gemma3, phi3. Other keys than those that begin
/// with the architecture's name do not matter.
/// Errors: kUnsupported for another architecture, and for a key of this one that is unknown or asks
/// for what the graph does not compute; kInvalid for a value that is missing or out of range.
/// Source: the keys are described in ggml's docs/gguf.md; what a missing one stands for is
/// llama.cpp's src/llama-model.cpp and src/models/ARCHITECTURE.cpp (version of 2026-10).
Result<DecoderConfig> ConfigOf(const Metadata& metadata, const Weights& weights);

}  // namespace qtx::convert::decoder
