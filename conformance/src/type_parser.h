// The type of a value of a case: element type, shape, quantization, statistics.
#pragma once

#include "qtx/format/result.h"
#include "qtx/format/tensor_type.h"
#include "yaml.h"
#include "yaml_reader.h"

namespace qtx::conformance {

/// The type keys of a typed value; those of its data are known and skipped. elem_type is kUndefined
/// without `type`. Any quantization key gives the type a quantization, and so does a quantized
/// type. Errors: kInvalid for unknown keys and values out of their field's range.
Result<format::TensorType> ParseType(const Yaml& node, const Place& place);

}  // namespace qtx::conformance
