// The kind safetensors: quantized weights of language models, which become initializers that point
// into the file.
#pragma once

#include <optional>
#include <string>

#include "qtx/convert/convert.h"

namespace qtx::convert {

bool LooksLikeSafetensors(const Source& source);

/// The file that stands for a folder: its index, its model.safetensors, or its one file of
/// safetensors; nullopt: there is none, or several without an index.
std::optional<std::string> SafetensorsOfFolder(const std::string& folder);

/// A model of initializers without nodes: a weight that a scheme quantized has a quantized type
/// over the bytes of its codes, all other tensors are what their dtype says. Headers, index and
/// config go to metadata_props. A weight that no type expresses stays as its tensors, which the
/// ledger says. Errors: kInvalid, kUnreadable and kTooLarge of the files.
Result<Conversion> ReadSafetensors(const Source& source, const Options& options);

/// The files that the model came from, with the bytes that its initializers have now.
/// Errors: kUnsupported for a model that did not come from safetensors, and for a weight whose type
/// is not what the tensors of the file say.
Result<Export> WriteSafetensors(const format::Model& model, const Options& options);

}  // namespace qtx::convert
