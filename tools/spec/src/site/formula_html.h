// Formula blocks as HTML.
#pragma once

#include <string>

#include "qtx/spec/document.h"

namespace qtx::spec {

/// The rendered formula, and its source folded.  Errors: kInvalid, in the file `where`.
Result<std::string> FormulaHtml(const Fence& fence, const std::string& where);

}  // namespace qtx::spec
