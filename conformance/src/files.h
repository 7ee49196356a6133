// Paths of a suite's files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "qtx/conformance/files.h"

namespace qtx::conformance {

/// folder/name, or `name` alone where `folder` is empty.
std::string Join(std::string folder, std::string_view name);

/// The folders directly in `folder` whose name begins with `prefix`, sorted by bytes.
std::vector<std::string> FindFolders(const std::string& folder, std::string_view prefix);

/// The existing files stem0suffix, stem1suffix, ... below `root`.
std::vector<std::string> NumberedFiles(const std::string& root, const std::string& stem,
                                       std::string_view suffix);

/// The last component of a folder's path, however it is written ("a/b/", ".").
std::string NameOf(const std::string& folder);

}  // namespace qtx::conformance
