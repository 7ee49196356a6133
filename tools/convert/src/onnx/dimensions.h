// Sizes that exporters write where ONNX leaves a dimension open.
#pragma once

#include "ledger.h"
#include "qtx/format/model.h"

namespace qtx::convert {

/// Dimensions declared below 0 are of no known size, as runtimes take them.
void OpenNegativeDimensions(format::Model& model, Ledger& ledger);

}  // namespace qtx::convert
