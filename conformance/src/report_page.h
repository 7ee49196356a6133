// The page of the HTML report: src/report/ joined into one text at build time.
#pragma once

#include <string_view>

namespace qtx::conformance {

/// Holds the marks "@totals@" and "@data@", once each, in this order.
extern const std::string_view kReportPage;

}  // namespace qtx::conformance
