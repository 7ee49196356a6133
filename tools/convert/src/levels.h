// Removes levels of parameters, for forms that lack them.
#pragma once

#include "ledger.h"
#include "qtx/format/levels.h"

namespace qtx::convert {

/// Replaces scale_levels by the scales they multiply to; exact, but larger.
/// Errors: kUnsupported for a base, naming the value; those of Resolve.
Result<format::Model> WithoutLevels(const format::Model& model, Ledger& ledger,
                                    bool keep_bases = false);

}  // namespace qtx::convert
