// Import: an opened file to the extended form, with the mapping from tensors to values.
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

/// Types that operators imply for untyped tensors are added to `file`.
/// Errors: as FromTflite.
Result<TfliteImport> ImportTflite(TfliteFile& file, const Options& options = {});

}  // namespace qtx::convert
