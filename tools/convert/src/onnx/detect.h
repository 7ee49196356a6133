// Detects the form of ONNX of a source.
#pragma once

#include "qtx/convert/convert.h"

namespace qtx::convert {

bool IsOnnx(const Source& source);
bool IsExtended(const Source& source);
/// True if it has QuantizeLinear or DequantizeLinear, in a body or a function too.
bool HasQuantizer(const Source& source);

}  // namespace qtx::convert
