// Functions of one real in binary64 with proven error bounds, which decide most roundings. They do
// not rely on the C library: its results are checked with an exponential of known error.
#pragma once

namespace qtx::backend::engine {

/// The value lies within `error` of `value`.
struct Estimate {
  double value = 0;
  double error = 0;
};

// REQUIRES: x is finite. An infinite error means that there is no estimate.
Estimate EstimateExp(double x);
Estimate EstimateExpm1(double x);  // x <= 0
Estimate EstimateLog(double x);    // x > 0
Estimate EstimateSigmoid(double x);
Estimate EstimateTanh(double x);
Estimate QuickSigmoid(double x);  // ten times as fast, with bounds of 2^-44
Estimate QuickTanh(double x);
Estimate EstimateErf(double x);
Estimate EstimateGelu(double x);
Estimate EstimateGeluByTanh(double x);
Estimate EstimateSoftplus(double x);
Estimate EstimateMish(double x);

}  // namespace qtx::backend::engine
