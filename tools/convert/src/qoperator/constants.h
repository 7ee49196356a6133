// Parameters that are constants of a model, as the inputs of an operator say them.
#pragma once

#include <optional>
#include <string>

#include "onnx/graph_index.h"
#include "qdq/parameters.h"
#include "qoperator/operators.h"

namespace qtx::convert {

/// Of which value parameters are wanted.
struct OperandQuery {
  OperandSlots slots;
  std::string value;            // the name it has
  std::int64_t axis = 0;        // that several parameters go along; negative: from the end
  format::ElementType storage;  // where neither zero point nor declaration says
};

/// The parameters `query.slots` name. nullopt with `why` when they cannot be a type's.
/// Errors: kInvalid for a scale that is not positive and finite, for sizes that disagree, and for a
/// value declared with another element type than its zero point.
Result<std::optional<QdqParameters>> ConstantParameters(const GraphIndex& index,
                                                        const format::Node& node,
                                                        const OperandQuery& query,
                                                        std::string& why);

/// Values of a FLOAT, FLOAT16 or BFLOAT16 tensor, which a binary32 holds. nullopt for other types.
std::optional<std::vector<float>> Floats(const format::Tensor& tensor);

/// Storage type of an initializer, a Constant or a declared value; kUndefined when none says.
Result<format::ElementType> StorageOfValue(const GraphIndex& index, const std::string& value);

/// Errors: kInvalid naming `name` where one is not finite and above 0.
Result<void> CheckScales(std::span<const float> scales, const std::string& name);

}  // namespace qtx::convert
