// The extended form of an opened file, and which of its values are the file's tensors.
#pragma once

#include <optional>
#include <vector>

#include "qtx/convert/convert.h"
#include "tflite/builder.h"
#include "tflite/file.h"

namespace qtx::convert {

struct TfliteImport {
  Conversion conversion;
  std::vector<TensorForm> forms;
  std::vector<std::optional<format::TensorType>> types;  // by tensor, in TFLite's own layout
};

/// What an operator says of tensors that say nothing themselves is added to `file`.
/// Errors: as FromTflite.
Result<TfliteImport> ImportTflite(TfliteFile& file, const Options& options = {});

}  // namespace qtx::convert
