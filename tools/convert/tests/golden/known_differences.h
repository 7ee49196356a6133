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
    "an LSTM is not converted: TFLite's keeps intermediate values in types that ONNX's has not";
inline constexpr std::string_view kSubgraphs = "several subgraphs, refused by name";
inline constexpr std::string_view kNoShape = "the file gives the output no shape";
inline constexpr std::string_view kNoRelation =
    "SPACE_TO_DEPTH of plain UINT8 to a quantized type: the file relates the two by nothing";
// With this changed, every set of XNNPACK that runs is equal, bit for bit.
inline constexpr std::string_view kQuantize =
    "XNNPACK's QUANTIZE between 8-bit types: (d * half_even(256 * x_scale / y_scale) + 2^7) >> 8";

inline constexpr KnownDifference kKnownDifferences[] = {
    {"tflite-calibrated/lstm_quantized/", kLstm},
    {"tflite-calibrated/resource_vars_calibrated/", kSubgraphs},
    {"tflite-calibrated/unidirectional_sequence_lstm_calibrated/", kLstm},
    {"tflite-float-glow/strided_slice_test5/", kNoShape},
    {"tflite-net/keras_lstm_mnist_ptq/", kLstm},
    {"tflite-net/rnnoise_INT8/normal xnnpack", kQuantize},
    {"tflite-net/rnnoise_INT8/uniform xnnpack", kQuantize},
    {"tflite-net/trained_lstm_float/", kLstm},
    {"tflite-net/trained_lstm_int8/", kLstm},
    {"tflite-op/aeq_constant_tensor_and_buffer_only_sharing_weight_fcs/", kSubgraphs},
    {"tflite-op/java_quantized/", kNoRelation},
    {"tflite-op/multi_signatures/", kSubgraphs},
};

inline const KnownDifference* FindKnownDifference(std::string_view name) {
  const auto* found = std::ranges::find_if(kKnownDifferences, [name](const KnownDifference& known) {
    return known.name.ends_with('/') ? name.starts_with(known.name) : name == known.name;
  });
  return found == std::end(kKnownDifferences) ? nullptr : found;
}

}  // namespace qtx::convert::golden
