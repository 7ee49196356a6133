// Expansion of `matrix:`: one document into one for each combination of its values.
#pragma once

#include <string>
#include <vector>

#include "qtx/format/result.h"
#include "yaml.h"

namespace qtx::conformance {

/// Expands a document; one without `matrix` is returned unchanged. ${key} is replaced in every
/// scalar: a scalar that is just ${key} becomes the value, even a list or map; inside a longer
/// scalar the value must be a scalar. ${key.entry} is an entry of a value that is a map. `id` gets
/// the suffix "[key=value,...]". The combinations are all that `exclude` leaves, the last key
/// varying fastest; with `strength`, those of a covering array (covering_array.h).
/// Errors: kInvalid for an empty or malformed matrix, `strength` or `exclude`, an unknown ${key} or
/// an unused key; kTooLarge past kMaxExpansion combinations or 2 * kMaxYamlNodes nodes in total.
/// Source: spec/conformance_cases.md, "Matrix".
Result<std::vector<Yaml>> ExpandMatrix(const Yaml& document, const std::string& file);

}  // namespace qtx::conformance
