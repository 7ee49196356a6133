// Export of the extended form as a StableHLO program in MLIR's text.
#pragma once

#include "qtx/convert/convert.h"

namespace qtx::convert {

/// A module with one function, `@main`. Quantized types are `!quant.uniform`; names of values stand
/// in locations, which ReadStablehlo reads.
/// Errors: kUnsupported, naming node or value, for what StableHLO cannot express, and for losses.
/// REQUIRES: no encodings, levels, bases and code books.
Result<Export> ToStablehlo(const format::Model& model, const Options& options);

}  // namespace qtx::convert
