// What an overlay adds beside formulas: operators and element types, read from tables.
#pragma once

#include "qtx/format/result.h"
#include "qtx/formula/text.h"

namespace qtx::formula {

/// The row of a chapter of ops/, from its tables Inputs, Outputs and Attributes.
/// Errors: kInvalid at "file:line".
Result<AddedOperator> ReadOperator(const Chapter& chapter);

/// Whether the chapter's title is "# Element type `NAME`".
bool IsElementType(const Chapter& chapter);
/// Its table of code and bits, and that of its values. Errors: kInvalid at "file:line".
Result<ElementTable> ReadElementTable(const Chapter& chapter);

}  // namespace qtx::formula
