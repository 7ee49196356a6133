// The report of quantization errors against the float model.
#pragma once

#include <cstdio>
#include <string>

#include "progress.h"
#include "qtx/calibrate/samples.h"
#include "qtx/quantize/report.h"

namespace qtx::cli {

/// Runs the float model as calibration does, and the quantized one on the reference in `exact`.
/// Errors: that of the first bad sample, at its name; those of both runs, at `model_name`.
Result<quantize::QuantizationReport> CompareOn(const quantize::Quantized& quantized,
                                               const calibrate::Samples& samples,
                                               const std::string& model_name,
                                               WorkProgress& progress);

/// A line for each layer, worst first.
void PrintErrors(const quantize::QuantizationReport& report, std::FILE* out);

/// Errors: kUsage unless `path` is empty or of a form that WriteReport writes.
Result<void> CheckReportPath(const std::string& path);

/// As JSON, or as the page of `qtx inspect` with the errors on it.  Errors: kIo.
Result<void> WriteReport(const quantize::QuantizationReport& report, const format::Model& quantized,
                         const std::string& path);

}  // namespace qtx::cli
