// GGUF, the files of llama.cpp: as a graph of initializers, and written from one.
#pragma once

#include <string_view>

#include "qtx/convert/convert.h"

namespace qtx::convert {

bool LooksLikeGguf(const Source& source);

/// A graph of initializers without nodes. Each tensor points into the file, where its type has an
/// encoding; with `options.repack` it is an ordinary tensor with initializers for its factors. IQ1
/// to IQ3 and TQ1_0 become INT8Q in both; tensors that no type of the format holds (factors that
/// are infinite or NaN, types that ggml's own tools do not dequantize) stay UINT8, and the ledger
/// says so. The metadata is in the headers, which are initializers, too. A part of a split file
/// brings the others, which must lie beside it.
/// Errors: those of ParseGguf, with the file; kUnreadable for a part that is missing.
Result<Conversion> ReadGguf(const Source& source, const Options& options);

/// The file that ReadGguf read, byte for byte, where the initializers are still the same; of a
/// split one, the one that was split. Tensors that have changed are encoded anew, as their own type
/// or as the first that holds them. A model that was no GGUF file becomes one of its initializers.
/// Errors: kUnsupported for an initializer that no type of ggml holds exactly.
Result<Export> WriteGguf(const format::Model& model, const Options& options);

namespace gguf {

/// Initializers of this prefix hold what is no tensor: the headers, and bytes between tensors.
inline constexpr std::string_view kPrefix = "qtx.gguf.";
/// "qtx.gguf.header.1", of the `part`-th file from 1 on.
std::string HeaderName(std::size_t part);
/// "qtx.gguf.gap.1.4096"
std::string GapName(std::size_t part, std::int64_t offset);

}  // namespace gguf
}  // namespace qtx::convert
