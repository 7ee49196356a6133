// StableHLO programs in MLIR's text, to the extended form.
#pragma once

#include "qtx/convert/convert.h"

namespace qtx::convert {

/// True where a module or func.func begins behind comments and aliases.
bool LooksLikeStablehlo(const Source& source);
/// One function of the file: `main` or the only public one, unless Options::subgraph names one, by
/// name or index. What it returns, and what its checks look at, are the outputs; functions that it
/// calls are expanded.
/// Errors: kInvalid, kUnsupported, kTooLarge; `where` names line and operator.
Result<Conversion> ReadStablehlo(const Source& source, const Options& options);

}  // namespace qtx::convert
