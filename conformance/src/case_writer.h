// A case in memory as the text of a case file, standing alone.
#pragma once

#include <string>

#include "qtx/conformance/case.h"
#include "qtx/format/result.h"

namespace qtx::conformance {

/// `c` with every generated value and every file's contents as literal data.
/// Errors: those of BuildModel, BuildInputs and LoadInitializer.
Result<Case> WithLiteralData(const Case& c);

/// One document of a case file, without separators, which ParseCases reads back as `c`: floats are
/// written as hex floats, lines are at most some 100 columns wide.
/// REQUIRES: c has literal data only (WithLiteralData).
/// Errors: kUnsupported for what case files cannot say: attributes that are graphs or types, empty
/// lists of floats or text, elements that are no numbers.
Result<std::string> ToYaml(const Case& c);

}  // namespace qtx::conformance
