// The skeleton of a TFLite file: what the extended form cannot express, kept in the model's
// metadata so that the file can be written again. Operators with their options and versions, names
// and order of tensors, signatures, metadata, and constants that no value of the graph holds.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "qtx/format/model.h"
#include "tflite/import.h"

namespace qtx::convert {

/// Files in use have this key.
inline constexpr std::string_view kSkeletonKey = "tflite.frame";

/// Adds `file`'s skeleton to the model's metadata: a flatbuffer without the data of the buffers
/// that the graph holds (`size` states how much that was), in base64. A file whose tables share so
/// much that they would take more room than the file itself gets none, and a note.
void AddSkeleton(const TfliteFile& file, TfliteImport& import);

/// The skeleton in the model's metadata; nullptr when there is none.
const std::string* FindSkeleton(const format::Model& model);

/// The TFLite file that `model` came from, with the types and constants that the graph has now.
/// nullopt when there is no skeleton, or it belongs to another graph. The caller must check that
/// the result still means what the graph says.
std::optional<std::string> FillSkeleton(const format::Model& model);

}  // namespace qtx::convert
