// GraphProto.quantization_annotation: names of initializers that are a tensor's scale and zero
// point.  Source: onnx.proto, TensorAnnotation.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "qoperator/type_inference.h"

namespace qtx::convert {

/// Whether there are annotations that say more than QuantizeLinear and DequantizeLinear do.
bool HasAnnotations(const format::Graph& graph);

struct Annotations {
  ParametersOfValues integers;                            // of values on integers
  ParametersOfValues reals;                               // of FLOAT values
  std::map<std::string, std::vector<std::string>> names;  // of their scales and zero points
};

/// Reads those that a quantized type can express.
/// Errors: kInvalid for malformed annotations, and a scale that is not positive and finite.
Result<Annotations> ReadAnnotations(const GraphIndex& index);

/// Removes the annotations of `tensors`.
void EraseAnnotations(const std::set<std::string>& tensors, format::Graph& graph);

/// Adds one of a tensor with one scale: an annotation has no axis.  `parameters`: the names of
/// scale and, unless it is absent, zero point.
void AddAnnotation(const std::string& tensor, const std::vector<std::string>& parameters,
                   format::Graph& graph);

}  // namespace qtx::convert
