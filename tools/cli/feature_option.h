// The option --feature.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "qtx/format/feature.h"

namespace qtx::cli {

/// The names that --feature takes.
std::vector<std::string> FeatureNames();

/// The current spec with the features of `names`, and without those of `without`.
/// REQUIRES: all are of FeatureNames(), which the command line has checked.
format::Features FeaturesOf(std::span<const std::string> names,
                            std::span<const std::string> without = {});

}  // namespace qtx::cli
