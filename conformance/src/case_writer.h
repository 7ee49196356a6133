// Writes a case as the text of a self-contained case file.
#pragma once

#include <string>

#include "qtx/conformance/case.h"
#include "qtx/format/result.h"

namespace qtx::conformance {

/// `c` with generated values and files replaced by literal data.
/// Errors: those of BuildModel, BuildInputs and LoadInitializer.
Result<Case> WithLiteralData(const Case& c);

/// `c` as one YAML document, without separators, that ParseCases reads back. Floats are hex floats;
/// lines are about 100 columns wide.
/// REQUIRES: c has literal data only (WithLiteralData).
/// Errors: kUnsupported for what case files cannot express: attributes that are graphs or types,
/// empty lists of floats or text, elements that are not numbers.
Result<std::string> ToYaml(const Case& c);

}  // namespace qtx::conformance
