// Parses the type of a case's value: element type, shape, quantization, statistics.
#pragma once

#include "qtx/format/result.h"
#include "qtx/format/tensor_type.h"
#include "yaml.h"
#include "yaml_reader.h"

namespace qtx::conformance {

/// Reads the type keys of a typed value and skips its data keys. elem_type is kUndefined without
/// `type`. The type gets a quantization if any of its keys is present or elem_type is quantized.
/// Errors: kInvalid for unknown keys and values out of their field's range.
Result<format::TensorType> ParseType(const Yaml& node, const Place& place);

}  // namespace qtx::conformance
