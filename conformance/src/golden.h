// Cases from TFLite models with golden outputs computed by TFLite.
#pragma once

#include <string>
#include <vector>

#include "qtx/conformance/case.h"
#include "qtx/format/result.h"

namespace qtx::conformance {

/// The cases of every *.tflite below `folder` that has golden data beside it:
/// - RUN/ or golden_tflite/RUN/, where the model is alone in its folder, with input_I.npy and
///   builtin_output_I.npy (arithmetic `tflite`) or xnnpack_output_I.npy (`xnnpack`); a file may
///   hold the inputs of several runs, one after another: a case each;
/// - STEM_inputI_TYPE.csv and STEM_golden_TYPE.csv, decimal integers, of the builtin kernels.
/// XNNPACK leaves AVERAGE_POOL_2D of quantized values to the builtin kernels, so the outputs of
/// such a network mix two arithmetics: they are no cases, and `left_out` says so of each.
/// REQUIRES: load.  Errors: those of FindFiles; kTooLarge for a file of more than kMaxExpansion
/// inputs, or more than kMaxCases cases.
Result<std::vector<Case>> FindGoldens(const std::string& folder, const ModelLoader& load,
                                      std::vector<std::string>& left_out);

}  // namespace qtx::conformance
