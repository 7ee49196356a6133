// Writes a TFLite file from the graph, without a skeleton.
#pragma once

#include <string>

#include "ledger.h"
#include "qtx/format/model.h"

namespace qtx::convert {

/// Errors: those of ToTflite.
Result<std::string> NewTflite(const format::Model& model, Ledger& ledger);

}  // namespace qtx::convert
