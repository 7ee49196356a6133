// The extended form as QONNX.
#pragma once

#include "qtx/convert/convert.h"

namespace qtx::convert {

/// Every quantized value is a FLOAT value of the same name behind a Quant or BipolarQuant,
/// annotated; a quantized initializer is the FLOAT reals of its integers. FromOnnx brings the model
/// back, field for field.
/// Errors: kUnsupported, naming value and type: blocks, small floats, ranges that are no bit
/// width's and that no Clip says, parameters whose value has no known rank, reals that binary32
/// does not hold well enough to bring the integers back.
Result<Export> ToQonnx(const format::Model& model, const Options& options);

}  // namespace qtx::convert
