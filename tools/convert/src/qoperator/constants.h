// Constant parameters in the inputs of operators.
#pragma once

#include <optional>
#include <string>

#include "onnx/graph_index.h"
#include "qdq/parameters.h"
#include "qoperator/operators.h"

namespace qtx::convert {

/// The value whose parameters are read.
struct OperandQuery {
  OperandSlots slots;
  std::string value;            // its name
  std::int64_t axis = 0;        // of several parameters; negative: from the end
  format::ElementType storage;  // if neither zero point nor declaration has it
};

/// The parameters in `query.slots`. nullopt with `why` if they do not form a type.
/// Errors: kInvalid for a scale that is not positive and finite, for sizes that disagree, and for a
/// value declared with another element type than its zero point.
Result<std::optional<QdqParameters>> ConstantParameters(const GraphIndex& index,
                                                        const format::Node& node,
                                                        const OperandQuery& query,
                                                        std::string& why);

/// Values of a FLOAT, FLOAT16 or BFLOAT16 tensor as binary32; nullopt for other types.
std::optional<std::vector<float>> Floats(const format::Tensor& tensor);

/// Storage type of an initializer, a Constant or a declared value; kUndefined if unknown.
Result<format::ElementType> StorageOfValue(const GraphIndex& index, const std::string& value);

/// Errors: kInvalid naming `name` where one is not finite and above 0.
Result<void> CheckScales(std::span<const float> scales, const std::string& name);

}  // namespace qtx::convert
