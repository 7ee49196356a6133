// Renames a TensorProto and keeps every other byte.
#pragma once

#include <string>

#include "qtx/format/model.h"

namespace qtx::format {

/// Replaces the name in the wire bytes; renaming back restores the bytes.
/// Errors: kInvalid when the bytes are not a sequence of protobuf fields.
Result<TensorData> Renamed(TensorData data, const std::string& name);

}  // namespace qtx::format
