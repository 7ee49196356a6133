// Finding files in a folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/result.h"

namespace qtx::conformance {

/// Paths below `folder` that end in `extension`, relative to it, sorted by bytes so that the order
/// does not depend on the file system.  Errors: kUnreadable, kTooLarge.
Result<std::vector<std::string>> FindFiles(const std::string& folder, std::string_view extension);

}  // namespace qtx::conformance
