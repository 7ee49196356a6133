// The kind of model that a command writes, by its option --to and the name of the file.
#pragma once

#include <string>

#include "qtx/convert/convert.h"
#include "qtx/format/result.h"

namespace qtx::cli {

/// True for a path that is or ends as a folder.
bool IsFolder(const std::string& output);

/// The kind `to`, else the kind of the extension of `output`, else qtx.
/// Errors: kUsage where the extension is that of other kinds than `to`, or of several.
Result<const convert::Kind*> KindToWrite(const std::string& output, const std::string& to);

}  // namespace qtx::cli
