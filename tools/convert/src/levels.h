// Removes levels of parameters, for forms that lack them, and refuses what these cannot hold.
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

/// For forms whose parameters are positive scales and offsets: what quantization.S8 names.
/// Errors: kUnsupported for a code book and for a scale of 0 or below, naming the value and what
/// holds it; those of Resolve.
Result<void> CheckIntegerForms(const format::Model& model);

}  // namespace qtx::convert
