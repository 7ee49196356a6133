// NNEF: a folder, or a tar of one, with graph.nnef, graph.quant and a binary for each variable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "qtx/convert/convert.h"

namespace qtx::convert {

/// What a size, stride, dilation or padding of a window may be at most.
inline constexpr std::int64_t kMostNnefWindow = std::int64_t{1} << 24;

bool IsNnef(const Source& source);

/// The graph.nnef in a folder; nullopt where it has none.
std::optional<std::string> NnefOfFolder(const std::string& path);

/// Flat syntax of version 1; initializers have the labels of their variables.
/// Errors: kInvalid and kUnsupported, naming file and line, or the byte of a binary.
Result<Conversion> ReadNnef(const Source& source, const Options& options);

/// A tar of the model in flat syntax, with the initializers' names as labels.
/// Errors: kUnsupported for a node, type or unknown size without a form in NNEF, by name.
Result<Export> WriteNnef(const format::Model& model, const Options& options);

}  // namespace qtx::convert
