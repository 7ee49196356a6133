// A TensorProto under another name, every other byte as it was.
#pragma once

#include <string>

#include "qtx/format/model.h"

namespace qtx::convert {

/// Replaces the name within the wire bytes, so that renaming back gives the bytes there were.
/// Errors: kInvalid when the bytes are not a sequence of protobuf fields.
Result<format::TensorData> Renamed(format::TensorData data, const std::string& name);

}  // namespace qtx::convert
