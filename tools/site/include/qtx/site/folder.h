// The folder of a static site, which is replaced as a whole.
#pragma once

#include <span>
#include <string>

#include "qtx/format/result.h"

namespace qtx::site {

struct File {
  std::string path;  // relative to the site's folder
  std::string bytes;
};

/// Errors: kIo where Write would refuse `folder`, known before there are files.
Result<void> CheckFolder(const std::string& folder);

/// Replaces `folder` as a whole: writes the files to a folder beside it, then renames that.
/// Errors: kIo, also, naming a file, when `folder` contains a file that is not of such a site.
Result<void> Write(std::span<const File> files, const std::string& folder);

}  // namespace qtx::site
