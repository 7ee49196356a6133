// Fragments that a file defines, as the operators that they consist of.
#pragma once

#include "nnef/text.h"

namespace qtx::convert::nnef {

/// Puts the body of a fragment in the place of each invocation of it, but of operators of NNEF.
/// What is only within it is named after the first result: "y.t". Numbers the operators of a line.
/// Errors: kUnsupported for a body that is not flat, kInvalid for arguments and results that are
/// not those of the fragment, kTooLarge for fragments within fragments past kMaxDepth and bodies
/// past 2^18 operations; at the line of the invocation.
Result<void> InlineFragments(Document& document);

}  // namespace qtx::convert::nnef
