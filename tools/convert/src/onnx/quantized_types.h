// Quantized types and unused names of an extended model, for writers of stock ONNX.
#pragma once

#include <map>
#include <set>
#include <string>

#include "onnx/graph_index.h"

namespace qtx::convert {

/// Quantized types by value, with inline parameters.
using QuantizedTypes = std::map<std::string, format::TensorType>;

/// The quantized types of all declared values.
/// Errors: kInvalid for a quantized value without parameters, or those of Resolve, naming the
/// value.
Result<QuantizedTypes> QuantizedTypesOf(const format::Model& model);

/// "value 'x'": a place for errors.
std::string PlaceOfValue(const std::string& name);

/// Generates value names that no graph of a flat model has.
class NameSource {
 public:
  explicit NameSource(const GraphIndex& index);
  /// `name`, or with the first free suffix of #2, #3, ...
  std::string Unique(const std::string& name);

 private:
  std::set<std::string> names_;
};

/// The real of a stored bound as an initializer for a Clip before the quantizer. One binary32
/// rounding moves a bound by far less than half an LSB of an 8- or 16-bit type, so that the
/// quantizer rounds it back to the stored bound.  REQUIRES: one scale.
format::Tensor RealBound(const format::Quantization& q, std::int64_t stored);

}  // namespace qtx::convert
