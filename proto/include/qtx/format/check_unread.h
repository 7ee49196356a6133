// Checking models of which some gigabytes need no look.
#pragma once

#include <string>
#include <vector>

#include "qtx/format/check.h"

namespace qtx::format {

/// As Check, but what the records of encoded initializers say is not read: the caller knows that
/// the factors in them are finite, or only copies them.
std::vector<Finding> CheckWithoutRecords(const Model& model, const std::string& file);

}  // namespace qtx::format
