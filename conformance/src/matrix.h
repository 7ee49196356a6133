// Expansion of `matrix:`: one document into one for each combination of its values.
#pragma once

#include <string>
#include <vector>

#include "qtx/format/result.h"
#include "yaml.h"

namespace qtx::conformance {

/// A document without `matrix` gives itself. Otherwise ${key} is replaced in every scalar: a scalar
/// that is nothing but ${key} becomes the value, lists and maps included; inside a longer one only
/// scalar values may stand. `id` gets the suffix "[key=value,...]". The last key varies fastest.
/// Errors: kInvalid for an empty or malformed matrix, an unknown ${key} or a key nothing uses;
/// kTooLarge past kMaxExpansion combinations, or twice kMaxYamlNodes nodes in all.
Result<std::vector<Yaml>> ExpandMatrix(const Yaml& document, const std::string& file);

}  // namespace qtx::conformance
