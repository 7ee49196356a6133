// What QTX's fields say of a value, in its doc string, where tools show it that do not know the
// fields.  Source: spec/format/lowering.md.
#pragma once

#include <string>

#include "qtx/format/annotation.h"
#include "qtx/format/model.h"

namespace qtx::format {

/// "UINT8Q, scale 0.25, offset 3; min -0.75, max 62.5 of 1000 values"; of several parameters the
/// least and the greatest. Empty for a type without quantization and statistics.
std::string Description(const TensorType& type);

/// Adds the description of its type to the value's doc string, after what it says already.
void Describe(ValueInfo& value);
/// Takes it off again; false where the doc string does not end with it.
bool Undescribe(ValueInfo& value);

}  // namespace qtx::format
