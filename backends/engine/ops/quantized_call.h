// Operators whose tensors are plain integers with scales and zero points beside them, as calls of
// the operator on quantized tensors that they stand for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/plan.h"

namespace qtx::backend::engine {

/// Scale and zero point of a tensor: constant or computed.
struct CallParameters {
  const Value* scale = nullptr;       // null: 1
  const Value* zero_point = nullptr;  // null: 0
  std::vector<std::int64_t> axis;     // that they vary along; none: one for all
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

/// Scale and zero point from inputs `scale` and `zero_point` of the node, of `value`'s type;
/// `channel_axis` is the axis they may vary along (-1: none).
/// Errors: kInvalid for other types and shapes.
Result<CallParameters> ReadParameters(const NodePlan& node, format::ElementType type,
                                      std::size_t scale, std::size_t zero_point,
                                      const format::Dims& dims, std::int64_t channel_axis = -1);

/// Prepared now where all parameters are constant, else whenever it runs.
/// Errors: kInvalid for scales that are not positive and finite; those of the call itself.
StepResult MakeCall(const NodePlan& node, QuantizedCall call);

}  // namespace qtx::backend::engine
