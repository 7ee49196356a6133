// Parses types of the command line and of rules: "int8:symmetric".
#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include "qtx/quantize/quantize.h"

namespace qtx::quantize {
namespace {

using format::ElementType;
using format::Scheme;

constexpr std::array kStorages = {ElementType::kInt2,  ElementType::kUint2, ElementType::kInt4,
                                  ElementType::kUint4, ElementType::kInt8,  ElementType::kUint8,
                                  ElementType::kInt16, ElementType::kUint16};
constexpr std::array kSmallFloats = {ElementType::kFloat4E2M1, ElementType::kFloat8E4M3FN,
                                     ElementType::kFloat8E5M2};
struct BlockFormat {
  std::string_view name;
  ElementType storage;
  std::int64_t block;
  ScaleType scale_type;
};
// Sources: OCP MX v1.0, table 1; "Introducing NVFP4 for Efficient and Accurate Low-Precision
// Inference", NVIDIA 2025.
constexpr std::array kBlockFormats = {
    BlockFormat{"mxfp4", ElementType::kFloat4E2M1, 32, ScaleType::kFloat8E8M0},
    BlockFormat{"mxfp8e4m3", ElementType::kFloat8E4M3FN, 32, ScaleType::kFloat8E8M0},
    BlockFormat{"mxfp8e5m2", ElementType::kFloat8E5M2, 32, ScaleType::kFloat8E8M0},
    BlockFormat{"nvfp4", ElementType::kFloat4E2M1, 16, ScaleType::kNvfp4}};
constexpr std::array kSchemes = {Scheme::kAsymmetric, Scheme::kSymmetric, Scheme::kAsymmetricPow2,
                                 Scheme::kSymmetricPow2, Scheme::kSymmetricUint8};
constexpr const char* kExpected =
    "expected float, or int2, uint2, int4, uint4, int8, uint8, int16 or uint16, then after colons "
    "asymmetric, symmetric, asymmetric_pow2, symmetric_pow2 or symmetric_uint8";

std::vector<std::string_view> Words(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t colon = text.find(':');
    words.push_back(text.substr(0, colon));
    if (colon == std::string_view::npos) return words;
    text.remove_prefix(colon + 1);
  }
}

Error Unknown(std::string_view text, std::string_view word, const std::string& more) {
  return {ErrorCode::kInvalid, "",
          "found '" + std::string(word) + "' in '" + std::string(text) + "', " + kExpected + more};
}

bool SetStorage(std::string_view word, std::span<const ElementType> storages, TypeSpec& type) {
  const auto storage = format::ElementTypeFromName(word);
  if (!storage || std::ranges::find(storages, *storage) == storages.end()) return false;
  type.storage = *storage;
  return true;
}

bool SetScheme(std::string_view word, TypeSpec& type) {
  const auto scheme = std::ranges::find(kSchemes, word, [](Scheme s) { return format::Name(s); });
  if (scheme == kSchemes.end()) return false;
  type.scheme = *scheme;
  return true;
}

// Unsigned data in a signed storage of another width has no such scheme (quantization.C10).
Result<void> CheckType(std::string_view text, const TypeSpec& type) {
  if (type.scheme != Scheme::kSymmetricUint8 || type.storage == ElementType::kInt8 ||
      type.storage == ElementType::kUint8)
    return {};
  return Error{ErrorCode::kInvalid, "",
               "found '" + std::string(text) + "', expected int8 or uint8 with symmetric_uint8"};
}

bool SetBlock(std::string_view word, WeightChoice& choice) {
  constexpr std::string_view kBlock = "block=";
  if (!word.starts_with(kBlock)) return false;
  word.remove_prefix(kBlock.size());
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), choice.block);
  choice.granularity = Granularity::kBlocks;
  return error == std::errc() && end == word.data() + word.size() && choice.block >= 1;
}

bool SetSize(std::string_view word, WeightChoice& choice) {
  if (word == "per-tensor") {
    choice.granularity = Granularity::kPerTensor;
  } else if (word == "per-axis") {
    choice.granularity = Granularity::kPerAxis;
  } else {
    return SetBlock(word, choice);
  }
  return true;
}

bool SetWeights(std::string_view word, WeightChoice& choice) {
  if (SetSize(word, choice)) return true;
  if (IsSmallFloat(choice.type.storage)) return false;
  if (word != "narrow" && word != "full") return SetScheme(word, choice.type);
  choice.type.narrow = word == "narrow";
  return true;
}

bool SetWeightStorage(std::string_view word, TypeSpec& type) {
  if (SetStorage(word, kSmallFloats, type)) return true;
  if (!SetStorage(word, kStorages, type)) return false;
  // Symmetric weights do not fit an unsigned storage (quantization.C10).
  if (format::StorageRange(type.storage).min == 0) type.scheme = Scheme::kAsymmetric;
  return true;
}

}  // namespace

Result<ActivationChoice> ParseActivations(std::string_view text) {
  ActivationChoice choice;
  const auto words = Words(text);
  if (text == "float") return ActivationChoice{.quantized = false};
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool known = i == 0 ? SetStorage(words[i], kStorages, choice.type)
                              : words[i] == "narrow" || SetScheme(words[i], choice.type);
    if (!known) return Unknown(text, words[i], ", or narrow");
    choice.type.narrow = choice.type.narrow || words[i] == "narrow";
  }
  QTX_RETURN_IF_ERROR(CheckType(text, choice.type));
  return choice;
}

Result<WeightChoice> ParseWeights(std::string_view text) {
  WeightChoice choice;
  const auto words = Words(text);
  if (text == "float") {
    choice.quantized = false;
    return choice;
  }
  const auto row = std::ranges::find(kBlockFormats, text, &BlockFormat::name);
  if (row != kBlockFormats.end()) {
    choice.type.storage = row->storage;
    choice.granularity = Granularity::kBlocks;
    choice.block = row->block;
    choice.scale_type = row->scale_type;
    return choice;
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool known =
        i == 0 ? SetWeightStorage(words[i], choice.type) : SetWeights(words[i], choice);
    if (!known) {
      return Unknown(
          text, words[i],
          ", per-tensor, per-axis, block=N, narrow or full; or float4e2m1, float8e4m3fn or "
          "float8e5m2, then per-tensor, per-axis or block=N; or mxfp4, mxfp8e4m3, "
          "mxfp8e5m2 or nvfp4");
    }
  }
  QTX_RETURN_IF_ERROR(CheckType(text, choice.type));
  return choice;
}

}  // namespace qtx::quantize
