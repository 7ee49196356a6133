// Paths, declarations, nodes, output indices and expected tensors of a case (the model and inputs
// are in case.h).
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "qtx/conformance/case.h"

namespace qtx::conformance {

/// A value's declared type; literal data without a shape have one axis.
format::ValueInfo Declare(const CaseValue& value);

/// A node of a case.
format::Node NodeOf(const CaseNode& part, std::string name);

/// The path of `relative` in the suite's folder, which it must not leave.
/// Errors: kInvalid.
Result<std::string> PathInFolder(const Case& c, const std::string& relative);

/// Index of the model output that `c.outputs[i]` describes: by name, else the i-th.
/// Errors: kInvalid when there is none.
Result<std::size_t> OutputIndex(const Case& c, const format::Model& model, std::size_t i);

/// The expected tensor of an output; nullopt if the reference computes it.
/// Errors: those of ParseNpy; kInvalid when the file's type does not fit the output's.
Result<std::optional<format::Tensor>> BuildExpected(const Case& c, const format::Model& model,
                                                    std::size_t i);

}  // namespace qtx::conformance
