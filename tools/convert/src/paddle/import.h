// Import of PaddlePaddle inference programs.
#pragma once

#include "qtx/convert/convert.h"

namespace qtx::convert {

bool IsPaddle(const Source& source);

/// Imports a program (.pdmodel, __model__) and its parameters: the file or folder in `source.with`,
/// else those beside it: the .pdiparams of the same stem, __params__, or one file for each.
/// Errors: kInvalid, kUnreadable, kUnsupported (operator and value by name).
Result<Conversion> ReadPaddle(const Source& source, const Options& options);

}  // namespace qtx::convert
