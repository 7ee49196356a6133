// What of a case the runner needs beyond its model and inputs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "qtx/conformance/case.h"

namespace qtx::conformance {

/// `relative` below the suite's folder: what case files name must lie in there.
/// Errors: kInvalid.
Result<std::string> PathInFolder(const Case& c, const std::string& relative);

/// Which of the model's outputs `c.outputs[i]` speaks of: the one of its name, else the i-th.
/// Errors: kInvalid when there is none.
Result<std::size_t> OutputIndex(const Case& c, const format::Model& model, std::size_t i);

/// The tensor a case expects of one of its outputs; nullopt when it is left to the reference.
/// Errors: those of ParseNpy; kInvalid when the file's type does not fit the output's.
Result<std::optional<format::Tensor>> BuildExpected(const Case& c, const format::Model& model,
                                                    std::size_t i);

}  // namespace qtx::conformance
