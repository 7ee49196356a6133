// Finds the sizes of values that depend on open sizes of inputs.
#pragma once

#include "observer.h"
#include "qtx/format/model.h"

namespace qtx::calibrate {

/// Opens those sizes of `observations`, which samples have given numbers, that do not follow from
/// the model as numbers: they are the symbol that they follow as, or unknown. Only where an input
/// that a sample gives leaves a size open.
void OpenSizes(const format::Model& model, Observations& observations);

}  // namespace qtx::calibrate
