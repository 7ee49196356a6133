// GraphProto.quantization_annotation: names of initializers that are a tensor's scale and zero
// point.  Source: onnx.proto, TensorAnnotation.
#pragma once

#include <string>
#include <vector>

#include "ledger.h"
#include "qoperator/typing.h"

namespace qtx::convert {

bool HasAnnotations(const format::Graph& graph);

struct Annotations {
  ParametersOfValues integers;  // of values on integers
  ParametersOfValues reals;     // of FLOAT values
};

/// What the annotations of `model`, of which `index` is, say of values. Those that a type can say
/// are taken out of `model`, the others stay, with a line in the ledger.
/// Errors: kInvalid for bytes that are no annotations, and a scale that is not positive and finite.
Result<Annotations> TakeAnnotations(const GraphIndex& index, format::Model& model, Ledger& ledger);

struct TensorAnnotation {
  std::string tensor, scale, zero_point;  // names; zero_point may be absent
};

/// Adds them to `graph`.
void AddAnnotations(const std::vector<TensorAnnotation>& annotations, format::Graph& graph);

}  // namespace qtx::convert
