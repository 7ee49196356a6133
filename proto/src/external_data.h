// Elements in files beside the model. Such a file lies within the model's folder, whatever a model
// says, and a symbolic link leads to.
#pragma once

#include <string>
#include <vector>

#include "qtx/format/file.h"
#include "qtx/format/model.h"

namespace qtx::format {

/// Where the `size` bytes of elements are that `entries` (TensorProto.external_data) speak of.
/// Errors: kInvalid (a location outside `folder`, another length), kUnreadable (no such file, too
/// short).
Result<FileRange> LocateExternal(const Metadata& entries, const std::string& folder,
                                 std::int64_t size);

struct FileCopy {
  FileRange from;
  std::string to;
};
/// The external data that a model needs beside `path`, its new file, and that is not yet there.
/// Errors: kInvalid and kUnreadable of the data; kIo at `path` where its folder is missing, or
/// where a file of the same name has other content or is `path` itself. `made`, if any, is a
/// location that needs no copy.
Result<std::vector<FileCopy>> ExternalFiles(const Model& model, const std::string& path,
                                            const std::string& made = "");

/// Whether external data of the model is in `file`, or will be when it is saved at `path`.
/// Errors: kInvalid.
Result<bool> UsesFile(const Model& model, const std::string& path, const std::string& file);

}  // namespace qtx::format
