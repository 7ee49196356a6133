// ONNX's metadata_props as entries of a TFLite file's metadata.
#pragma once

#include <string_view>

#include "qtx/format/model.h"
#include "tflite_generated.h"

namespace qtx::convert {

inline constexpr std::string_view kPropertyPrefix = "onnx.metadata_props.";

/// The properties in the order of the file.
/// Errors: kInvalid for an entry without a buffer, and more than `limit` bytes, which only
/// entries that share a buffer can have.
Result<format::Metadata> PropertiesOf(const schema::Model& file, std::size_t limit);

/// Replaces the properties of `tables` by those of `metadata`, except the skeleton.
void SetProperties(const format::Metadata& metadata, schema::ModelT& tables);

}  // namespace qtx::convert
