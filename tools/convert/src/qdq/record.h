// What a writer leaves in metadata_props so that lifting gives back the extended form that the
// model came from: lowering.S4, S5 and S9.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ledger.h"
#include "qtx/format/model.h"

namespace qtx::convert {

/// "<lowered opset>:<domain>=<version>,..."
std::string ImportsText(std::int64_t lowered, const std::vector<format::OpsetImport>& imports);
/// The imports recorded, if the model still has the opset it was lowered to.
std::optional<std::vector<format::OpsetImport>> ImportsIn(const format::Model& model);

/// Records the imports of the extended form, and the annotations and nodes of `model`, which is
/// complete but for that.  Errors: kTooLarge.
Result<void> WriteRecord(const std::vector<format::OpsetImport>& extended, format::Model& model);

/// True when the model has the annotations and the nodes that were recorded: all that is not
/// annotated was in the extended form. Else the ledger says what a tool dropped or added.
bool IsAsRecorded(const format::Model& model, Ledger& ledger);

}  // namespace qtx::convert
