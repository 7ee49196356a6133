// What a model says of each of its values, as a table of text, and such a table joined to a model.
#pragma once

#include "qtx/convert/convert.h"

namespace qtx::convert {

bool LooksLikeCsvTable(const Source& source);
bool LooksLikeJsonTable(const Source& source);

/// The table's parameters and statistics as annotations of the model beside it.
/// Errors: kInvalid (text, or no model); kUnsupported for a name of no value of the model.
Result<Conversion> ReadCsvTable(const Source& source, const Options& options);
Result<Conversion> ReadJsonTable(const Source& source, const Options& options);

/// Every value that has a type; nodes and weights are not in a table.  Errors: those of Resolve.
Result<Export> WriteCsvTable(const format::Model& model, const Options& options);
Result<Export> WriteJsonTable(const format::Model& model, const Options& options);

}  // namespace qtx::convert
