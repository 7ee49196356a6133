// The provenance of what this run of the program writes.
#pragma once

#include <string>
#include <string_view>

#include "qtx/conformance/provenance.h"

namespace qtx::cli {

/// Of this process: its command line, the time (SOURCE_DATE_EPOCH where that is set, so that
/// output can be reproduced), the build, the processor.
conformance::Provenance ThisProvenance();

/// `object`, the text of a JSON object, as a document with that schema and ThisProvenance.
std::string MakeDocument(std::string_view schema, std::string_view object);

/// "0.1.0 (commit 5a012cd...)"
std::string VersionText();

}  // namespace qtx::cli
