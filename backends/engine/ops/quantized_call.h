// QLinear and Integer operators, whose inputs are plain integers, scales and zero points, computed
// as the ordinary operator on quantized tensors.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/plan.h"

namespace qtx::backend::engine {

/// Scale and zero point of a tensor, constant or computed by the model.
struct CallParameters {
  const Value* scale = nullptr;       // null: 1
  const Value* zero_point = nullptr;  // null: 0
  std::vector<std::int64_t> axis;     // along which they vary; empty: per tensor
};

struct CallInput {
  const Value* value = nullptr;
  CallParameters parameters;
};

/// The call: `op_type` on `inputs` as quantized tensors, its result stored as plain integers.
struct QuantizedCall {
  std::string op_type;
  std::vector<format::Attribute> attributes;
  std::int64_t opset = 0;
  std::vector<CallInput> inputs;
  /// Bias in units of the accumulator: its scale is that of inputs[1] times `bias_factor`s.
  std::optional<CallInput> bias;
  std::vector<const Value*> bias_scales;  // scalars; the product with bias_constant is bias_factor
  format::ElementType type = format::ElementType::kUndefined;  // of the plain output
  CallParameters output;
  bool real_output = false;  // FLOAT, not quantized
};

/// Scale and zero point from inputs `scale` and `zero_point` of the node; `channel_axis` is the
/// axis along which a vector of them varies.
Result<CallParameters> ReadParameters(const NodePlan& node, std::size_t scale,
                                      std::size_t zero_point, std::int64_t channel_axis = 0);

/// The nested model is prepared at once if all parameters are constant, else at each run.
/// Errors: kInvalid with the node's clause for scales that are not positive and finite; those of
/// the call itself.
StepResult MakeCall(const NodePlan& node, QuantizedCall call);

}  // namespace qtx::backend::engine
