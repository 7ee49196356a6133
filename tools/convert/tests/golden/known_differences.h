// Sets that the reference does not reproduce, each with its reason. One that comes to be equal
// fails the test, so that this list only shrinks.
#pragma once

#include <algorithm>
#include <string_view>

namespace qtx::convert::golden {

struct KnownDifference {
  std::string_view name;  // "family/model/run kernels"; "family/model/" stands for all of its sets
  std::string_view why;
};

inline constexpr std::string_view kLstm =
    "ONNX's LSTM has neither projection nor layer normalization";
inline constexpr std::string_view kResources = "CALL_ONCE and resource variables, refused by name";

inline constexpr KnownDifference kKnownDifferences[] = {
    {"tflite-calibrated/lstm_quantized/", kLstm},
    {"tflite-calibrated/resource_vars_calibrated/", kResources},
    {"tflite-calibrated/unidirectional_sequence_lstm_calibrated/", kLstm},
};

inline const KnownDifference* FindKnownDifference(std::string_view name) {
  const auto* found = std::ranges::find_if(kKnownDifferences, [name](const KnownDifference& known) {
    return known.name.ends_with('/') ? name.starts_with(known.name) : name == known.name;
  });
  return found == std::end(kKnownDifferences) ? nullptr : found;
}

}  // namespace qtx::convert::golden
