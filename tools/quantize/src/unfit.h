// Values that stored integers would ruin: scores that a mask puts at -10000, infinities.
#pragma once

#include <optional>
#include <string>

#include "qtx/format/statistics.h"
#include "qtx/quantize/quantize.h"

namespace qtx::quantize {

/// Why a value is better kept in FLOAT, for the ledger.
struct Unfit {
  std::string field;
  std::string why;
};

/// nullopt for a value that the integers of `settings` can stand for. Unfit is one with infinities
/// or NaN, and one whose values near 0 (16 or more, not 0 themselves, and 1 % of all), separated by
/// a gap from all others, would have fewer than 16 steps, or a sixteenth of all steps where that is
/// less (4 bits have 15).
std::optional<Unfit> UnfitFor(const Settings& settings, const format::Statistics& statistics);

}  // namespace qtx::quantize
