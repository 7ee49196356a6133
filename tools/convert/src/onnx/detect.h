// Which form of ONNX a source has.
#pragma once

#include "qtx/convert/convert.h"

namespace qtx::convert {

bool IsOnnx(const Source& source);
bool IsExtended(const Source& source);
/// It has QuantizeLinear or DequantizeLinear.
bool HasQuantizer(const Source& source);

}  // namespace qtx::convert
