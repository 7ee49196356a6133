// Sums over samples of what a product reads in two networks, for qtx quantize --method --data.
#pragma once

#include <string>

#include "progress.h"
#include "qtx/calibrate/samples.h"
#include "qtx/quantize/quantize.h"

namespace qtx::cli {

/// Runs both networks on all samples each time; the float model and what of it is stored so far are
/// both computed in FLOAT. The arguments must outlive the result.
quantize::MeasureSums SumsOver(const calibrate::Samples& samples, const std::string& model_name,
                               WorkProgress& progress);

}  // namespace qtx::cli
