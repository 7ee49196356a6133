// Elements in files beside the model. Such a file lies within the model's folder, whatever a model
// says, and a symbolic link leads to.
#pragma once

#include <string>
#include <vector>

#include "qtx/format/file.h"
#include "qtx/format/model.h"

namespace qtx::format {

/// Where the `size` bytes of elements are that `entries` (TensorProto.external_data) speak of.
/// Errors: kInvalid (a location outside `folder`, another length), kIo (no such file, too short).
Result<FileRange> LocateExternal(const Metadata& entries, const std::string& folder,
                                 std::int64_t size);

struct FileCopy {
  FileRange from;
  std::string to;
};
/// What a model that moves to `folder` needs there: empty when it is there already.
/// Errors: kInvalid, kIo: also where a file of that name has other content.
Result<std::vector<FileCopy>> ExternalFiles(const Model& model, const std::string& folder);

}  // namespace qtx::format
