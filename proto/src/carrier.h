// Where the elements of a TensorProto are.
#pragma once

#include <string>
#include <variant>

#include "qtx/format/file.h"
#include "qtx/format/model.h"

namespace qtx::format {

/// A range of a file, or the elements themselves.  Errors: those of Decode.
Result<std::variant<FileRange, Tensor>> FindElements(const TensorData& data,
                                                     const std::string& folder);

}  // namespace qtx::format
