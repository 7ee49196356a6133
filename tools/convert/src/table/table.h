// Tables (CSV, JSON) of a model's values, written from a model or joined to one.
#pragma once

#include "qtx/convert/convert.h"

namespace qtx::convert {

bool LooksLikeCsvTable(const Source& source);
bool LooksLikeJsonTable(const Source& source);

/// Adds the table's parameters and statistics as annotations to its model.
/// Errors: kInvalid (text, no model, nothing said of the model); kUnsupported for an unknown name;
/// kTooLarge.
Result<Conversion> ReadCsvTable(const Source& source, const Options& options);
Result<Conversion> ReadJsonTable(const Source& source, const Options& options);

/// Writes every typed value; tables have no nodes and weights.  Errors: those of Resolve.
Result<Export> WriteCsvTable(const format::Model& model, const Options& options);
Result<Export> WriteJsonTable(const format::Model& model, const Options& options);

}  // namespace qtx::convert
