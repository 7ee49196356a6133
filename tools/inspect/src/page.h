// The page: tools/inspect/page/ joined into one text at build time.
#pragma once

#include <string_view>

namespace qtx::inspect {

/// Contains the placeholders "@title@" and "@data@", once each, in this order.
extern const std::string_view kPage;

}  // namespace qtx::inspect
