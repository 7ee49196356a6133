// Distinct names for the rows of a report.
#pragma once

#include <string>
#include <vector>

#include "qtx/conformance/runner.h"

namespace qtx::conformance {

/// The backend's name for each row. If rows share name and arithmetic (a merged report of several
/// devices), all but the first get their device or a number appended: "npu", "npu (revision B)",
/// "npu (2)".
std::vector<std::string> RowNames(const Report& report);

}  // namespace qtx::conformance
