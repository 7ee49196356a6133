// The documents of a case file by their ids, before any of them is parsed.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace qtx::conformance {

/// `yaml` with empty lines in the place of each document whose cases have ids that match none of
/// the globs `filters`, as a line "id: NAME" of the document tells; the others keep their lines.
/// All of `yaml` where there are no filters.
std::string OnlyDocuments(std::string_view yaml, std::span<const std::string> filters);

}  // namespace qtx::conformance
