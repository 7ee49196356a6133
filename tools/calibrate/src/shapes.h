// Which sizes of a graph's values follow from sizes that its inputs leave open.
#pragma once

#include "qtx/format/model.h"
#include "records.h"

namespace qtx::calibrate {

/// Opens those sizes of `records`, which samples have given numbers, that do not follow from the
/// model as numbers: they are the symbol that they follow as, or unknown. Only where an input that
/// a sample gives leaves a size open.
void OpenSizes(const format::Model& model, Records& records);

}  // namespace qtx::calibrate
