// Removes levels of parameters, for forms that lack them.
#pragma once

#include <set>
#include <string>

#include "ledger.h"
#include "qtx/format/levels.h"

namespace qtx::convert {

/// Replaces scale_levels by the scales they multiply to; exact, but larger.
/// Errors: kUnsupported for a base, naming the value; those of Resolve.
Result<format::Model> WithoutLevels(const format::Model& model, Ledger& ledger);

/// Drops those of the initializers `factors`, which held factors, that nothing reads any more.
void DropFactors(std::set<std::string> factors, format::Graph& graph);

}  // namespace qtx::convert
