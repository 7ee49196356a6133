// Quantized types of an extended model, for writers of stock ONNX.
#pragma once

#include <map>
#include <set>
#include <string>

#include "onnx/graph_index.h"
#include "qtx/graph/graph_builder.h"

namespace qtx::convert {

/// Quantized types by value.
using QuantizedTypes = std::map<std::string, format::TensorType>;

/// How the parameters of initializers are given: those of all of them together may be gigabytes.
enum class Initializers { kInline, kAsDeclared };

/// The quantized types of all declared values, with inline parameters.
/// Errors: kInvalid for a quantized value without parameters, or those of Resolve, naming the
/// value.
Result<QuantizedTypes> QuantizedTypesOf(const format::Model& model,
                                        Initializers initializers = Initializers::kInline);

/// `declared`, the type of value `name`, with inline parameters.
/// Errors: those of Resolve, naming the value.
Result<format::TensorType> WithInlineParameters(const format::ModelView& view,
                                                const format::TensorType& declared,
                                                const std::string& name);

/// The initializers that types name as scales, offsets or levels.
std::set<std::string> NamedParameters(const format::Graph& graph);

/// "value 'x'": a place for errors.
std::string PlaceOfValue(const std::string& name);

/// The real of a stored bound as an initializer for a Clip before the quantizer. One binary32
/// rounding moves a bound by far less than half an LSB of an 8- or 16-bit type, so that the
/// quantizer rounds it back to the stored bound.  REQUIRES: one scale.  Errors: kUnsupported where
/// one of 16 bits does not.
Result<format::Tensor> RealBound(const format::Quantization& q, std::int64_t stored);

}  // namespace qtx::convert
