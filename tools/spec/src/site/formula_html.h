// A `formula` block as HTML.
#pragma once

#include <string>

#include "qtx/spec/document.h"

namespace qtx::spec {

/// The formula as it is read, and its text, folded.  Errors: kInvalid, in the file `where`.
Result<std::string> FormulaHtml(const Fence& fence, const std::string& where);

}  // namespace qtx::spec
