// The errors of a quantized model against the float model it was made of.
#pragma once

#include <cstdio>
#include <string>

#include "qtx/calibrate/samples.h"
#include "qtx/quantize/report.h"

namespace qtx::cli {

/// The float model as calibration computes it, the quantized one by the reference in `exact`.
/// Errors: of the first bad sample, those of either run.
Result<quantize::QuantizationReport> CompareOn(const quantize::Quantized& quantized,
                                               const calibrate::Samples& samples);

/// A line for each layer, worst first.
void PrintErrors(const quantize::QuantizationReport& report, std::FILE* out);

/// Errors: kUnsupported unless `path` is empty or of a form that WriteReport writes.
Result<void> CheckReportPath(const std::string& path);

/// As JSON, or as the page of `qtx inspect` with the errors on it.  Errors: kIo.
Result<void> WriteReport(const quantize::QuantizationReport& report, const format::Model& quantized,
                         const std::string& path);

}  // namespace qtx::cli
