// What a writer leaves in metadata_props so that lifting gives back the extended form that the
// model came from: lowering.S4, S5, S9 and S10.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ledger.h"
#include "qtx/format/model.h"

namespace qtx::convert {

/// The imports recorded, if the model still has the opset it was lowered to.
std::optional<std::vector<format::OpsetImport>> ImportsIn(const format::Model& model);

/// Records the nodes of `model` and the imports of the extended form.  Errors: kTooLarge.
Result<void> RecordNodes(const std::vector<format::OpsetImport>& extended, format::Model& model);
/// The same, and the annotations of `model`.  Errors: kTooLarge.
Result<void> RecordAll(const std::vector<format::OpsetImport>& extended, format::Model& model);

/// What a file still has of what was recorded.
struct Recorded {
  bool nodes = false;
  bool annotations = false;
  /// All that is not annotated was in the extended form.
  bool all() const { return nodes && annotations; }
};
/// Of a flat model. The ledger says what a tool dropped or added.
Recorded ReadRecord(const format::Model& model, Ledger& ledger);

/// Ends the record of a lifted model: it gets the nodes and imports of the extended form, or only
/// the imports where its nodes mean the same in them.  Source: lowering.S5, S9, S10.
void RestoreImports(Recorded recorded, format::Model& model, Ledger& ledger);

}  // namespace qtx::convert
