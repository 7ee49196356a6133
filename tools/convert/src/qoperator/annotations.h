// GraphProto.quantization_annotation: names of initializers that are a tensor's scale and zero
// point.  Source: onnx.proto, TensorAnnotation.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "qoperator/type_inference.h"

namespace qtx::convert {

bool HasAnnotations(const format::Graph& graph);

struct Annotations {
  ParametersOfValues integers;                            // of values on integers
  ParametersOfValues reals;                               // of FLOAT values
  std::map<std::string, std::vector<std::string>> names;  // of their scales and zero points
};

/// Reads the annotations that a quantized type can express.
/// Errors: kInvalid for malformed annotations, and a scale that is not positive and finite.
Result<Annotations> ReadAnnotations(const GraphIndex& index);

/// Removes the annotations of `tensors`.
void EraseAnnotations(const std::set<std::string>& tensors, format::Graph& graph);

struct TensorAnnotation {
  std::string tensor, scale, zero_point;  // names; zero_point may be absent
};

/// Adds them to `graph`.
void AddAnnotations(const std::vector<TensorAnnotation>& annotations, format::Graph& graph);

}  // namespace qtx::convert
