// The frame of a TFLite file: all that the extended form does not say. Operators with their options
// and versions, names and order of tensors, signatures, metadata, and the constants that no value
// of the graph holds. It travels in the model's metadata, so that the file can be written again.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "qtx/format/model.h"
#include "tflite/import.h"

namespace qtx::convert {

inline constexpr std::string_view kFrameKey = "tflite.frame";

/// Adds `file`'s frame to the model's metadata: a flatbuffer without the data of the buffers that
/// the graph holds (`size` states how much that was), in base64. A file whose tables share so much
/// that they would take more room than the file itself gets none, and a note.
void AddFrame(const TfliteFile& file, TfliteImport& import);

/// The frame in the model's metadata; nullptr when there is none.
const std::string* FindFrame(const format::Model& model);

/// The file that `model` came from, its types and constants those that the graph has now. nullopt
/// when there is no frame, or it is none of this graph's. Whether the result means what the graph
/// says is for the caller to see: it may not.
std::optional<std::string> FillFrame(const format::Model& model);

}  // namespace qtx::convert
