// Expansion of `matrix:`: one document into one for each combination of its values.
#pragma once

#include <string>
#include <vector>

#include "qtx/format/result.h"
#include "yaml.h"

namespace qtx::conformance {

/// Expands a document; one without `matrix` is returned unchanged. ${key} is replaced in every
/// scalar: a scalar that is just ${key} becomes the value, even a list or map; inside a longer
/// scalar the value must be a scalar. `id` gets the suffix "[key=value,...]". The last key varies
/// fastest.
/// Errors: kInvalid for an empty or malformed matrix, an unknown ${key} or an unused key; kTooLarge
/// past kMaxExpansion combinations or 2 * kMaxYamlNodes nodes in total.
Result<std::vector<Yaml>> ExpandMatrix(const Yaml& document, const std::string& file);

}  // namespace qtx::conformance
