// UNIDIRECTIONAL_SEQUENCE_LSTM and LSTM: what both have.
#pragma once

#include <array>
#include <optional>

#include "tflite/builder.h"

namespace qtx::convert {

/// Positions of the 24 inputs; those of four gates come as input, forget, cell, output.
/// Source: TensorFlow lite/kernels/lstm_shared.h.
struct LstmInput {
  enum : std::size_t {
    kX = 0,
    kWeights = 1,
    kRecurrent = 5,
    kPeepholes = 9,  // input, forget, output
    kBias = 12,
    kProjection = 16,
    kProjectionBias = 17,
    kHidden = 18,
    kCell = 19,
    kNormalization = 20,
    kCount = 24
  };
};

struct LstmOptions {
  schema::ActivationFunctionType activation = schema::ActivationFunctionType::TANH;
  float cell_clip = 0, projection_clip = 0;
  bool time_major = true;
};

/// The layer, its inputs found to be there and to fit each other.
struct LstmLayer {
  /// Errors: kInvalid (missing inputs, shapes that disagree), kUnsupported naming what is not said
  /// in ONNX: coupled gates, other activations, the basic kernel, weights of a diagonal.
  static Result<LstmLayer> Make(TfliteBuilder& builder, const TfliteOperator& op);

  LstmOptions options;
  int x = 0, y = 0, hidden_state = 0, cell_state = 0;
  std::array<int, 4> weights = {}, recurrent = {}, bias = {};  // in ONNX's order: i, o, f, c
  std::array<int, 3> peepholes = {-1, -1, -1};                 // i, o, f
  bool has_projection = false, has_normalization = false;
  std::int64_t batch = 1, steps = 1, input = 1, units = 1;
};

}  // namespace qtx::convert
