// Export of the extended form as QONNX.
#pragma once

#include "qtx/convert/convert.h"

namespace qtx::convert {

/// Every quantized value becomes an annotated FLOAT value of the same name after a Quant or
/// BipolarQuant; quantized initializers become FLOAT. FromOnnx restores the model, field for field.
/// Errors: kUnsupported, naming value and type: blocks, small floats, ranges that neither a bit
/// width nor a Clip expresses, parameters of a value of unknown rank, reals whose binary32 does not
/// determine the integers.
Result<Export> ToQonnx(const format::Model& model, const Options& options);

}  // namespace qtx::convert
