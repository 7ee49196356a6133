// PaddlePaddle inference programs.
#pragma once

#include "qtx/convert/convert.h"

namespace qtx::convert {

bool IsPaddle(const Source& source);

/// A program (.pdmodel, __model__) with its parameters: one file or a folder, given by
/// `source.with`, else beside it: the .pdiparams of the same stem, __params__, or a file for each.
/// Errors: kInvalid, kIo, kUnsupported (operator and value by name).
Result<Conversion> ReadPaddle(const Source& source, const Options& options);

}  // namespace qtx::convert
