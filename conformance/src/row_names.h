// What tells the rows of a report apart.
#pragma once

#include <string>
#include <vector>

#include "qtx/conformance/runner.h"

namespace qtx::conformance {

/// The backend's name for each row; of rows with one name and arithmetic, as when a joined report
/// has several devices, the second and later get their device or, failing that, a number:
/// "npu", "npu (revision B)", "npu (2)".
std::vector<std::string> RowNames(const Report& report);

}  // namespace qtx::conformance
