// Clears invalid sizes that exporters write for open dimensions.
#pragma once

#include "ledger.h"
#include "qtx/format/model.h"

namespace qtx::convert {

/// Makes negative dimensions unknown, as runtimes treat them.
void OpenNegativeDimensions(format::Model& model, Ledger& ledger);

}  // namespace qtx::convert
