// What `qtx --version --json` prints.
#pragma once

#include <string>

namespace qtx::cli {

/// The document of tools/cli/schema/version.schema.json: program, format, features, how it was
/// built and of what.
std::string VersionJson();

}  // namespace qtx::cli
