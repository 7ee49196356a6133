// Tensors whose elements lie in another file: made, and found.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "qtx/format/file.h"
#include "qtx/format/model.h"

namespace qtx::format {

/// A tensor whose elements are `length` bytes at `offset` of the file `location`, a path relative
/// to the folder of its model.
TensorData ToExternalData(std::string name, ElementType storage, Dims dims,
                          const std::string& location, std::int64_t offset, std::int64_t length);

/// The range of a file that holds the elements; nullopt where `data` itself has them.
/// Errors: as Decode.
Result<std::optional<FileRange>> RangeOfElements(const TensorData& data, const std::string& folder);

}  // namespace qtx::format
