// ONNX Runtime's calibration data, joined to the float ONNX model it was taken of, and out of one.
// Source: onnxruntime 1.31, onnxruntime/quantization/calibrate.py: save_tensors_data, and
// quant_utils.py: write_calibration_table (calibration.json).
#pragma once

#include "qtx/convert/convert.h"

namespace qtx::convert {

bool LooksLikeOrtCalibration(const Source& source);

/// MinMax gives min and max, Distribution mean, std and histogram. The range that Entropy and
/// Percentile chose stands in min and max where the loss "range" is allowed.
/// Errors: kInvalid (no such file, no model); kUnsupported for a name of no value of the model, and
/// for losses.
Result<Conversion> ReadOrtCalibration(const Source& source, const Options& options);

/// The statistics of every value that has a min and a max, as method MinMax; mean, std and
/// histogram beside them.  Errors: kUnsupported for losses, or when no value has any.
Result<Export> WriteOrtCalibration(const format::Model& model, const Options& options);

}  // namespace qtx::convert
