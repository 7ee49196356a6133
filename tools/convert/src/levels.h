// Parameters with levels, for forms that have none.
#pragma once

#include "ledger.h"
#include "qtx/format/levels.h"

namespace qtx::convert {

/// `model` with every product of scale_levels as the scale it is; nothing is lost but bytes.
/// Errors: kUnsupported for a base, naming the value; those of Resolve.
Result<format::Model> WithoutLevels(const format::Model& model, Ledger& ledger);

}  // namespace qtx::convert
