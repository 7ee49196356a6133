// The page of the HTML report: src/report/ joined into one text at build time.
#pragma once

#include <string_view>

namespace qtx::conformance {

/// Contains the placeholders "@totals@" and "@data@", once each, in this order.
extern const std::string_view kReportPage;

}  // namespace qtx::conformance
